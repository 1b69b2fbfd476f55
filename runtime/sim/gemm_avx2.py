"""The dot product unit of AVX2: ``vpmaddwd`` multiplies and adds pairs of int16, exactly.

``vpmaddubsw`` would take bytes, but it saturates the sum of two products at 16 bits, so it cannot be exact. Tests:
tests/runtime/sim/test_gemm.py.
"""

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from runtime.sim.emit import I16, I32, Emitter, vector
from runtime.sim.pair_unit import PairUnit

__all__ = ["Avx2Unit"]

_INSTRUCTION = {8: "llvm.x86.avx2.pmadd.wd", 4: "llvm.x86.sse2.pmadd.wd"}


@dataclass(frozen=True, slots=True)
class Avx2Unit(PairUnit):
    """``vpmaddwd`` and ``vpaddd`` on vectors of 8 or 4 accumulators."""

    max_lanes: int = 8

    def multiply_add(self, emit: Emitter, total: Any, group: Any, weights: Any) -> Any:
        """Return ``total + dot(group, weights)`` in each lane."""
        lanes = total.type.count
        operand = vector(2 * lanes, I16)
        kind = ir.FunctionType(total.type, [operand, operand])
        instruction = emit.declare(_INSTRUCTION[lanes], kind)
        builder = emit.builder
        repeated = builder.bitcast(emit.splat(group, vector(lanes, I32)), operand)
        products = builder.call(instruction, [repeated, builder.bitcast(weights, operand)])
        return builder.add(total, products)
