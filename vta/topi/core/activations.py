"""Activations of int8 numbers as steps: leaky relu, PRelu, hard sigmoid, hard swish, from one scale to another.

A number q stands for ``(q - zero_point) * scale``. The steps follow on numbers from -128 to 127, and give the result in
int8, saturated, at most 1/2 + 2**-6 from the exact one, for all scales, zero points and parameters. Slopes that bring
the neighbours of zero to both ends are as good as any steeper one, and are limited to that. Where a formula in 32 bits
comes less near, because its terms are far larger than results are, the 256 numbers are a polyline instead, exactly.
Tests: tests/vta/topi/core/test_activations.py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vta.topi.core.epilogue import Add, Clip, Epilogue, Fork, Joint, Multiply, Relu, Scale, ShiftRight, Step, applied
from vta.topi.core.epilogue_steps import WORD
from vta.topi.core.fixed_point import FixedPointError, OutputSteps
from vta.topi.core.table_steps import table_steps

__all__ = ["Quantisation", "hard_sigmoid", "hard_swish", "leaky_relu", "linear", "prelu"]

_CELL = (-128, 127)
_MOST_SHIFT = 30
_STEEPEST = 256
"""Numbers a step: the neighbours of zero are at 127 or -128 then, wherever the zero point of the result is."""
_FLOAT32 = 2.0**128
"""What parameters of networks are below."""
_NEAR = 0.5 + 2**-6
_ANY_COUNT = 1 << 12
"""More operations than any polyline through 256 numbers takes."""

Reals: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Quantisation:
    """What int8 numbers stand for: a positive float32, and a zero point that is one of them."""

    scale: float
    zero_point: int = 0

    def __post_init__(self) -> None:
        if not 2.0**-149 <= self.scale < _FLOAT32:
            raise FixedPointError(f"a quantisation has a positive scale that float32 holds, not {self.scale!r}")
        if not _CELL[0] <= self.zero_point <= _CELL[1]:
            raise FixedPointError(f"a zero point is from -128 to 127, not {self.zero_point}")

    @property
    def reach(self) -> int:
        """The largest magnitude of ``q - zero_point``."""
        return max(self.zero_point - _CELL[0], _CELL[1] - self.zero_point)


def linear(source: Quantisation, target: Quantisation) -> Epilogue:
    """Return the steps for x itself."""
    ratio = _limited(source.scale / target.scale)
    shift = _shift(2 * source.reach * ratio, target)
    whole = round(math.ldexp(ratio, shift))
    return (Multiply(whole), *_rounded(shift, target, -source.zero_point * whole))


def leaky_relu(source: Quantisation, target: Quantisation, slope: float) -> Epilogue:
    """Return the steps for x where x is positive, and ``x * slope`` elsewhere."""
    _require_float32("leaky_relu", slope=slope)
    ratio = source.scale / target.scale
    above, below = _limited(ratio), _limited(ratio * slope)
    shift = _shift(source.reach * max(above, abs(below)), target)
    whole, part = round(math.ldexp(above, shift)), round(math.ldexp(below, shift))
    joint = Joint.MAXIMUM if part <= whole else Joint.MINIMUM
    return (*_centred(source), Fork(joint, (Multiply(part),), (Multiply(whole),)), *_rounded(shift, target))


def prelu(source: Quantisation, target: Quantisation, slopes: npt.ArrayLike) -> OutputSteps:
    """Return the same with a slope for each channel, and the array of them that the steps read."""
    values = np.asarray(slopes, np.float64).reshape(-1)
    if not values.size or not np.isfinite(values).all():
        raise FixedPointError(f"prelu takes a slope for each channel, not {slopes!r}")
    ratio = source.scale / target.scale
    above, below = _limited(ratio), np.array([_limited(ratio * value) for value in values.tolist()])
    shift = _shift(source.reach * max(above, float(np.abs(below).max())), target)
    whole, parts = round(math.ldexp(above, shift)), np.rint(np.ldexp(below, shift)).astype(np.int32)
    if (parts <= whole).all():
        fork = Fork(Joint.MAXIMUM, (Scale(),), (Multiply(whole),))
    else:
        fork = Fork(Joint.ADD, (Clip(WORD[0], 0), Scale()), (Relu(), Multiply(whole)))
    return OutputSteps((*_centred(source), fork, *_rounded(shift, target)), (parts,))


def hard_sigmoid(source: Quantisation, target: Quantisation, *, slope: float = 0.2, offset: float = 0.5) -> Epilogue:
    """Return the steps for ``clip(x * slope + offset, 0, 1)``."""
    _require_float32("hard_sigmoid", slope=slope, offset=offset)

    def exact(x: Reals) -> Reals:
        return np.clip(x * slope + offset, 0, 1)

    def formula() -> Epilogue | None:
        ratio, start = source.scale * slope / target.scale, offset / target.scale
        shift = _shift(source.reach * abs(ratio) + abs(start), target)
        if shift < 1:
            return None
        zero = round(math.ldexp(start - ratio * source.zero_point, shift))
        low = _saturated(target.zero_point)
        high = _saturated(target.zero_point + round(min(1 / target.scale, _STEEPEST)))
        *sums, _ = _rounded(shift, target, zero)
        return (Multiply(round(math.ldexp(ratio, shift))), *sums, Clip(low, high))

    return _nearest(formula(), source, target, exact)


def hard_swish(source: Quantisation, target: Quantisation, *, slope: float = 1 / 6, offset: float = 0.5) -> Epilogue:
    """Return the steps for ``x * clip(x * slope + offset, 0, 1)``."""
    _require_float32("hard_swish", slope=slope, offset=offset)

    def exact(x: Reals) -> Reals:
        return x * np.clip(x * slope + offset, 0, 1)

    def formula() -> Epilogue | None:
        ratio, gain = source.scale / target.scale, source.scale * slope
        # The gate goes up to the ratio of the scales, so that its product with x needs no multiplication any more.
        shift = _shift(source.reach * ratio * max(1.0, source.reach * abs(gain) + abs(offset)), target)
        if shift < 1:
            return None
        top = math.ldexp(ratio, shift)
        gate = (Multiply(round(top * gain)), Add(round(top * offset)), Clip(0, round(top)))
        return (*_centred(source), Fork(Joint.MULTIPLY, gate), *_rounded(shift, target))

    return _nearest(formula(), source, target, exact)


def _nearest(
    formula: Epilogue | None, source: Quantisation, target: Quantisation, exact: Callable[[Reals], Reals]
) -> Epilogue:
    """Return ``formula`` if it comes near enough to ``exact`` for every number, else a polyline through them all."""
    cells = np.arange(_CELL[0], _CELL[1] + 1)
    x: Reals = (cells - source.zero_point) * np.float64(source.scale)
    reals = exact(x) / target.scale
    wanted = np.clip(reals + target.zero_point, *_CELL)
    if formula is not None and np.abs(applied(cells.reshape(1, -1), formula, ()) - wanted).max() <= _NEAR:
        return formula
    return table_steps(np.floor(wanted + 0.5).astype(np.int64), most=_ANY_COUNT)


def _require_float32(name: str, **parameters: float) -> None:
    for parameter, value in parameters.items():
        if not abs(value) < _FLOAT32:
            raise FixedPointError(f"{name} takes {parameter} as a number that float32 holds, not {value!r}")


def _limited(slope: float) -> float:
    return min(max(slope, -_STEEPEST), _STEEPEST)


def _shift(reach: float, target: Quantisation) -> int:
    """Return the largest shift at which results up to ``reach``, zero point and half included, fit 32 bits."""
    return min(math.floor(math.log2(WORD[1] / (reach + abs(target.zero_point) + 2))), _MOST_SHIFT)


def _centred(source: Quantisation) -> tuple[Step, ...]:
    return (Add(-source.zero_point),) if source.zero_point else ()


def _rounded(shift: int, target: Quantisation, summand: int = 0) -> tuple[Step, ...]:
    """Return the steps that add ``summand``, shift to the nearest number, add the zero point, and saturate."""
    behind = summand + (1 << (shift - 1)) + (target.zero_point << shift)
    return (Add(behind), ShiftRight(shift), Clip(*_CELL))


def _saturated(number: int) -> int:
    return min(max(number, _CELL[0]), _CELL[1])
