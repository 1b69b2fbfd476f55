"""What a dot product unit is: the instruction at the heart of GEMM, and how its operands lie in the scratchpads.

A unit multiplies a *group* of consecutive input lanes with the same lanes of several weight rows at once. A group
always takes four bytes, so activations are stored row by row in groups, and a weight element as [group][output
lane][lane of the group]. Three units exist: ``gemm_vnni``, ``gemm_avx2`` and ``gemm_generic``; which one runs is
decided in ``code_path``. Tests: tests/runtime/sim/test_gemm.py.
"""

from typing import Any, Protocol

from runtime.sim.emit import Emitter

__all__ = ["GROUP_BYTES", "DotUnit"]

GROUP_BYTES = 4
"""Bytes of a stored group."""


class DotUnit(Protocol):
    """A way to multiply and add; the methods emit code into the function that is being written."""

    @property
    def group(self) -> int:
        """Lanes of a group: 4 stored in 8 bits each, or 2 stored in 16 bits."""
        ...

    @property
    def offset(self) -> int:
        """What is added to every stored activation; GEMM subtracts ``offset`` times the sum of each weight row."""
        ...

    @property
    def max_lanes(self) -> int:
        """Accumulator lanes of the widest vector."""
        ...

    @property
    def accumulators(self) -> int:
        """Vectors that the inner loop may keep in registers."""
        ...

    def stored(self, emit: Emitter, values: Any) -> Any:
        """Return the stored form of a vector of int8 activations."""
        ...

    def stored_weights(self, emit: Emitter, values: Any) -> Any:
        """Return the stored form of a vector of int8 weights."""
        ...

    def multiply_add(self, emit: Emitter, total: Any, group: Any, weights: Any) -> Any:
        """Return ``total`` (int32 lanes) plus the dot products of one group with the group of each lane's weight row.

        ``group`` is an int32 that holds the stored activations, ``weights`` a vector of int32 of the same kind.
        """
        ...
