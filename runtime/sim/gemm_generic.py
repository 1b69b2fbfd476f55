"""The dot product unit of any machine: pairs of int16, in plain vector arithmetic that LLVM lowers for the host.

Tests: tests/runtime/sim/test_gemm.py.
"""

from dataclasses import dataclass
from typing import Any

from runtime.sim.emit import I16, I32, Emitter, vector
from runtime.sim.pair_unit import PairUnit

__all__ = ["GenericUnit"]


@dataclass(frozen=True, slots=True)
class GenericUnit(PairUnit):
    """Multiplies two int16 vectors as int32 and adds neighbours; any number of accumulators."""

    max_lanes: int = 4

    def multiply_add(self, emit: Emitter, total: Any, group: Any, weights: Any) -> Any:
        """Return ``total + dot(group, weights)`` in each lane."""
        lanes = total.type.count
        builder = emit.builder
        pairs, wide = vector(2 * lanes, I16), vector(2 * lanes, I32)
        left = builder.bitcast(emit.splat(group, vector(lanes, I32)), pairs)
        right = builder.bitcast(weights, pairs)
        products = builder.mul(builder.sext(left, wide), builder.sext(right, wide))
        for parity in (0, 1):
            total = builder.add(total, emit.shuffle(products, range(parity, 2 * lanes, 2)))
        return total
