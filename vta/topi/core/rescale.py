"""Multiplying 32-bit integers by a real scale, rounded to the nearest integer, halves upwards, without overflow.

``x * scale`` becomes ``(y * multiplier + offset) >> shift`` with ``y = x >> spare``: ``y`` has 16 bits and a sign, the
multiplier 15 bits or more, and the offset rounds. An accumulator so large that its exact value does not matter any more
is clipped before it is multiplied: so 32 bits are enough for every accumulator and every scale, and nobody has to know
how large accumulators become. Powers of two are exact.
Tests: tests/vta/topi/core/test_rescale.py.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from numbers import Integral, Rational, Real

import numpy as np
import numpy.typing as npt

from vta.topi.core.epilogue import (
    Add,
    Bias,
    ChannelMaximum,
    ChannelMinimum,
    ChannelShift,
    Clip,
    Epilogue,
    Multiply,
    Requantise,
    RoundingShift,
    Scale,
    ShiftLeft,
    ShiftRight,
    Step,
    needs,
)
from vta.topi.core.epilogue_steps import WORD
from vta.topi.core.operator import OperatorError

__all__ = ["ChannelScales", "channel_scales", "quantise_channels", "quantise_steps", "scale_steps"]

_ANY = 1 << 31
"""No accumulator is larger."""

_DATA_BITS = 16
"""Bits, without the sign, of what is multiplied."""

_LEAST_MULTIPLIER = 1 << 14
"""Smaller ones are not precise enough."""

_MOST_SHIFT = 31
_RESULTS = 256
_MOST_RESULTS = 1 << 14
"""Beyond, the bits that a product of 32 bits leaves out are worth more than a result's rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class ChannelScales:
    """Steps that multiply every channel by a scale of its own, and the arrays that they read, in order."""

    steps: Epilogue
    arrays: tuple[npt.NDArray[np.int32], ...]


def scale_steps(scale: float, largest: int | None = None, *, results: int = _RESULTS) -> Epilogue:
    """Return the steps for ``x * scale`` where ``|x| <= largest``: any int32 if left out.

    Results up to ``results`` are at most ``1/2 + results / 2**14`` from the exact product, and zero gives zero. Beyond,
    they have the right sign and are no smaller than ``results``, so that a ``Clip`` within it saturates. A power of two
    is exact up to there, halves upwards. Raises ``OperatorError`` for a scale that is no positive number.
    """
    return _within(results, largest).steps(_exact(scale))


def quantise_steps(
    scale: float, *, zero_point: int = 0, low: int = -128, high: int = 127, largest: int | None = None
) -> Epilogue:
    """Return the steps for ``x * scale + zero_point``, saturated to ``low`` .. ``high``, where ``|x| <= largest``.

    Before it is saturated, the result is as near to the exact one as that of ``scale_steps``, with ``results`` the
    largest distance of ``low`` and ``high`` from the zero point; zero gives the zero point. Where neighbouring
    accumulators give neighbouring results, the accumulator is clipped so that the result needs no ``Clip`` any more.
    """
    return _saturated(low, high, zero_point, largest).steps(_exact(scale))


def channel_scales(scales: npt.ArrayLike, largest: int | None = None, *, results: int = _RESULTS) -> ChannelScales:
    """Return the same as ``scale_steps``, and as precise, for one scale a channel."""
    return _by_channel(_exact_of("channel_scales", scales), _within(results, largest))


def quantise_channels(
    scales: npt.ArrayLike, *, zero_point: int = 0, low: int = -128, high: int = 127, largest: int | None = None
) -> ChannelScales:
    """Return the same as ``quantise_steps``, and as precise, for one scale a channel."""
    return _by_channel(_exact_of("quantise_channels", scales), _saturated(low, high, zero_point, largest))


@dataclass(frozen=True, slots=True)
class _Rescaling:
    """``((x >> spare) * multiplier + offset) >> shift``."""

    spare: int
    multiplier: int
    offset: int
    shift: int

    def of(self, y: int) -> int:
        """Return the result for ``y = x >> spare``."""
        return (y * self.multiplier + self.offset) >> self.shift

    def plus(self, zero_point: int) -> "_Rescaling":
        """Return the same with ``zero_point`` added to the result."""
        return replace(self, offset=self.offset + (zero_point << self.shift))

    def fits(self, first: int, last: int) -> bool:
        """Whether 32 bits hold everything that is computed for ``first <= y <= last``."""
        products = (first * self.multiplier, last * self.multiplier)
        sums = [product + self.offset for product in products]
        return all(WORD[0] <= value <= WORD[1] for value in (self.multiplier, self.offset, *products, *sums))

    def tail(self) -> Epilogue:
        """Return the product, the sum and the shift."""
        if self.shift and self.offset == 1 << (self.shift - 1):
            one = self.multiplier == 1
            return (RoundingShift(self.shift) if one else Requantise(self.multiplier, self.shift),)
        steps: list[Step] = []
        if self.multiplier & (self.multiplier - 1):
            steps.append(Multiply(self.multiplier))
        elif self.multiplier > 1:
            steps.append(ShiftLeft(self.multiplier.bit_length() - 1))
        if self.offset:
            steps.append(Add(self.offset))
        return (*steps, *_shifted(self.shift))


