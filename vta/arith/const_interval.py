"""Intervals of integers, and arithmetic on them.

Tests: tests/vta/arith/test_const_interval.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["EVERYTHING", "TRUTH", "ConstInterval", "maximum", "union"]

Bound: TypeAlias = int | None


@dataclass(frozen=True, slots=True)
class ConstInterval:
    """The integers from ``lo`` to ``hi``, both included; None is unbounded. Empty if ``lo`` exceeds ``hi``."""

    lo: int | None = None
    hi: int | None = None

    @property
    def is_point(self) -> bool:
        """Whether exactly one integer lies inside."""
        return self.lo is not None and self.lo == self.hi

    @property
    def is_empty(self) -> bool:
        """Whether no integer lies inside."""
        return self.lo is not None and self.hi is not None and self.lo > self.hi

    def __contains__(self, value: int) -> bool:
        return (self.lo is None or self.lo <= value) and (self.hi is None or value <= self.hi)

    def within(self, other: ConstInterval) -> bool:
        """Whether every integer inside lies in ``other`` too."""
        low = other.lo is None or (self.lo is not None and self.lo >= other.lo)
        return low and (other.hi is None or (self.hi is not None and self.hi <= other.hi))

    def intersect(self, other: ConstInterval) -> ConstInterval:
        """Return the integers that lie in both."""
        lo = other.lo if self.lo is None else self.lo if other.lo is None else max(self.lo, other.lo)
        hi = other.hi if self.hi is None else self.hi if other.hi is None else min(self.hi, other.hi)
        return ConstInterval(lo, hi)

    def __add__(self, other: ConstInterval) -> ConstInterval:
        lo = None if self.lo is None or other.lo is None else self.lo + other.lo
        hi = None if self.hi is None or other.hi is None else self.hi + other.hi
        return ConstInterval(lo, hi)

    def __neg__(self) -> ConstInterval:
        return ConstInterval(None if self.hi is None else -self.hi, None if self.lo is None else -self.lo)

    def __sub__(self, other: ConstInterval) -> ConstInterval:
        return self + -other

    def scale(self, factor: int) -> ConstInterval:
        """Return the interval of ``factor`` times a member."""
        if factor == 0:
            return ConstInterval(0, 0)
        lo = None if self.lo is None else self.lo * factor
        hi = None if self.hi is None else self.hi * factor
        return ConstInterval(lo, hi) if factor > 0 else ConstInterval(hi, lo)

    def __mul__(self, other: ConstInterval) -> ConstInterval:
        if self.is_point and self.lo is not None:
            return other.scale(self.lo)
        if other.is_point and other.lo is not None:
            return self.scale(other.lo)
        a, b = self, other
        if a.lo is None or a.hi is None or b.lo is None or b.hi is None:
            return _multiply_unbounded(a, b)
        corners = (a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi)
        return ConstInterval(min(corners), max(corners))

    def floordiv(self, other: ConstInterval) -> ConstInterval:
        """Return bounds of a member divided by a member of ``other``, rounded down; a divisor of zero is no case."""
        if other.lo is not None and other.lo >= 0:
            return _divide_by_positive(self, max(other.lo, 1), other.hi)
        if other.hi is not None and other.hi <= 0:
            return _divide_by_positive(-self, max(-other.hi, 1), None if other.lo is None else -other.lo)
        if self.lo is None or self.hi is None:
            return EVERYTHING
        largest = max(abs(self.lo), abs(self.hi))
        return ConstInterval(-largest, largest)

    def floormod(self, other: ConstInterval) -> ConstInterval:
        """Return bounds of the remainder that has the divisor's sign."""
        if other.is_point and other.lo:
            step, quotient = other.lo, self.floordiv(other)
            if quotient.is_point and quotient.lo is not None:
                return self + ConstInterval(-quotient.lo * step, -quotient.lo * step)
        if other.lo is not None and other.lo >= 0:
            hi = None if other.hi is None else max(other.hi - 1, 0)
            if self.lo is not None and self.lo >= 0 and self.hi is not None:
                hi = self.hi if hi is None else min(hi, self.hi)
            return ConstInterval(0, hi)
        low = None if other.lo is None else min(other.lo + 1, 0)
        high = None if other.hi is None else max(other.hi - 1, 0)
        return ConstInterval(low, high)

    def truncdiv(self, other: ConstInterval) -> ConstInterval:
        """Return bounds of the quotient rounded towards zero."""
        if other.lo is not None and other.lo >= 0:
            return _truncate_by_positive(self, max(other.lo, 1), other.hi)
        if other.hi is not None and other.hi <= 0:
            return (-self).truncdiv(-other)
        if self.lo is None or self.hi is None:
            return EVERYTHING
        largest = max(abs(self.lo), abs(self.hi))
        return ConstInterval(-largest, largest)

    def truncmod(self, other: ConstInterval) -> ConstInterval:
        """Return bounds of the remainder that has the dividend's sign."""
        lo, hi = None, None
        if other.lo is not None and other.hi is not None:
            hi = max(abs(other.lo), abs(other.hi), 1) - 1
            lo = -hi
        if self.lo is not None:
            lo = min(0, self.lo) if lo is None or self.lo >= lo else lo
        if self.hi is not None:
            hi = max(0, self.hi) if hi is None or self.hi <= hi else hi
        return ConstInterval(lo, hi)


