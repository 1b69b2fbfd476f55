"""The dot product unit of any machine: pairs of int16, in plain vector arithmetic that LLVM lowers for the host."""

from dataclasses import dataclass
from typing import Any

from runtime.kernels.emit import I16, I32, Emitter, vector

__all__ = ["GenericUnit"]


@dataclass(frozen=True, slots=True)
class GenericUnit:
    """Multiply two int16 vectors as int32, add neighbours; any number of accumulators."""

    group: int = 2
    offset: int = 0
    max_lanes: int = 4
    accumulators: int = 8

    def stored(self, emit: Emitter, values: Any) -> Any:
        """Return the activations as int16."""
        return emit.builder.sext(values, vector(values.type.count, I16))

    def stored_weights(self, emit: Emitter, values: Any) -> Any:
        """Return the weights as int16."""
        return self.stored(emit, values)

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
