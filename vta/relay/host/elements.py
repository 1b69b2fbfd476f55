"""What the host's operators compute of single elements, as expressions: the same numbers as in numpy.

Every operation here is rounded as IEEE 754 says, or is exact, and is done in the order of the numpy operator. So the
results are equal; only which zero the larger of 0 and -0 is depends on the processor in numpy (here it is the second
one, as on x86). What numpy has approximations of its own for (exp, tanh, ...) is not here.
Tests: tests/vta/relay/host/test_elements.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

import numpy as np

from runtime.executor.operators.names import Op
from runtime.executor.operators.types import ElementType
from vta.tir import math_ops, ops
from vta.tir.expr import Expr, const

__all__ = ["ELEMENTS", "Element", "element_of"]

Make: TypeAlias = Callable[[Sequence[Expr], Any, str], Expr]
"""From the operands' elements, attributes and the result's type to the result's element."""


@dataclass(frozen=True, slots=True)
class Element:
    """How an operator makes an element, and how often numpy goes over memory for it, or for as long: ``passes``.

    ``takes`` are the element types of the operands that this is true for; None: any.
    """

    make: Make
    passes: int = 1
    takes: frozenset[ElementType] | None = frozenset((ElementType.FLOAT32, ElementType.FLOAT64))


def element_of(op: Op, types: Sequence[ElementType]) -> Element | None:
    """Return how ``op`` makes an element of operands of ``types``, or None where the numbers might be others."""
    found = ELEMENTS.get(op)
    if found is None or ElementType.FLOAT16 in types:
        return None
    return found if found.takes is None or all(each in found.takes for each in types) else None


# --- the larger, the smaller, within limits: NaN stays NaN ----------------------------------------------------------


def larger(a: Expr, b: Expr) -> Expr:
    """Return the larger one, NaN if either is, and ``b`` if they are equal."""
    return ops.select(ops.any(a > b, math_ops.isnan(a)), a, b)


def _smaller(a: Expr, b: Expr) -> Expr:
    return ops.select(ops.any(a < b, math_ops.isnan(a)), a, b)


def _limited(value: Expr, low: float, high: float) -> Expr:
    if low != -inf:
        value = ops.select(value < _number(low, value), _number(low, value), value)
    if high != inf:
        value = ops.select(value > _number(high, value), _number(high, value), value)
    return value


def _number(number: float, like: Expr) -> Expr:
    """Return a constant as the type of ``like`` holds it, which may be an infinity."""
    with np.errstate(over="ignore"):
        return const(float(np.dtype(str(like.dtype)).type(number)), like.dtype)


def _times(value: Expr, factor: float) -> Expr:
    return value * _number(factor, value)


def _plus(value: Expr, addend: float) -> Expr:
    return value + _number(addend, value)


def _zero(value: Expr) -> Expr:
    return const(0, value.dtype)


# --- one operand ----------------------------------------------------------------------------------------------------


def _sign(value: Expr) -> Expr:
    one, zero = const(1, value.dtype), _zero(value)
    rest = ops.select(math_ops.isnan(value), value, zero)
    return ops.select(value > zero, one, ops.select(value < zero, const(-1, value.dtype), rest))


def _erf(value: Expr) -> Expr:
    return math_ops.erf(value.astype("float64")).astype(str(value.dtype))


def _leaky_relu(values: Sequence[Expr], attrs: Any, _: str) -> Expr:
    [x] = values
    return ops.select(x >= _zero(x), x, _times(x, attrs.alpha))


def _hard_sigmoid(values: Sequence[Expr], attrs: Any, _: str) -> Expr:
    return _limited(_plus(_times(values[0], attrs.alpha), attrs.beta), 0, 1)


def _hard_swish(x: Expr) -> Expr:
    return x * _limited(_plus(_times(x, 1 / 6), 0.5), 0, 1)


