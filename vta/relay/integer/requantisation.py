"""A real scale as integers: shift, clip, multiply, add, shift, with nothing that overflows for any int32.

``round(x * scale) + zero_point``, within a range, becomes, with numbers for each channel,

    t = min(max(x >> pre_shift, low), high)
    y = (t * multiplier + addend) >> shift,  within the range

How the numbers are chosen, and why they are right:

- Beyond ``low`` and ``high``, the result is at the end of its range whatever comes. So nothing is lost, and what is
  multiplied has few bits; ``multiplier`` gets the rest of 31. ``t * multiplier`` alone may wrap: the sum does not.
- ``pre_shift`` drops the last bits of large numbers. Half of what they are is in ``addend``, so it does not round.
- Two errors are left: that of the multiplier, relative, and the dropped bits, half a step of t at most. More bits for
  t make the first larger and the second smaller; the division with the smallest expected error is taken, or one that
  is nearly as good and takes fewer operations, or fewer tables.
- Results are rounded to the nearest integer, halves upwards. Powers of two become one rounding shift, exact for all x.

A result of 8 bits differs by at most 1 from that of exact arithmetic with halves rounded either way, and only where the
exact number is closer to a half than ``error``: 0.03 % of results. Wider results may have larger errors, see there.
Tests: tests/vta/relay/integer/test_requantisation.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from vta.relay.integer.scales import Output, checked_scales
from vta.relay.ir.types import RelayError
from vta.relay.ops.qnn.rescale import INT32

__all__ = ["Requantisation", "requantisation"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

_FEWEST_BITS = 12
"""Bits that what is multiplied has at least, if it had more before."""

_AS_GOOD = 1.25
_GOOD_ENOUGH = 0.0005
"""A choice with fewer operations may have an expected error this much larger than the best one's, or this one."""

_MOST_REACH = 1 << 24

_TYPICAL = 0.25
"""How large results are that errors are expected for, as a part of the largest."""


@dataclass(frozen=True, slots=True, eq=False)
class Requantisation:
    """The numbers of ``qnn.requantize``: int32 tables, each a scalar or of the scales' shape, and the clip.

    ``saturates``: the result is within its range by itself, so that a clip behind the shift does nothing. ``error`` is
    the largest difference of a scaled number in the range from the exact one before rounding, ``expected_error`` an
    average one.
    """

    pre_shift: npt.NDArray[np.int32]
    multiplier: npt.NDArray[np.int32]
    addend: npt.NDArray[np.int32]
    shift: npt.NDArray[np.int32]
    low: int
    high: int
    saturates: bool
    error: float
    expected_error: float


