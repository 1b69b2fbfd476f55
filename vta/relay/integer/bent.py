"""Functions of a layer's sums that no quantisation comes before: leaky relu, PRelu, hard sigmoid, hard swish.

A hard sigmoid is other sums within limits. A leaky relu is the larger one of two requantisations (the smaller one for
slopes above 1), since rounding is monotonous::

    %1 = qnn.rescale(%sums, ...)    at the scale
    %2 = qnn.rescale(%sums, ...)    at the scale times the slope
    %3 = maximum(%1, %2)

A hard swish is a product of two numbers of 15 bits or so, whose scale is chosen so that a shift is left::

    %1 = qnn.rescale(%sums, ..., out_dtype="int32")
    %2 = qnn.rescale(%1, offset, 0, 1, out_min=0, out_max=top, out_dtype="int32")
    %3 = multiply(%1, %2)
    %4 = qnn.rescale(%3, 0, 0, 1, shift=...)

Both are at most 1/2 + 2**-6 from the exact number; where 32 bits are not enough for that, the function stays real.
Tests: tests/vta/relay/integer/test_bent.py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.elementwise import HardSigmoidAttrs, SlopeAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.saturating import RescaleAttrs
from vta.relay.integer import layers, pointwise
from vta.relay.integer.scaling import Target, along, rescaled
from vta.relay.integer.values import Gated, Leaky, Reals, Sums, Term, Value
from vta.relay.integer.weights import known
from vta.relay.ir.nodes import Call, Expr, constant, tensor_type
from vta.relay.ir.origin import merged
from vta.relay.ops.call import call, with_args
from vta.topi.core.fixed_point import FixedPoint

__all__ = ["hard_sigmoid", "hard_swish", "leaky_relu", "prelu", "product", "rescaled_bent", "scaled"]

_CELL = (-128, 127)
_NEAR = 0.5 + 2.0**-6
_MOST_PRODUCT = (1 << 30) - 1
_BITS = 15
"""Of a multiplier of numbers finer than cells."""
_SAME = 1e-5
"""How far float32 scales and offsets of one function are apart, relatively."""


def leaky_relu(expr: Call, arguments: list[Value]) -> Value | None:
    """Return a leaky relu of cells as a function of them, of sums as two slopes."""
    assert isinstance(expr.attrs, SlopeAttrs)
    return pointwise.applied(expr, arguments) or _leaky(expr, arguments, np.array([float(expr.attrs.alpha)]))


def prelu(expr: Call, arguments: list[Value]) -> Value | None:
    """Return the same with a slope for each channel."""
    assert isinstance(expr.attrs, AxisAttrs)
    slopes = known(expr.args[1])
    if slopes is None or expr.attrs.axis % tensor_type(expr).rank != 1:
        return pointwise.applied(expr, arguments)
    return pointwise.applied(expr, arguments) or _leaky(expr, arguments, slopes.astype(np.float64).reshape(-1))


def _leaky(expr: Call, arguments: list[Value], slopes: Reals) -> Value | None:
    sums = _free_sums(arguments[0])
    if sums is None or (slopes.size > 1 and sums.axis != 1) or not (slopes > 0).all():
        return None
    if not ((slopes <= 1).all() or (slopes >= 1).all()):
        return None
    return Value(_whole(expr, arguments), bent=Leaky(_named(sums, expr), slopes))


def hard_sigmoid(expr: Call, arguments: list[Value]) -> Value | None:
    """Return a hard sigmoid of cells as a function of them, of sums as other sums within limits."""
    attrs, table, sums = expr.attrs, pointwise.applied(expr, arguments), _free_sums(arguments[0])
    assert isinstance(attrs, HardSigmoidAttrs)
    if table is not None or sums is None or attrs.alpha <= 0:
        return table
    moved = _scaled(_named(sums, expr), np.array([attrs.alpha]))
    return layers.of_sums(replace(moved, offset=moved.offset + attrs.beta, low=0.0, high=1.0), expr.origins)


def hard_swish(expr: Call, arguments: list[Value]) -> Value | None:
    """Return a hard swish of cells as a function of them, of sums as gated ones."""
    table, sums = pointwise.applied(expr, arguments), _free_sums(arguments[0])
    if table is not None or sums is None:
        return table
    return Value(_whole(expr, arguments), bent=Gated(_named(sums, expr), 1 / 6, 0.5, 1.0))


def product(expr: Call, arguments: list[Value]) -> Value | None:
    """Return a product of sums and the same sums, scaled and within limits from zero on; None for others."""
    if tensor_type(expr.args[0]) != tensor_type(expr.args[1]):
        return None
    for one, other in ((0, 1), (1, 0)):
        sums, gate = _free_sums(arguments[one]), arguments[other].sums
        found = None if sums is None or gate is None else _gate(sums, gate)
        if found is not None:
            origins = merged((found.sums.origins, expr.origins))
            return Value(_whole(expr, arguments), bent=replace(found, sums=replace(found.sums, origins=origins)))
    return None


def scaled(expr: Call, arguments: list[Value], which: int, factor: Reals) -> Value | None:
    """Return a hard swish, operand ``which``, times a positive constant; None for anything else."""
    gated = arguments[which].bent
    if not isinstance(gated, Gated) or factor.size != 1 or not (factor > 0).all():
        return None
    total = gated.factor * float(factor.reshape(()))
    return Value(_whole(expr, arguments), bent=replace(gated, sums=_named(gated.sums, expr), factor=total))


def _gate(sums: Sums, gate: Sums) -> Gated | None:
    """Return ``sums * gate`` if the gate is a function of the sums."""
    if sums.term is None or gate.term is None or gate.term.expr is not sums.term.expr or gate.cells:
        return None
    slopes = gate.term.scale / sums.term.scale
    offsets = gate.offset - slopes * sums.offset
    slope, offset = float(slopes[0]), float(offsets[0])
    is_one = np.abs(slopes - slope).max() <= _SAME * slope and np.abs(offsets - offset).max() <= _SAME
    if not is_one or gate.low != 0 or not 0 < gate.high < inf:
        return None
    return Gated(replace(sums, origins=merged((sums.origins, gate.origins))), slope, offset, gate.high)


def _free_sums(value: Value) -> Sums | None:
    """Return a value as sums of a layer alone, without limits."""
    sums = value.sums
    return None if sums is None or sums.term is None or sums.cells or sums.is_limited else sums


def _named(sums: Sums, expr: Call) -> Sums:
    return replace(sums, origins=merged((sums.origins, expr.origins)))


def _whole(expr: Call, arguments: list[Value]) -> Callable[[], Expr]:
    return lambda: with_args(expr, [argument.expr for argument in arguments])


def _scaled(sums: Sums, factors: Reals) -> Sums:
    assert sums.term is not None
    return replace(sums, term=Term(sums.term.expr, sums.term.scale * factors), offset=sums.offset * factors)


@dataclass(frozen=True, slots=True)
class _Gate:
    """``(x * clip(x + offset, 0, top)) >> shift`` to the nearest number, for x up to ``most``."""

    most: int
    offset: int
    top: int
    shift: int

    @property
    def fits(self) -> bool:
        """Whether 32 bits hold all of it."""
        small = 1 <= self.most < 1 << 24 and self.shift >= 1 and abs(self.offset) < 1 << 28
        return small and self.top >= 1 and self.most * self.top <= _MOST_PRODUCT

    def of(self, x: Reals) -> Reals:
        """Return what it makes of whole numbers."""
        product = x * np.clip(x + self.offset, 0, self.top)
        nearest: Reals = np.floor((product + 2.0 ** (self.shift - 1)) / 2.0**self.shift)
        return nearest


# --- integers -------------------------------------------------------------------------------------------------------


def rescaled_bent(value: Leaky | Gated, target: Target) -> Expr | None:
    """Return the cells of a function of sums, or None where 32 bits do not hold it."""
    match value:
        case Leaky():
            return _two_slopes(value, target)
        case Gated():
            return _gated(value, target)


def _two_slopes(value: Leaky, target: Target) -> Expr | None:
    inner = Target(target.scale, target.zero)  # neither of them is what the model's node quantises
    sides = [rescaled(value.sums, inner), rescaled(_scaled(value.sums, value.slopes), inner)]
    if sides[0] is None or sides[1] is None:
        return None
    op = Op.MAXIMUM if (value.slopes <= 1).all() else Op.MINIMUM
    return call(op, (sides[0], sides[1]), None, merged((value.sums.origins, target.origins)))


def _gated(value: Gated, target: Target) -> Expr | None:
    """Return ``(x * clip(x + offset, 0, top)) >> shift``, where x are the sums at a scale that makes this right."""
    term, weight = value.sums.term, value.slope * value.factor / target.scale
    assert term is not None
    if not 2.0**-100 < weight < 2.0**100 or not 2.0**-100 < value.slope < 2.0**100:
        return None
    # Beyond this, a result is saturated, or zero.
    most = 128 - target.zero
    ends = (abs(value.offset), abs(value.top - value.offset), most * value.slope**2 / (weight * value.top))
    reach, top = max(ends) / value.slope, value.top / value.slope
    shift = min(30, math.floor(math.log2(_MOST_PRODUCT / (reach * top * weight))))
    fine = math.sqrt(2.0**-shift / weight)
    gate = _Gate(math.floor(reach / fine), round(value.offset / value.slope / fine), round(top / fine), shift)
    if not gate.fits or term.scale.max() / fine > gate.most:
        return None
    fixed = _finest(term.scale / fine, gate.most)
    finer = _finer(value.sums, term, fixed, gate.most)
    if finer is None or not _is_near(value, target, fine, gate, _deviation(fixed, term.scale / fine)):
        return None
    origins = merged((value.sums.origins, target.origins))
    attrs = RescaleAttrs(out_min=0, out_max=gate.top, out_dtype="int32")
    opened = call(Op.RESCALE, (finer, *_words(gate.offset, 0, 1)), attrs, origins)
    result = call(Op.MULTIPLY, (finer, opened), None, origins)
    last = RescaleAttrs(shift=gate.shift, zero_point=target.zero)
    return call(Op.RESCALE, (result, *_words(0, 0, 1)), last, origins)


def _words(*numbers: int) -> list[Expr]:
    return [constant(number, "int32") for number in numbers]


def _finest(scales: Reals, most: int) -> FixedPoint:
    """Return products with ``scales`` up to ``most``: 15 bits of the multiplier, and the rest for sums."""
    shift = math.floor(math.log2((1 << 31) / (most + 2 + float(scales.max()))))
    bits = np.floor(np.log2(scales)).astype(np.int64) + 1 + shift
    narrow = np.clip(_BITS - bits, 0, 31)
    multiplier = np.rint(np.ldexp(scales, (shift + narrow).astype(np.int32))).astype(np.int64)
    return FixedPoint(multiplier, narrow, shift)


def _deviation(fixed: FixedPoint, scales: Reals) -> tuple[float, float]:
    """Return how far products are from the exact ones at most: a number, and a part of the product."""
    made = np.ldexp(fixed.multiplier.astype(np.float64), -(fixed.shift + fixed.narrow).astype(np.int32))
    narrowed = np.where(fixed.narrow > 0, np.ldexp(scales, (fixed.narrow - 1).astype(np.int32)), 0)
    return 0.5 + float(narrowed.max()), float(np.abs(made / scales - 1).max())


def _is_near(value: Gated, target: Target, fine: float, gate: _Gate, deviation: tuple[float, float]) -> bool:
    """Return whether results are near enough for numbers all over the range, however they were rounded."""
    x: Reals = np.unique(np.rint(np.linspace(-gate.most, gate.most, 4001)))
    made = np.clip(gate.of(x) + target.zero, *_CELL)
    off = deviation[0] + np.abs(x) * deviation[1]
    for real in ((x - off) * fine, (x + off) * fine):
        exact = real * np.clip(real * value.slope + value.offset, 0, value.top) * value.factor / target.scale
        if np.abs(made - np.clip(exact + target.zero, *_CELL)).max() > _NEAR:
            return False
    return True


def _finer(sums: Sums, term: Term, fixed: FixedPoint, most: int) -> Expr | None:
    """Return the sums as products of ``fixed``, within ``most``."""
    bias = np.rint(sums.offset / term.scale)
    if (np.abs(bias) >= 1 << 30).any():
        return None
    rank = tensor_type(term.expr).rank
    tables = [along(values, sums.axis, rank) for values in (bias, fixed.narrow, fixed.multiplier)]
    attrs = RescaleAttrs(out_min=-most, out_max=most, out_dtype="int32", shift=fixed.shift)
    return call(Op.RESCALE, (term.expr, *tables), attrs, sums.origins)