def _cast(values: Sequence[Expr], attrs: Any, _: str) -> Expr:
    [value], target = values, ElementType(attrs.dtype)
    if target is ElementType.BOOL:
        return (value != const(0, value.dtype)).asexpr() if str(value.dtype) != "bool" else value
    return _whole(value, target) if value.dtype.is_float and target.is_int else value.astype(str(target))


def _whole(value: Expr, target: ElementType) -> Expr:
    """Return a float cut towards zero as an integer: the nearest one that there is, 0 for NaN."""
    low, high = target.bounds
    wide = value.astype("float64")
    least, beyond = const(float(low), "float64"), const(float(high) + 1, "float64")
    inside = ops.all(wide >= least, wide < beyond)
    cut = ops.select(inside, wide, const(0.0, "float64")).astype(str(target))
    end = ops.select(wide < least, const(low, str(target)), cut)
    return ops.select(wide >= beyond, const(high, str(target)), end)


# --- two operands and more ------------------------------------------------------------------------------------------


def _prelu(values: Sequence[Expr], _: Any, __: str) -> Expr:
    x, slope = values
    return ops.select(x >= _zero(x), x, x * slope)


def _batch_norm(values: Sequence[Expr], attrs: Any, _: str) -> Expr:
    data, gamma, beta, mean, variance = values
    return (data - mean) / ops.sqrt(_plus(variance, attrs.epsilon)) * gamma + beta


def _where(values: Sequence[Expr], _: Any, __: str) -> Expr:
    return ops.select(*values)


# --- integers that stand for real numbers ---------------------------------------------------------------------------


def _quantize(values: Sequence[Expr], attrs: Any, _: str) -> Expr:
    """The numbers of 16 bits and less are exact in float32, and so are differences of them."""
    real, scale, zero = values
    low, high = ElementType(attrs.out_dtype).bounds
    kind = "float64" if attrs.out_dtype == "int32" else "float32"
    steps = ops.round(real / scale).astype(kind)
    steps = ops.select(math_ops.isnan(steps), const(0, kind), steps)
    offset = zero.astype(kind)
    least, most = const(low, kind) - offset, const(high, kind) - offset
    steps = ops.select(steps < least, least, ops.select(steps > most, most, steps))
    return (steps + offset).astype("int64").astype(attrs.out_dtype) if kind == "float64" else _cell(steps, zero, attrs)


def _cell(steps: Expr, zero: Expr, attrs: Any) -> Expr:
    return (steps.astype("int32") + zero.astype("int32")).astype(attrs.out_dtype)


def _dequantize(values: Sequence[Expr], _: Any, __: str) -> Expr:
    data, scale, zero = values
    wide = "int64" if str(data.dtype) == "int32" else "int32"
    return (data.astype(wide) - zero.astype(wide)).astype("float32") * scale


def _rescale(values: Sequence[Expr], attrs: Any, kind: str) -> Expr:
    data, bias, narrow, multiplier, *residual = (value.astype("int64") for value in values)
    one = const(1, "int64")
    total = ((data + bias + ((one << narrow) >> one)) >> narrow) * multiplier
    for each in residual:
        total = total + (each - _word(attrs.residual_zero_point)) * _word(attrs.residual_multiplier)
    half: Expr = _word(1 << attrs.shift >> 1)
    if attrs.ties_to_even and attrs.shift:
        half = half - one + ((total >> _word(attrs.shift)) & one)
    moved = ((total + half) >> _word(attrs.shift)) + _word(attrs.zero_point)
    return _within(moved, attrs).astype(kind)


def _weighted_add(values: Sequence[Expr], attrs: Any, kind: str) -> Expr:
    lhs, rhs = (value.astype("int64") for value in values)
    total = lhs * _word(attrs.lhs_multiplier) + rhs * _word(attrs.rhs_multiplier) + _word(attrs.addend)
    return _within(total.astype("int32").astype("int64") >> _word(attrs.shift), attrs).astype(kind)


def _word(number: int) -> Expr:
    return const(int(number), "int64")


def _within(value: Expr, attrs: Any) -> Expr:
    return ops.max(ops.min(value, _word(attrs.out_max)), _word(attrs.out_min))