def requantisation(
    scales: npt.ArrayLike, output: Output | None = None, *, input_zero_point: int = 0, data: tuple[int, int] = INT32
) -> Requantisation:
    """Return the numbers for ``(x - input_zero_point) * scale``.

    ``scales`` are positive, one or a tensor of them (one a channel, or a place). ``data`` is the range of x, where it
    is smaller than that of int32: 8-bit numbers, sums over windows. Raises ``RelayError`` for a scale that is none, for
    an ``input_zero_point`` of data with more than 16 bits, and for results of more than 24 bits.
    """
    wanted = output or Output()
    values = checked_scales(scales)
    if input_zero_point and max(abs(end) for end in data) > 1 << 16:
        raise RelayError(f"data with a zero point, {input_zero_point}, has at most 16 bits, not the range {data}")
    if wanted.reach > _MOST_REACH:
        raise RelayError(f"results are at most {_MOST_REACH} from their zero point, not {wanted.reach}")
    # Twice the reach, and any difference from the zero point is beyond the range already.
    flat = np.minimum(values.reshape(-1), 4.0 * wanted.reach)
    found = _Search(flat, wanted, input_zero_point, data).best()
    return _finished(found, wanted, values.shape)


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """Numbers for all channels, and how good they are. ``low`` and ``high`` are where t is clipped."""

    pre_shift: Ints
    multiplier: Ints
    addend: Ints
    shift: Ints
    low: int
    high: int
    error: float
    expected_error: float

    def of(self, t: int) -> Ints:
        """Return the results for ``t``, before the range."""
        return (t * self.multiplier + self.addend) >> self.shift

    @property
    def effort(self) -> tuple[int, bool]:
        """How many of the two shifts are tables, and whether the first one is done at all."""
        tables = int(np.unique(self.pre_shift).size > 1) + int(np.unique(self.shift).size > 1)
        return tables, bool(self.pre_shift.any())


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    scales: Reals
    output: Output
    zero_point: int
    data: tuple[int, int]

    def best(self) -> _Choice:
        """Return the choice with the smallest expected error, or one nearly as good with fewer tables."""
        choices = list(self._choices())
        sure = [choice for choice in choices if choice.error < 0.5]
        if not sure:
            return min(choices, key=lambda choice: choice.error)
        limit = max(min(choice.expected_error for choice in sure) * _AS_GOOD, _GOOD_ENOUGH)
        good = [choice for choice in sure if choice.expected_error <= limit]
        return min(good, key=lambda choice: (*choice.effort, choice.expected_error))

    def _choices(self) -> Iterator[_Choice]:
        for pre_shift in self._pre_shifts():
            own = self._choice(pre_shift, None)
            if own is not None:
                yield own
                common = self._choice(pre_shift, int(own.shift.min()))
                if common is not None:
                    yield common

    def _pre_shifts(self) -> list[Ints]:
        """Return shifts that leave 12 bits or more, each for every channel by itself and one for all."""
        zeros = np.zeros(self.scales.size, np.int64)
        if self.zero_point:
            return [zeros]
        largest = np.minimum(self.output.reach / self.scales, max(abs(end) for end in self.data))
        bits = np.ceil(np.log2(largest + 1)).astype(np.int64)
        found = {}
        for count in range(_FEWEST_BITS, max(int(bits.max()), _FEWEST_BITS) + 1):
            own = np.clip(bits - count, 0, 31)
            for shifts in (own, zeros + own.max(), zeros + own.min()):
                found[shifts.tobytes()] = shifts
        return list(found.values())

    def _choice(self, pre_shift: Ints, shift: int | None) -> _Choice | None:
        """Return the numbers for given shifts in front; ``shift`` is one for all channels, or None: each the best."""
        scaled = np.ldexp(self.scales, pre_shift)
        lows, highs = self._ends(scaled, pre_shift)
        clip = int(lows.min()), int(highs.max())
        lows, highs = np.maximum(clip[0], self.data[0] >> pre_shift), np.minimum(clip[1], self.data[1] >> pre_shift)
        spans = np.maximum(np.maximum(highs - self.zero_point, self.zero_point - lows), 1)
        bound = spans * scaled + abs(self.output.zero_point) + 1
        # One bit more than fits surely: the sum may fit where its parts do not.
        most = np.clip(31 - np.floor(np.log2(bound)).astype(np.int64), 0, 31)
        shifts = most if shift is None else np.full_like(most, shift)
        for _ in range(3):
            choice = self._rated(scaled, pre_shift, shifts, clip)
            bad = ~_all_fit(choice, lows, highs)
            if not bad.any():
                return choice
            if shift is not None or (shifts[bad] == 0).any():
                return None
            shifts = np.where(bad, shifts - 1, shifts)
        return None

    def _ends(self, scaled: Reals, pre_shift: Ints) -> tuple[Ints, Ints]:
        """Return for every channel the range of t outside of which its result is at the end of the range."""
        reach = (self.output.zero_point - self.output.low, self.output.high - self.output.zero_point)
        spans = [np.ceil(np.minimum((max(side, 0) + 1) / scaled, 2.0**32)).astype(np.int64) for side in reach]
        return (
            np.maximum(self.zero_point - spans[0], self.data[0] >> pre_shift),
            np.minimum(self.zero_point + spans[1], self.data[1] >> pre_shift),
        )

    def _rated(self, scaled: Reals, pre_shift: Ints, shift: Ints, clip: tuple[int, int]) -> _Choice:
        multiplier = np.rint(np.ldexp(scaled, shift)).astype(np.int64)
        half = (1 << shift) >> 1
        dropped = (multiplier * ((1 << pre_shift) - 1)) >> (pre_shift + 1)
        addend = (self.output.zero_point << shift) + half + dropped - self.zero_point * multiplier
        relative = np.abs(np.ldexp(multiplier.astype(np.float64), -shift) / scaled - 1)
        is_exact = (relative == 0) & (multiplier & (multiplier - 1) == 0) & (multiplier <= half)
        lost = np.where(is_exact, 0.0, self.scales * ((1 << pre_shift) - 1) / 2)
        reach = np.minimum(self.output.reach, self.scales * (max(abs(end) for end in self.data) + abs(self.zero_point)))
        return _Choice(
            pre_shift, multiplier, addend, shift, *clip,
            error=float((reach * relative + lost + np.where(lost > 0, np.ldexp(1.0, -shift), 0)).max()),
            expected_error=float((_TYPICAL * reach * relative + lost / 2).mean()),
        )  # fmt: skip


def _all_fit(choice: _Choice, lows: Ints, highs: Ints) -> npt.NDArray[np.bool_]:
    """Return for every channel whether its multiplier is an int32, and what is shifted last, for t at both ends."""
    sums = (lows * choice.multiplier + choice.addend, highs * choice.multiplier + choice.addend)
    inside = [(INT32[0] <= each) & (each <= INT32[1]) for each in (*sums, choice.multiplier)]
    return np.asarray(np.logical_and.reduce(inside))


def _finished(choice: _Choice, output: Output, shape: tuple[int, ...]) -> Requantisation:
    """Return the numbers as tables, without common factors of two, the clip as narrow as it may be."""
    used = choice.multiplier[choice.multiplier > 0]
    common = int(min(np.bitwise_and(used, -used).min().item().bit_length() - 1, choice.shift.min())) if used.size else 0
    short = replace(
        choice,
        multiplier=choice.multiplier >> common,
        addend=choice.addend >> common,
        shift=choice.shift - common,
    )
    low, high = _narrow(short, output)
    narrow = replace(short, low=low, high=high)
    saturates = bool((narrow.of(low) >= output.low).all() and (narrow.of(high) <= output.high).all())
    return Requantisation(
        _table(narrow.pre_shift, shape),
        _table(narrow.multiplier, shape),
        _table(narrow.addend, shape),
        _table(narrow.shift, shape),
        low,
        high,
        saturates,
        choice.error,
        choice.expected_error,
    )


def _narrow(choice: _Choice, output: Output) -> tuple[int, int]:
    """Return the ends of t beyond which nothing changes: where the results of all channels reach their range's end."""
    used = np.maximum(choice.multiplier, 1)
    lows = (((output.low + 1) << choice.shift) - 1 - choice.addend) // used
    highs = -((choice.addend - (output.high << choice.shift)) // used)
    low, high = max(choice.low, int(lows.min())), min(choice.high, int(highs.max()))
    return (low, high) if low <= high else (choice.low, choice.high)


def _table(numbers: Ints, shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """Return int32 numbers, which wrap: one if all are the same, otherwise of ``shape``."""
    if np.unique(numbers).size == 1:
        return np.array(numbers[0]).astype(np.int32)
    return numbers.reshape(shape).astype(np.int32)