EVERYTHING = ConstInterval()
TRUTH = ConstInterval(0, 1)


def _multiply_unbounded(a: ConstInterval, b: ConstInterval) -> ConstInterval:
    """Multiply where a bound is missing: signs alone decide."""
    if a.lo is not None and a.lo >= 0 and b.lo is not None and b.lo >= 0:
        hi = None if a.hi is None or b.hi is None else a.hi * b.hi
        return ConstInterval(a.lo * b.lo, hi)
    if a.hi is not None and a.hi <= 0:
        return EVERYTHING if (-a).lo is None else -_or_everything(-a, b)
    if b.hi is not None and b.hi <= 0:
        return -_or_everything(a, -b)
    return EVERYTHING


def _or_everything(a: ConstInterval, b: ConstInterval) -> ConstInterval:
    both = a.lo is not None and a.lo >= 0 and b.lo is not None and b.lo >= 0
    negative = a.lo is not None and a.lo >= 0 and b.hi is not None and b.hi <= 0
    if both:
        return _multiply_unbounded(a, b)
    return -_multiply_unbounded(a, -b) if negative else EVERYTHING


def _divide_by_positive(a: ConstInterval, low: int, high: Bound) -> ConstInterval:
    """Divide by divisors from ``low`` (at least 1) to ``high``: an extreme lies at one of the divisor's ends."""
    if high is not None and high < low:
        return EVERYTHING

    def lower(value: int) -> int:
        return value // low if value < 0 else 0 if high is None else value // high

    def upper(value: int) -> int:
        return value // low if value >= 0 else -1 if high is None else value // high

    return ConstInterval(None if a.lo is None else lower(a.lo), None if a.hi is None else upper(a.hi))


def _truncate_by_positive(a: ConstInterval, low: int, high: Bound) -> ConstInterval:
    """Divide by divisors from ``low`` (at least 1) to ``high``, rounding towards zero."""
    if high is not None and high < low:
        return EVERYTHING

    def smallest(value: int) -> int:
        return -(-value // low) if value < 0 else 0 if high is None else value // high

    return ConstInterval(None if a.lo is None else smallest(a.lo), None if a.hi is None else -smallest(-a.hi))


def union(intervals: Iterable[ConstInterval]) -> ConstInterval:
    """Return the smallest interval that covers all of ``intervals`` (at least one)."""
    items = list(intervals)
    lows = [i.lo for i in items]
    highs = [i.hi for i in items]
    lo = None if any(v is None for v in lows) else min(v for v in lows if v is not None)
    hi = None if any(v is None for v in highs) else max(v for v in highs if v is not None)
    return ConstInterval(lo, hi)


def maximum(a: ConstInterval, b: ConstInterval) -> ConstInterval:
    """Return the interval of the larger of a member of ``a`` and a member of ``b``."""
    lo = b.lo if a.lo is None else a.lo if b.lo is None else max(a.lo, b.lo)
    hi = None if a.hi is None or b.hi is None else max(a.hi, b.hi)
    return ConstInterval(lo, hi)