# --- the table ------------------------------------------------------------------------------------------------------

_NUMBERS = frozenset(ElementType) - {ElementType.BOOL, ElementType.FLOAT16}
"""Integers wrap around here as in numpy."""


def _of_one(function: Callable[[Expr], Expr], passes: int = 1) -> Element:
    return Element(lambda values, _, __: function(values[0]), passes)


def _of_two(function: Callable[[Expr, Expr], Expr], takes: frozenset[ElementType] | None = None) -> Element:
    return Element(lambda values, _, __: function(values[0], values[1]), takes=takes or _NUMBERS)


def _truth(function: Callable[[Expr, Expr], Any]) -> Element:
    return Element(lambda values, _, __: function(values[0], values[1]).asexpr(), takes=_NUMBERS)


_FLOATS = frozenset((ElementType.FLOAT32, ElementType.FLOAT64))
_BOOLS = frozenset((ElementType.BOOL,))
_CELLS = frozenset((ElementType.INT8, ElementType.UINT8))

ELEMENTS: Mapping[Op, Element] = {
    Op.ABS: _of_one(ops.abs),
    Op.ADD: _of_two(lambda a, b: a + b),
    Op.BATCH_NORM: Element(_batch_norm, 4),
    Op.BIAS_ADD: _of_two(lambda a, b: a + b),
    Op.CAST: Element(_cast, 2, None),
    Op.CEIL: _of_one(ops.ceil),
    Op.CLIP: Element(lambda values, attrs, _: _limited(values[0], attrs.a_min, attrs.a_max)),
    Op.DEQUANTIZE: Element(_dequantize, 4, None),
    Op.DIVIDE: _of_two(lambda a, b: a / b, _FLOATS),
    Op.EQUAL: _truth(lambda a, b: a == b),
    Op.ERF: _of_one(_erf, 800),
    Op.FLOOR: _of_one(ops.floor),
    Op.GREATER: _truth(lambda a, b: a > b),
    Op.GREATER_EQUAL: _truth(lambda a, b: a >= b),
    Op.HARD_SIGMOID: Element(_hard_sigmoid, 3),
    Op.HARD_SWISH: _of_one(_hard_swish, 4),
    Op.LEAKY_RELU: Element(_leaky_relu, 3),
    Op.LESS: _truth(lambda a, b: a < b),
    Op.LESS_EQUAL: _truth(lambda a, b: a <= b),
    Op.LOGICAL_AND: Element(lambda values, _, __: ops.all(*values), takes=_BOOLS),
    Op.LOGICAL_NOT: Element(lambda values, _, __: (values[0] == const(False, "bool")).asexpr(), takes=_BOOLS),
    Op.LOGICAL_OR: Element(lambda values, _, __: ops.any(*values), takes=_BOOLS),
    Op.MAXIMUM: _of_two(larger),
    Op.MINIMUM: _of_two(_smaller),
    Op.MULTIPLY: _of_two(lambda a, b: a * b),
    Op.NEGATIVE: _of_one(lambda x: _times(x, -1)),
    Op.NOT_EQUAL: _truth(lambda a, b: a != b),
    Op.PRELU: Element(_prelu, 3),
    Op.QNN_ADD: Element(_weighted_add, 8, _CELLS),
    Op.QUANTIZE: Element(_quantize, 8, None),
    Op.RELU: Element(lambda values, _, __: larger(values[0], _zero(values[0])), takes=_NUMBERS),
    Op.RESCALE: Element(_rescale, 12, None),
    Op.ROUND: _of_one(ops.round),
    Op.RSQRT: _of_one(lambda x: const(1, x.dtype) / ops.sqrt(x), 2),
    Op.SIGN: _of_one(_sign),
    Op.SQRT: _of_one(ops.sqrt),
    Op.SUBTRACT: _of_two(lambda a, b: a - b),
    Op.WHERE: Element(_where, 1, None),
}
"""How operators make an element, and what numpy takes for it."""
