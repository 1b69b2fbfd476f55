"""The dot product unit of AVX-512 VNNI: ``vpdpbusd`` multiplies unsigned by signed bytes, four lanes at a time.

Activations are stored with 128 added, which makes them unsigned; the excess, 128 times the sum of a weight row, is
known when the weights are loaded. The instruction does not saturate, so the sum is exact modulo 2^32. Tests:
tests/runtime/sim/test_gemm.py.
"""

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from runtime.sim.emit import Emitter

__all__ = ["VnniUnit"]


@dataclass(frozen=True, slots=True)
class VnniUnit:
    """``vpdpbusd`` on vectors of 16, 8 or 4 accumulators."""

    group: int = 4
    offset: int = 128
    max_lanes: int = 16
    accumulators: int = 16

    def stored(self, emit: Emitter, values: Any) -> Any:
        """Return the activations plus 128, as unsigned bytes."""
        flip = ir.Constant(values.type, [-128] * values.type.count)
        return emit.builder.xor(values, flip)

    def stored_weights(self, emit: Emitter, values: Any) -> Any:
        """Return the weights as they are."""
        del emit
        return values

    def multiply_add(self, emit: Emitter, total: Any, group: Any, weights: Any) -> Any:
        """Return ``total + dot(group, weights)`` in each lane."""
        # LLVM 22 takes vectors of bytes here and converts this older form when it reads it.
        kind = ir.FunctionType(total.type, [total.type] * 3)
        instruction = emit.declare(f"llvm.x86.avx512.vpdpbusd.{total.type.count * 32}", kind)
        repeated = emit.splat(group, total.type)
        return emit.builder.call(instruction, [total, repeated, weights])