@dataclass(frozen=True, slots=True)
class _Goal:
    """``x * scale + zero_point`` from ``low`` to ``high`` for ``|x| <= bound``; what is beyond may stay beyond."""

    low: int
    high: int
    zero_point: int
    bound: int
    saturates: bool

    @property
    def results(self) -> int:
        """How far from the zero point a result is out of range for certain."""
        return max(abs(self.low - self.zero_point), abs(self.high - self.zero_point)) + 1

    def data(self, spare: int) -> tuple[int, int]:
        """Return the first and the last ``x >> spare``."""
        return -self.bound >> spare, min(self.bound, WORD[1]) >> spare

    def steps(self, scale: Fraction) -> Epilogue:
        """Return the cheapest steps for ``scale``."""
        found = [self._steps_of(limited) for limited in self._candidates(scale)]
        return min(found, key=lambda steps: needs(steps).operations)

    def precise(self, scale: Fraction) -> "_Limited":
        """Return how to multiply by ``scale`` most precisely."""
        return next(self._candidates(scale))

    def _candidates(self, scale: Fraction) -> "Iterator[_Limited]":
        """Yield what is exact or precise enough and keeps to 32 bits, the most precise first."""
        scale = min(scale, Fraction(self.results))  # with both, the next number after zero is out of range
        found = _powers_of_two(scale)
        exact = bool(found)
        spare = max(0, min(self.bound, math.ceil(self.results / scale)).bit_length() - _DATA_BITS)
        found = found or [_nearest(scale, spare, shift) for shift in range(_MOST_SHIFT, -1, -1)]
        limited = [self._limited(rescaling.plus(self.zero_point)) for rescaling in found]
        fitting = [one for one in limited if one.rescaling.fits(one.first, one.last)]
        yield from fitting if exact else fitting[:1]
        if not self.saturates and not exact:
            whole = (one for one in fitting if one.rescaling.multiplier >= _LEAST_MULTIPLIER and self._is_whole(one))
            yield from islice(whole, 1)

    def _is_whole(self, limited: "_Limited") -> bool:
        return limited.rescaling.fits(*self.data(limited.rescaling.spare))

    def _limited(self, rescaling: _Rescaling) -> "_Limited":
        """Return from where to where ``x >> spare`` matters.

        A clip there gives just ``low`` and ``high`` where no result is left out between those of two neighbours. Where
        some are, one number more on each side is needed, whose result is beyond.
        """
        least, most = self.data(rescaling.spare)
        multiplier, offset, shift = rescaling.multiplier, rescaling.offset, rescaling.shift
        if multiplier == 0:
            return _Limited(rescaling, least, most)
        first = -((offset - (self.low << shift)) // multiplier)
        last = (((self.high + 1) << shift) - offset - 1) // multiplier
        more = 0 if multiplier <= 1 << shift else 1
        first, last = max(first - more, least), min(last + more, most)
        if first > last:  # no number of the data gives a result in range
            return _Limited(_Rescaling(0, 0, self.low if first > least else self.high, 0), *self.data(0))
        return _Limited(rescaling, first, last)

    def is_beyond(self, limited: "_Limited") -> bool:
        """Whether a result may be out of range that should not be."""
        ends = (limited.rescaling.of(limited.first), limited.rescaling.of(limited.last))
        return self.saturates and (min(ends) < self.low or max(ends) > self.high)

    def _steps_of(self, limited: "_Limited") -> Epilogue:
        rescaling = limited.rescaling
        if rescaling.multiplier == 0:
            value = min(max(rescaling.of(0), self.low), self.high)
            return (Clip(value, value),)
        steps = list(_shifted(rescaling.spare))
        if self.saturates or not self._is_whole(limited):
            least, most = self.data(rescaling.spare)
            low = limited.first if limited.first > least else WORD[0]
            high = limited.last if limited.last < most else WORD[1]
            steps += [Clip(low, high)] if (low, high) != WORD else []
        return (*steps, *rescaling.tail(), *([Clip(self.low, self.high)] if self.is_beyond(limited) else []))


@dataclass(frozen=True, slots=True)
class _Limited:
    """A rescaling, and from where to where ``x >> spare`` is clipped before it."""

    rescaling: _Rescaling
    first: int
    last: int


def _shifted(bits: int) -> tuple[Step, ...]:
    return (ShiftRight(bits),) if bits else ()


def _nearest(scale: Fraction, spare: int, shift: int) -> _Rescaling:
    """Return the nearest multiplier for a shift; the offset rounds, and adds what the lost bits are on average."""
    multiplier = round(scale * (1 << (spare + shift)))
    lost = multiplier * ((1 << spare) - 1) >> (spare + 1)
    return _Rescaling(spare, multiplier, (1 << shift >> 1) + lost, shift)


def _powers_of_two(scale: Fraction) -> list[_Rescaling]:
    """Return what multiplies by a power of two exactly, the cheapest first; nothing for another scale."""
    if scale.numerator & (scale.numerator - 1) or scale.denominator & (scale.denominator - 1):
        return []
    if scale >= 1:
        return [_Rescaling(0, scale.numerator, 0, 0)]
    right = scale.denominator.bit_length() - 1
    # Halves go upwards: the last bit that is shifted out decides, and its neighbour's half need not fit.
    last_bit = _Rescaling(min(right - 1, _MOST_SHIFT), 1, 1, 1)
    return [_Rescaling(0, 1, 1 << (right - 1), right), last_bit] if right <= _MOST_SHIFT else [last_bit]


def _by_channel(scales: Sequence[Fraction], goal: _Goal) -> ChannelScales:
    """Return the steps for all channels, without those that change nothing in any."""
    found = [goal.precise(scale) for scale in scales]
    rescalings = [limited.rescaling for limited in found]
    ends = [goal.data(rescaling.spare) for rescaling in rescalings]
    columns: list[tuple[Step, Sequence[int], Sequence[int]]] = [
        (ChannelShift(), [r.spare for r in rescalings], [0] * len(found)),
        (ChannelMaximum(), [limited.first for limited in found], [least for least, _ in ends]),
        (ChannelMinimum(), [limited.last for limited in found], [most for _, most in ends]),
        (Scale(), [r.multiplier for r in rescalings], [1] * len(found)),
        (Bias(), [r.offset for r in rescalings], [0] * len(found)),
        (ChannelShift(), [r.shift for r in rescalings], [0] * len(found)),
    ]
    used = [(step, values) for step, values, unchanged in columns if list(values) != list(unchanged)]
    beyond = [Clip(goal.low, goal.high)] if any(map(goal.is_beyond, found)) else []
    return ChannelScales((*(step for step, _ in used), *beyond), tuple(np.array(v, np.int32) for _, v in used))


def _within(results: int, largest: int | None) -> _Goal:
    if not isinstance(results, Integral) or not 1 <= int(results) <= _MOST_RESULTS:
        raise OperatorError(f"results is from 1 to {_MOST_RESULTS}, not {results!r}")
    return _Goal(-int(results), int(results), 0, _bound_of(largest), saturates=False)


def _saturated(low: int, high: int, zero_point: int, largest: int | None) -> _Goal:
    for name, value in (("low", low), ("high", high), ("zero_point", zero_point)):
        if not isinstance(value, Integral) or abs(int(value)) > _MOST_RESULTS // 2:
            half = _MOST_RESULTS // 2
            raise OperatorError(f"{name} is from {-half} to {half}, not {value!r}")
    if low > high:
        raise OperatorError(f"low is {low}, which is more than high, {high}")
    return _Goal(int(low), int(high), int(zero_point), _bound_of(largest), saturates=True)


def _bound_of(largest: int | None) -> int:
    if largest is None:
        return _ANY
    if not isinstance(largest, Integral) or not 1 <= int(largest) <= _ANY:
        raise OperatorError(f"largest is from 1 to {_ANY}, not {largest!r}")
    return int(largest)


def _exact_of(function: str, scales: npt.ArrayLike) -> list[Fraction]:
    values = [_exact(scale) for scale in np.asarray(scales).reshape(-1).tolist()]
    if not values:
        raise OperatorError(f"{function} takes one scale for each channel, not none")
    return values


def _exact(scale: float) -> Fraction:
    """Return the scale as the number that it is."""
    if not isinstance(scale, Real) or not 0 < scale < math.inf:
        raise OperatorError(f"a scale is a positive number, not {scale!r}")
    return Fraction(scale) if isinstance(scale, Rational) else Fraction(float(scale))
