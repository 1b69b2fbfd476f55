"""Sums of numbers at scales of their own, as integers: each times a multiplier, one addend, one rounding shift.

    y = (a * a_multiplier + b * b_multiplier + addend) >> shift,  within the range

The shift is the largest at which the sum is an int32 for all operands, so multipliers of residual adds of 8-bit numbers
have about 22 bits, and the scaled sum is exact to 2**-14 or better. It is rounded once, halves upwards. Where halves
are common (if both scales are half of the result's, say), onnxruntime takes them to the even neighbour: then up to a
quarter of the results are larger by 1 than its. Tests: tests/vta/relay/integer/test_weighted.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ldexp

from vta.relay.integer.scales import Output, checked_scale, fits
from vta.relay.ir.types import RelayError

__all__ = ["Operand", "WeightedSum", "weighted_sum"]

_MOST_SHIFT = 31


@dataclass(frozen=True, slots=True)
class Operand:
    """Numbers from ``low`` to ``high`` that stand for ``(x - zero_point) * scale``, the result's scale being 1.

    ``scale`` may be negative: the operand is subtracted.
    """

    scale: float
    zero_point: int = 0
    low: int = -128
    high: int = 127


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """The multiplier of every operand, the addend and the shift; ``error`` as in ``Requantisation``."""

    multipliers: tuple[int, ...]
    addend: int
    shift: int
    error: float


def weighted_sum(operands: Sequence[Operand], output: Output, *, is_exclusive: bool = False) -> WeightedSum:
    """Return the numbers for the sum of ``operands``; raises ``RelayError`` for scales that leave them no bits.

    ``is_exclusive``: at most one operand differs from its zero point, as the two parts of a leaky ReLU.
    """
    for each in operands:
        checked_scale(abs(each.scale))
    for shift in range(_MOST_SHIFT, -1, -1):
        found = _at(operands, output, shift)
        if _fits(operands, found, output, is_exclusive=is_exclusive):
            return _reduced(found)
    raise RelayError(f"scales {', '.join(str(each.scale) for each in operands)} make sums of more than 32 bits")


def _at(operands: Sequence[Operand], output: Output, shift: int) -> WeightedSum:
    multipliers = tuple(round(ldexp(each.scale, shift)) for each in operands)
    zeros = sum(each.zero_point * factor for each, factor in zip(operands, multipliers, strict=True))
    addend = (output.zero_point << shift) + ((1 << shift) >> 1) - zeros
    error = Fraction(0)
    for each, factor in zip(operands, multipliers, strict=True):
        reach = max(each.high - each.zero_point, each.zero_point - each.low)
        error += reach * abs(Fraction(factor, 1 << shift) - Fraction(each.scale))
    return WeightedSum(multipliers, addend, shift, float(error))


def _fits(operands: Sequence[Operand], found: WeightedSum, output: Output, *, is_exclusive: bool) -> bool:
    """Whether multipliers and every sum are int32; the addend may wrap, and partial sums, too."""
    centre = (output.zero_point << found.shift) + ((1 << found.shift) >> 1)
    parts = [
        sorted(((each.low - each.zero_point) * factor, (each.high - each.zero_point) * factor))
        for each, factor in zip(operands, found.multipliers, strict=True)
    ]
    if is_exclusive:
        low, high = min(min(part[0], 0) for part in parts), max(max(part[1], 0) for part in parts)
    else:
        low, high = sum(part[0] for part in parts), sum(part[1] for part in parts)
    return fits(*found.multipliers, centre + low, centre + high)


def _reduced(found: WeightedSum) -> WeightedSum:
    """Return the same without common factors of two, and with an addend that is an int32."""
    common = found.shift
    for factor in found.multipliers:
        if factor:
            common = min(common, (factor & -factor).bit_length() - 1)
    addend = found.addend >> common
    wrapped = (addend + (1 << 31)) % (1 << 32) - (1 << 31)
    return WeightedSum(
        tuple(factor >> common for factor in found.multipliers), wrapped, found.shift - common, found.error
    )
