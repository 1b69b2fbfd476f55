"""Exact division of integers by constants, with what the tensor ALU has: sums, products, shifts.

``floor(t / n)`` is ``(t * multiplier + offset) >> shift`` for every ``t`` of a range, if the three are chosen well; a
power of two needs the shift alone. Where 32 bits are too few for that, one correction makes the quotient exact.
Tests: tests/vta/topi/alu/test_division.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from vta.topi.core.operator import OperatorError

__all__ = ["Division", "DivisionError", "Quotient", "Rounding", "common_quotients", "divided", "division"]

_LOW, _HIGH = -(1 << 31), (1 << 31) - 1


class DivisionError(OperatorError):
    """A divisor that 32-bit arithmetic does not divide by exactly."""


class Rounding(StrEnum):
    """What happens to a quotient that is no integer."""

    FLOOR = "floor"
    HALF_UP = "half_up"
    HALF_AWAY = "half_away"
    TRUNCATE = "truncate"

    @property
    def is_symmetric(self) -> bool:
        """Whether a negative number gives the negative of what its magnitude gives."""
        return self in (Rounding.HALF_AWAY, Rounding.TRUNCATE)

    def bias(self, divisor: int) -> int:
        """Return what is added before the floor division, to the magnitude if it is symmetric."""
        return divisor // 2 if self in (Rounding.HALF_UP, Rounding.HALF_AWAY) else 0


def divided(sums: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], rounding: Rounding) -> npt.NDArray[np.int64]:
    """Return ``sums / counts`` rounded: the rule in numpy."""
    bias = counts // 2 if rounding.bias(2) else np.zeros_like(counts)
    if rounding.is_symmetric:
        magnitudes: npt.NDArray[np.int64] = (np.abs(sums) + bias) // counts
        return np.sign(sums) * magnitudes
    quotients: npt.NDArray[np.int64] = (sums + bias) // counts
    return quotients


@dataclass(frozen=True, slots=True)
class Quotient:
    """``floor(t / n) == (t * multiplier + offset) >> shift``, for a range of ``t`` and an ``n``."""

    multiplier: int
    offset: int
    shift: int


@dataclass(frozen=True, slots=True)
class Division:
    """``floor(t / n)``: after ``u = t >> halvings``, ``q = (u * multiplier + offset) >> shift``.

    ``correct_by`` is 0 where q is exact; otherwise q may be one too large, and ``q + ((u - q * correct_by) >> 31)`` is
    exact. A divisor of one has the multiplier 1 and no shift.
    """

    halvings: int
    quotient: Quotient
    correct_by: int = 0


def division(divisor: int, low: int, high: int) -> Division:
    """Return how ``low <= t <= high`` are divided; raises ``DivisionError``."""
    halvings = (divisor & -divisor).bit_length() - 1
    low, high, rest = low >> halvings, high >> halvings, divisor >> halvings
    if rest == 1:
        return Division(halvings, Quotient(1, 0, 0))
    for shift in range(1, 31):
        exact = _quotient(rest, low, high, shift)
        if exact is not None:
            return Division(halvings, exact)
    for shift in range(30, 0, -1):
        near = _near(rest, low, high, shift)
        if near is not None:
            return Division(halvings, near, correct_by=rest)
    raise DivisionError(
        f"division by {divisor} of numbers from {low << halvings} to {high << halvings} takes more than 32 bits; "
        "use a smaller window"
    )


def common_quotients(divisors: Iterable[int], low: int, high: int, rounding: Rounding) -> dict[int, Quotient]:
    """Return, for each divisor, how the sum of as many numbers from ``low`` to ``high`` is divided by it.

    All have one shift, and the offset includes what ``rounding`` adds. Raises ``DivisionError``.
    """
    wanted = sorted(set(divisors))
    for shift in range(1, 31):
        found = {n: _biased(n, low * n, high * n, shift, rounding) for n in wanted}
        if all(quotient is not None for quotient in found.values()):
            return {n: quotient for n, quotient in found.items() if quotient is not None}
    raise DivisionError(
        f"division by {wanted[0]} to {wanted[-1]}, depending on the place: no shift makes all of them exact in 32 "
        "bits; use a smaller window, or count_include_pad without ceil_mode"
    )


def _biased(divisor: int, low: int, high: int, shift: int, rounding: Rounding) -> Quotient | None:
    bias = rounding.bias(divisor)
    quotient = _quotient(divisor, low + bias, high + bias, shift)
    if quotient is None:
        return None
    return Quotient(quotient.multiplier, quotient.offset + quotient.multiplier * bias, shift)


def _quotient(divisor: int, low: int, high: int, shift: int) -> Quotient | None:
    """Return the numbers for ``shift``, or None if they are not exact from ``low`` to ``high``.

    With ``t = q * divisor + r`` and ``error = multiplier * divisor - 2**shift``, the sum is ``q * 2**shift`` plus
    ``q * error + r * multiplier + offset``, which must be from 0 to ``2**shift - 1`` for every q and r.
    """
    first, last = low // divisor, high // divisor
    for multiplier in (-(-(1 << shift) // divisor), (1 << shift) // divisor):
        error = multiplier * divisor - (1 << shift)
        ends = (first * error, last * error)
        offset = max(0, -min(ends))
        if max(ends) + (divisor - 1) * multiplier + offset >= 1 << shift:
            continue
        if low * multiplier + offset >= _LOW and high * multiplier + offset <= _HIGH:
            return Quotient(multiplier, offset, shift)
    return None


def _near(divisor: int, low: int, high: int, shift: int) -> Quotient | None:
    """Return the numbers for a quotient that may be one too large, None if it may be further away."""
    multiplier = -(-(1 << shift) // divisor)
    error = multiplier * divisor - (1 << shift)
    offset = max(0, -(low // divisor) * error)
    if (high // divisor) * error + (divisor - 1) * multiplier + offset >= 2 << shift:
        return None
    if low * multiplier + offset < _LOW or high * multiplier + offset > _HIGH:
        return None
    return Quotient(multiplier, offset, shift)
