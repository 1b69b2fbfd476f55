"""Sums multiplied by real scales and saturated, in whole numbers: exact in 32 bits, in the fewest ALU operations.

``FixedPoint`` is the meaning, in numbers without limit. ``output_steps`` are steps that give just that on the ALU, for
every sum: sums are limited first, to what can matter for the result, so that the result needs no limit any more. Five
operations are left, whatever bias, scales and zero point are: maximum, minimum, product, sum, shift. Ties to the even
result take two more, or three (``vta.topi.core.even_shift``).
Tests: tests/vta/topi/core/test_fixed_point.py.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from vta.topi.core.epilogue import (
    Add,
    Bias,
    ChannelMaximum,
    ChannelMinimum,
    ChannelShift,
    Clip,
    Epilogue,
    Fork,
    Joint,
    Multiply,
    Residual,
    Scale,
    ShiftRight,
    Step,
)
from vta.topi.core.epilogue_steps import WORD
from vta.topi.core.even_shift import EvenShift, even_shift

__all__ = ["FixedPoint", "FixedPointError", "OutputSteps", "ScaledResidual", "output_steps"]

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]

_MOST_BITS = 14
"""A multiplier of two bits fewer, or less, is too coarse: the sums lose bits first then, so that it gets these."""
_LEAST_SHIFT = 8

_MOST_EXACT = 20
"""Bits that an exact product is shifted by at most: of more, a tie is hardly ever met."""

_CELL = (-128, 127)


class FixedPointError(VTAError, ValueError):
    """Scales, biases or limits that 32 bits do not hold."""


@dataclass(frozen=True, slots=True, eq=False)
class FixedPoint:
    """Products with positive real numbers, one for all channels or one for each.

    ``x`` becomes ``(((x + (1 << narrow >> 1)) >> narrow) * multiplier + (1 << shift >> 1)) >> shift``: nearest numbers,
    halves upwards, or those of the last shift to the even number. ``multiplier`` and ``narrow`` have one number, or one
    a channel.
    """

    multiplier: Wide
    narrow: Wide
    shift: int
    ties_to_even: bool = False

    @classmethod
    def nearest(cls, scales: npt.ArrayLike, *, largest: int = 128) -> Self:
        """Return the numbers that are nearest to ``scales`` where results beyond ``largest`` do not matter.

        Results up to 128 are then at most 1/2 + ``error`` from the exact product: 1/2 + 2**-6, unless ``largest`` and
        the largest scale are more than 2046 together. Scales of more than that bring everything but zero beyond
        ``largest``, and do so with ``largest + 1``. Raises ``FixedPointError``.
        """
        values = np.atleast_1d(np.asarray(scales, np.float64))
        if values.ndim != 1 or not values.size or not (np.isfinite(values) & (values > 0)).all():
            raise FixedPointError(f"a fixed point takes positive scales, one or one for each channel, not {scales!r}")
        values = np.minimum(values, largest + 1)
        # One more than matters, and the step from there to the number after it, must fit as well.
        shift = min(31, math.floor(math.log2((1 << 31) / (largest + 2 + float(values.max())))))
        if shift < _LEAST_SHIFT:
            raise FixedPointError(f"results up to {largest} leave 32 bits no room for fractions; ask for less")
        bits = np.floor(np.log2(values)).astype(np.int64) + 1 + shift
        # Bits that a multiplier lacks and bits that sums lose cost equally much where it has half of the shift's and 4.
        wanted = min(_MOST_BITS, shift // 2 + 4)
        narrow = np.clip(wanted - bits, 0, 31) * (bits < wanted - 1)
        multiplier = np.rint(np.ldexp(values, (shift + narrow).astype(np.int32))).astype(np.int64)
        return cls(multiplier, narrow, shift)

    @classmethod
    def exact(
        cls, scales: npt.ArrayLike, *, others: Sequence[float] = (), largest: int = 128, ties_to_even: bool = True
    ) -> Self | None:
        """Return the fewest bits that make products with ``scales`` exactly; None where there are none.

        ``others`` are scales of residuals, whose multipliers are whole numbers then as well. Such scales are small
        numbers over powers of two, of which 32 bits hold results up to ``largest``; whole ones have no ties, and need
        no such numbers.
        """
        values = [min(float(value), largest + 1.0) for value in np.atleast_1d(np.asarray(scales, np.float64))]
        ratios = [value.as_integer_ratio() for value in (*values, *others)]
        shift = max(denominator.bit_length() - 1 for _, denominator in ratios)
        if not 1 <= shift <= _MOST_EXACT or any(numerator > 2 * largest for numerator, _ in ratios):
            return None
        if (largest + 2 + max(values)) * 2.0 ** (shift + 1) > WORD[1]:
            return None
        multiplier = np.array([math.ldexp(value, shift) for value in values], np.int64)
        return cls(multiplier, np.zeros_like(multiplier), shift, ties_to_even)

    @property
    def error(self) -> float:
        """How far from the exact product, beyond 1/2, results up to 128 are at most; that of ``nearest``."""
        return float(2.0 ** max(-6, 4 - self.shift // 2))

    def of(self, numbers: npt.NDArray[np.integer], axis: int = 1) -> Wide:
        """Return the products of ``numbers``, whose channels lie along ``axis``."""
        shape = [-1 if dimension == axis else 1 for dimension in range(numbers.ndim)]
        multiplier, narrow = self.multiplier.reshape(shape), self.narrow.reshape(shape)
        narrowed = (numbers.astype(np.int64) + (1 << narrow >> 1)) >> narrow
        products = narrowed * multiplier
        half: Wide | int = 1 << self.shift >> 1
        if self.ties_to_even and self.shift:
            half = half - 1 + ((products >> self.shift) & 1)
        result: Wide = (products + half) >> self.shift
        return result

    def first(self, result: int) -> Wide:
        """Return the smallest numbers whose products are ``result`` or more."""
        begin = (result << self.shift) - (1 << self.shift >> 1)
        if self.ties_to_even and self.shift:
            begin += result & 1  # a tie in front of an odd number is the even number's
        least = -(-begin // np.maximum(self.multiplier, 1))
        found: Wide = (least << self.narrow) - (1 << self.narrow >> 1)
        return found

    def last(self, result: int) -> Wide:
        """Return the largest numbers whose products are ``result`` or less."""
        return self.first(result + 1) - 1


@dataclass(frozen=True, slots=True)
class ScaledResidual:
    """An int8 tensor r of the output's shape: ``(r - zero_point) * multiplier`` is added in front of the last shift."""

    multiplier: int
    zero_point: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.multiplier <= WORD[1]:
            raise FixedPointError(f"a residual's multiplier is from 1 to {WORD[1]}, not {self.multiplier}")

    @classmethod
    def nearest(cls, scale: float, shift: int, zero_point: int = 0) -> Self:
        """Return what is nearest to ``scale`` in front of a shift by ``shift``."""
        return cls(round(math.ldexp(scale, shift)), zero_point)

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest number that is added."""
        ends = sorted((cell - self.zero_point) * self.multiplier for cell in _CELL)
        return ends[0], ends[1]


@dataclass(frozen=True, slots=True, eq=False)
class OutputSteps:
    """Steps, and the arrays that they read, in order; after those comes the residual, if there is one."""

    steps: Epilogue
    arrays: tuple[Ints, ...]


def output_steps(
    scale: FixedPoint,
    *,
    bias: npt.ArrayLike | None = None,
    zero_point: int = 0,
    low: int = _CELL[0],
    high: int = _CELL[1],
    residual: ScaledResidual | None = None,
    largest: int = (1 << 30) - 1,
) -> OutputSteps:
    """Return the steps for ``clip(scale.of(x + bias) + zero_point, low, high)``, exact where ``|x| <= largest``.

    With a ``residual``, its product is added to that of ``scale`` before half of the last shift is. Raises
    ``FixedPointError`` for numbers with which 32 bits would not be enough.
    """
    if not low <= zero_point <= high:
        raise FixedPointError(f"the zero point {zero_point} is from low, {low}, to high, {high}")
    biases = np.atleast_1d(np.asarray(0 if bias is None else bias, np.int64))
    return _Output(scale, biases, residual, zero_point, low - zero_point, high - zero_point, largest).steps()


@dataclass(frozen=True, slots=True, eq=False)
class _Output:
    """What ``output_steps`` is asked for; ``low`` and ``high`` are those of the product, without the zero point."""

    scale: FixedPoint
    bias: Wide
    residual: ScaledResidual | None
    zero_point: int
    low: int
    high: int
    largest: int

    @property
    def _added(self) -> tuple[int, int]:
        """The smallest and the largest number that the residual adds."""
        return (0, 0) if self.residual is None else self.residual.range

    @property
    def _half(self) -> int:
        return 1 << self.scale.shift >> 1

    def steps(self) -> OutputSteps:
        """Return the steps."""
        first, last, exact = self._limits()
        scale, chosen = self.scale, _Chosen([], [])
        chosen.limit(first - self.bias, last - self.bias, self.largest)
        first, last = np.maximum(first, self.bias - self.largest), np.minimum(last, self.bias + self.largest)
        if scale.ties_to_even and scale.shift:
            return self._to_even(chosen, first, last, exact=exact)
        self._require_word("the products", *self._products(first, last))
        behind = np.atleast_1d(self._half + (self.zero_point << scale.shift))
        if scale.narrow.any():
            self._require_word("the sums", int(first.min()), int((last + (1 << scale.narrow >> 1)).max()))
            chosen.add(self.bias + (1 << scale.narrow >> 1))
            chosen.shift(scale.narrow)
        else:
            behind = behind + self.bias * scale.multiplier
        chosen.multiply(scale.multiplier)
        if self.residual is not None:
            behind = behind - self.residual.zero_point * self.residual.multiplier
        chosen.add(behind)
        if self.residual is not None:
            chosen.steps.append(Residual(multiplier=self.residual.multiplier))
        if scale.shift:
            chosen.steps.append(ShiftRight(scale.shift))
        if not exact:
            chosen.steps.append(Clip(self.low + self.zero_point, self.high + self.zero_point))
        return OutputSteps(tuple(chosen.steps), tuple(chosen.arrays))

    def _to_even(self, chosen: "_Chosen", first: Wide, last: Wide, *, exact: bool) -> OutputSteps:
        """Return the steps that follow the limits where ties go to the even result."""
        scale, residual = self.scale, self.residual
        least = int((first * scale.multiplier).min()) + self._added[0]
        most = int((last * scale.multiplier).max()) + self._added[1]
        low, high = (least >> scale.shift) - 1, (most >> scale.shift) + 1
        found = even_shift(scale.shift, low, high, self.zero_point)
        lead, before = (found.lead, 0) if found else (1, 1 << scale.shift >> 1)
        chosen.multiply(scale.multiplier * lead)
        behind = self.bias * scale.multiplier * lead + before
        if residual is not None:
            chosen.add(behind - residual.zero_point * residual.multiplier * lead)
            chosen.steps.append(Residual(multiplier=residual.multiplier * lead))
        else:
            chosen.add(behind)
        if found is None:
            self._require_word("the products", least, most + (3 << scale.shift >> 1))
        chosen.steps.extend(_shifted_in_place(found) if found else _shifted_in_two(scale.shift, self.zero_point))
        if not exact:
            chosen.steps.append(Clip(self.low + self.zero_point, self.high + self.zero_point))
        return OutputSteps(tuple(chosen.steps), tuple(chosen.arrays))

    def _limits(self) -> tuple[Wide, Wide, bool]:
        """Return what sums with their biases are limited to, and whether results are never beyond ``low`` and ``high``.

        Beyond these limits a result is the lowest or the highest one, whatever the residual is.
        """
        scale, (least, most) = self.scale, self._added
        first, last = scale.first(self.low), scale.last(self.high)
        if self.residual is None and (scale.of(first, 0) == self.low).all() and (scale.of(last, 0) == self.high).all():
            return first, last, True
        below, above = self.low + (-most >> scale.shift) - 1, self.high - (least >> scale.shift) + 1
        return scale.last(below), scale.first(above), False

    def _products(self, first: Wide, last: Wide) -> tuple[int, int]:
        """Return the smallest and the largest number in front of the last shift."""
        behind = self._half + (self.zero_point << self.scale.shift)
        ends = [
            ((end + (1 << self.scale.narrow >> 1)) >> self.scale.narrow) * self.scale.multiplier
            for end in (first, last)
        ]
        return int(ends[0].min()) + behind + self._added[0], int(ends[1].max()) + behind + self._added[1]

    def _require_word(self, what: str, low: int, high: int) -> None:
        if low < WORD[0] or high > WORD[1]:
            raise FixedPointError(
                f"output steps: {what} go from {low} to {high}, which 32 bits do not hold; take smaller biases, or a "
                "fixed point for a larger 'largest'"
            )


def _shifted_in_place(found: EvenShift) -> tuple[Step, ...]:
    """Return the steps after the first product of a shift to even."""
    return (ShiftRight(found.bits + 1), Multiply(found.factor), Add(found.addend), ShiftRight(found.shift))


def _shifted_in_two(bits: int, zero_point: int) -> tuple[Step, ...]:
    """Return the steps of a shift to even of any number that half of it, ``1 << bits - 1``, was added to.

    The result is the sum of its halves, of which one begins where odd results do, and the other where even ones do.
    """
    lower = zero_point >> 1
    apart = (1 << bits) - 1 + ((zero_point - 2 * lower) << (bits + 1))
    joined = Fork(Joint.ADD, (Add(apart), ShiftRight(bits + 1)), (ShiftRight(bits + 1),))
    return (Add(lower << (bits + 1)), joined)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Steps as they are chosen: with constants where all channels have the same number, else with an array."""

    steps: list[Step]
    arrays: list[Ints]

    def limit(self, low: Wide, high: Wide, largest: int) -> None:
        """Append limits for numbers of magnitude ``largest``; raises ``FixedPointError`` where none is inside."""
        if (low > largest).any() or (high < -largest).any():
            raise FixedPointError(
                f"output steps: with its bias, a channel has the same result for every sum up to {largest}; take "
                "smaller biases"
            )
        if (low > -largest).any():
            self._choose(np.maximum(low, -largest), ChannelMaximum(), lambda value: Clip(value, WORD[1]))
        if (high < largest).any():
            self._choose(np.minimum(high, largest), ChannelMinimum(), lambda value: Clip(WORD[0], value))

    def multiply(self, factors: Wide) -> None:
        """Append a product."""
        self._choose(factors, Scale(), Multiply, nothing=1)

    def add(self, summands: Wide) -> None:
        """Append a sum, which may wrap."""
        wrapped = (summands - WORD[0]) % (1 << 32) + WORD[0]
        self._choose(wrapped, Bias(), Add, nothing=0)

    def shift(self, counts: Wide) -> None:
        """Append a shift to the right."""
        self._choose(counts, ChannelShift(), ShiftRight, nothing=0)

    def _choose(
        self, values: Wide, by_channel: Step, constant: Callable[[int], Step], *, nothing: int | None = None
    ) -> None:
        first = int(values[0])
        if (values != first).any():
            self.steps.append(by_channel)
            self.arrays.append(values.astype(np.int32))
        elif first != nothing:
            self.steps.append(constant(first))
