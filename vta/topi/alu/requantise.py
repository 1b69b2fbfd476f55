"""Multiplying by a real scale in 32-bit integers: a multiplier, a shift, and the nearest number, halves upwards.

``x * scale`` becomes ``(x * multiplier + (1 << (shift - 1))) >> shift``, with the largest shift at which nothing
overflows for ``|x| <= largest``, and the multiplier that is then nearest. Numbers of more than 16 bits are shifted to
16 first, rounded as well, so that the multiplier has 14 bits or more. A power of two is a shift alone.
Tests: tests/vta/topi/alu/test_requantise.py.
"""

import math
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from vta.topi.alu.elementwise import Elementwise
from vta.topi.core.epilogue import Bias, ChannelShift, Clip, Epilogue, Requantise, RoundingShift, Scale, ShiftLeft, Step
from vta.topi.core.operator import OperatorError

__all__ = ["ChannelScales", "channel_scales", "requantise", "scale_steps"]

_WORD = (1 << 31) - 1
_LARGEST = (1 << 30) - 1
_DATA_BITS = 16
"""Bits, without the sign, that a number may have in front of its multiplication."""

_MOST_SHIFT = 31


@dataclass(frozen=True, slots=True, eq=False)
class ChannelScales:
    """Steps that multiply every channel by a scale of its own, and the arrays that they read, in order."""

    steps: Epilogue
    arrays: tuple[npt.NDArray[np.int32], ...]


def requantise(shape: tuple[int, ...], scale: float, largest: int = _LARGEST) -> Elementwise:
    """Return the operator that makes saturated int8 of int32 numbers up to ``largest``."""
    return Elementwise(shape, (*scale_steps(scale, largest), Clip(-128, 127)), "int32")


def scale_steps(scale: float, largest: int = _LARGEST) -> Epilogue:
    """Return the steps for ``x * scale`` where ``|x| <= largest``; raises ``OperatorError``.

    Results below 2**8 are at most 1/2 + 2**-6 from the exact product.
    """
    _check(scale, largest)
    mantissa, exponent = math.frexp(scale)
    if mantissa == 0.5 and exponent >= 1 and largest << (exponent - 1) <= _WORD:
        return (ShiftLeft(exponent - 1),) if exponent > 1 else ()
    if mantissa == 0.5 and 1 <= 1 - exponent <= _MOST_SHIFT:
        return (RoundingShift(1 - exponent),)
    spare = max(0, largest.bit_length() - _DATA_BITS)
    return (*_narrowed(spare), Requantise(*_nearest(scale, spare, largest)))


def channel_scales(scales: npt.ArrayLike, largest: int = _LARGEST) -> ChannelScales:
    """Return the same for one scale a channel: multiplied, rounded, shifted."""
    values = [float(scale) for scale in np.asarray(scales).reshape(-1)]
    if not values:
        raise OperatorError("channel_scales takes one scale for each channel, not none")
    for value in values:
        _check(value, largest)
    spare = max(0, largest.bit_length() - _DATA_BITS)
    pairs = [_nearest(value, spare, largest) for value in values]
    multipliers = np.array([multiplier for multiplier, _ in pairs], np.int32)
    shifts = np.array([shift for _, shift in pairs], np.int32)
    halves = np.array([1 << shift >> 1 for _, shift in pairs], np.int32)
    return ChannelScales((*_narrowed(spare), Scale(), Bias(), ChannelShift()), (multipliers, halves, shifts))


def _narrowed(spare: int) -> tuple[Step, ...]:
    return (RoundingShift(spare),) if spare else ()


def _nearest(scale: float, spare: int, largest: int) -> tuple[int, int]:
    """Return multiplier and shift for numbers up to ``largest`` that lost ``spare`` bits."""
    bound = (largest + (1 << spare >> 1)) >> spare
    for shift in range(_MOST_SHIFT, -1, -1):
        multiplier = round(math.ldexp(scale, spare + shift))
        if bound * multiplier + (1 << shift >> 1) <= _WORD:
            return multiplier, shift
    raise OperatorError(f"a scale of {scale} makes numbers of more than 32 bits of {largest}; give a smaller largest=")


def _check(scale: float, largest: int) -> None:
    if not isinstance(scale, Real) or not 0 < scale < math.inf:
        raise OperatorError(f"a scale is a positive number, not {scale!r}")
    if not isinstance(largest, Integral) or not 1 <= int(largest) <= _LARGEST:
        raise OperatorError(f"largest is from 1 to {_LARGEST}, not {largest!r}")
