"""The box around all accesses to a tensor: one range for each dimension.

Tests: tests/vta/te/test_box.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vta.arith.bounds import Interval
from vta.arith.simplify import Analyzer
from vta.te.iteration import Loop
from vta.te.lowering.largest import largest_value
from vta.tir.expr import Expr, IntImm, Max, Min, Range, binary, const, same

__all__ = ["Box"]


@dataclass(slots=True)
class Box:
    """Grows with every access; ``shape`` is the tensor's, which no access leaves."""

    shape: tuple[Expr, ...]
    analyzer: Analyzer
    intervals: dict[int, tuple[Expr, Expr]] = field(default_factory=dict)

    def add(self, dim: int, interval: Interval) -> None:
        """Let dimension ``dim`` include ``interval``; an unbounded end is the tensor's."""
        low = const(0) if interval.min is None else interval.min
        high = self.shape[dim] - 1 if interval.max is None else interval.max
        old = self.intervals.get(dim)
        if old is not None:
            low, high = self._outer(Min, old[0], low), self._outer(Max, old[1], high)
        self.intervals[dim] = (low, high)

    def _outer(self, kind: type[Min | Max], a: Expr, b: Expr) -> Expr:
        if same(a, b):
            return a
        if self.analyzer.can_prove(a <= b):
            return a if kind is Min else b
        if self.analyzer.can_prove(b <= a):
            return b if kind is Min else a
        return binary(kind, a, b)

    def ranges(self, around: Sequence[Loop]) -> list[Range]:
        """Return the box. ``around`` are the loops whose variables it depends on.

        What reaches past the tensor on both sides, or is as large as it, is the whole tensor; a constant end is moved
        onto the tensor; an extent that varies with the loops becomes the largest that occurs, if that can be found.
        """
        return [self._range(dim, around) for dim in range(len(self.shape))]

    def exact_ranges(self) -> list[Range]:
        """Return the box as it is, beyond the tensor if accesses are."""
        ends = [self.intervals[dim] for dim in range(len(self.shape))]
        return [Range(low, self.analyzer.simplify(high - low + 1)) for low, high in ends]

    def _range(self, dim: int, around: Sequence[Loop]) -> Range:
        size = self.shape[dim]
        if dim not in self.intervals:
            return Range(const(0), size)
        low, high = self.intervals[dim]
        if isinstance(low, IntImm):
            low = const(max(low.value, 0))
        if isinstance(high, IntImm) and isinstance(size, IntImm):
            high = const(min(high.value, size.value - 1))
        extent = self.analyzer.simplify(high - low + 1)
        if not isinstance(extent, IntImm):
            extent = largest_value(extent, around, self.analyzer)
        whole = Range(const(0), size)
        if isinstance(extent, IntImm) and isinstance(size, IntImm):
            return whole if extent.value >= size.value else Range(low, const(max(extent.value, 1)))
        covers = self.analyzer.can_prove(low <= 0) and self.analyzer.can_prove(high >= size - 1)
        return whole if covers else Range(low, extent)
