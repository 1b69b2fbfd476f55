"""What the dot product units that multiply pairs of int16 have in common: how they store numbers.

Tests: ``tests/runtime/sim/test_gemm.py``, ``tests/runtime/sim/test_transfers.py``.
"""

from dataclasses import dataclass
from typing import Any

from runtime.sim.emit import I16, Emitter, vector

__all__ = ["PairUnit"]


@dataclass(frozen=True, slots=True)
class PairUnit:
    """A group of two lanes, each sign-extended to int16, with nothing added; ``multiply_add`` is the subclass's."""

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
