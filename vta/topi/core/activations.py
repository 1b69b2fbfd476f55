"""Activations of int8 numbers as steps: leaky relu, PRelu, hard sigmoid, hard swish, from one scale to another.

A number q stands for ``(q - zero_point) * scale``. The steps follow on numbers from -128 to 127, and give the result in
int8, saturated, at most 1/2 + 2**-6 from the exact one. Tests: tests/vta/topi/core/test_activations.py.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vta.topi.core.epilogue import Add, Clip, Epilogue, Fork, Joint, Multiply, Relu, Scale, ShiftRight, Step
from vta.topi.core.epilogue_steps import WORD
from vta.topi.core.fixed_point import FixedPointError, OutputSteps

__all__ = ["Quantisation", "hard_sigmoid", "hard_swish", "leaky_relu", "prelu"]

_CELL = (-128, 127)
_MOST_SHIFT = 30


@dataclass(frozen=True, slots=True)
class Quantisation:
    """What int8 numbers stand for; the zero point is one of them."""

    scale: float
    zero_point: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.scale < math.inf:
            raise FixedPointError(f"a quantisation has a positive scale, not {self.scale!r}")
        if not _CELL[0] <= self.zero_point <= _CELL[1]:
            raise FixedPointError(f"a zero point is from -128 to 127, not {self.zero_point}")

    @property
    def reach(self) -> int:
        """The largest magnitude of ``q - zero_point``."""
        return max(self.zero_point - _CELL[0], _CELL[1] - self.zero_point)


def leaky_relu(source: Quantisation, target: Quantisation, slope: float) -> Epilogue:
    """Return the steps for x where x is positive, and ``x * slope`` elsewhere."""
    ratio = source.scale / target.scale
    shift = _largest_shift(source.reach * ratio * max(1.0, abs(slope)), target)
    whole, part = round(math.ldexp(ratio, shift)), round(math.ldexp(ratio * slope, shift))
    joint = Joint.MAXIMUM if part <= whole else Joint.MINIMUM
    return (*_centred(source), Fork(joint, (Multiply(part),), (Multiply(whole),)), *_rounded(shift, target))


def prelu(source: Quantisation, target: Quantisation, slopes: npt.ArrayLike) -> OutputSteps:
    """Return the same with a slope for each channel, and the array of them that the steps read."""
    values = np.asarray(slopes, np.float64).reshape(-1)
    if not values.size or not np.isfinite(values).all():
        raise FixedPointError(f"prelu takes a slope for each channel, not {slopes!r}")
    ratio = source.scale / target.scale
    shift = _largest_shift(source.reach * ratio * max(1.0, float(np.abs(values).max())), target)
    whole, parts = round(math.ldexp(ratio, shift)), np.rint(np.ldexp(ratio * values, shift)).astype(np.int32)
    if (parts <= whole).all():
        fork = Fork(Joint.MAXIMUM, (Scale(),), (Multiply(whole),))
    else:
        fork = Fork(Joint.ADD, (Clip(WORD[0], 0), Scale()), (Relu(), Multiply(whole)))
    return OutputSteps((*_centred(source), fork, *_rounded(shift, target)), (parts,))


def hard_sigmoid(source: Quantisation, target: Quantisation, *, slope: float = 0.2, offset: float = 0.5) -> Epilogue:
    """Return the steps for ``clip(x * slope + offset, 0, 1)``."""
    ratio, start = source.scale * slope / target.scale, offset / target.scale
    shift = _largest_shift(source.reach * abs(ratio) + abs(start), target)
    zero = round(math.ldexp(start - ratio * source.zero_point, shift))
    low, high = _saturated(target.zero_point), _saturated(target.zero_point + round(1 / target.scale))
    *sums, _ = _rounded(shift, target, zero)
    return (Multiply(round(math.ldexp(ratio, shift))), *sums, Clip(low, high))


def hard_swish(source: Quantisation, target: Quantisation, *, slope: float = 1 / 6, offset: float = 0.5) -> Epilogue:
    """Return the steps for ``x * clip(x * slope + offset, 0, 1)``."""
    ratio = source.scale / target.scale
    gain = source.scale * slope
    # The gate goes up to the ratio of the scales, so that its product with x needs no multiplication any more.
    shift = _largest_shift(source.reach * ratio * max(1.0, source.reach * abs(gain) + abs(offset)), target)
    top = math.ldexp(ratio, shift)
    gate = (Multiply(round(top * gain)), Add(round(top * offset)), Clip(0, round(top)))
    return (*_centred(source), Fork(Joint.MULTIPLY, gate), *_rounded(shift, target))


def _largest_shift(reach: float, target: Quantisation) -> int:
    """Return the largest shift at which results up to ``reach``, zero point and half included, fit 32 bits."""
    shift = math.floor(math.log2(WORD[1] / (reach + abs(target.zero_point) + 2)))
    if shift < 1:
        raise FixedPointError(f"results go up to {reach:.0f} steps of the target's scale; give it a larger scale")
    return min(shift, _MOST_SHIFT)


def _centred(source: Quantisation) -> tuple[Step, ...]:
    return (Add(-source.zero_point),) if source.zero_point else ()


def _rounded(shift: int, target: Quantisation, summand: int = 0) -> tuple[Step, ...]:
    """Return the steps that add ``summand``, shift to the nearest number, add the zero point, and saturate."""
    behind = summand + (1 << (shift - 1)) + (target.zero_point << shift)
    return (Add(behind), ShiftRight(shift), Clip(*_CELL))


def _saturated(number: int) -> int:
    return min(max(number, _CELL[0]), _CELL[1])
