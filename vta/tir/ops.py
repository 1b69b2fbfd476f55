"""Functions that users build expressions with, under TVM's names: ``tir.all``, ``tir.if_then_else``, ``tir.exp``, ...

They take whatever ``convert`` takes, bring operands to one type, and fold constants. Tests: tests/vta/tir/test_ops.py.
"""

import math
import sys
from collections.abc import Callable, Mapping

import numpy as np

from vta.tir.dtype import BOOL, DType
from vta.tir.expr import (
    NE,
    And,
    Binary,
    Builtin,
    Call,
    Div,
    Equality,
    Expr,
    ExprError,
    ExprLike,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Or,
    Select,
    binary,
    const,
    convert,
    match_types,
)

__all__ = [
    "abs", "all", "any", "ceil", "exp", "floor", "floordiv", "floormod", "if_then_else", "infinity", "likely", "log",
    "max", "max_value", "min", "min_value", "power", "round", "select", "sigmoid", "sqrt", "tanh", "trunc", "truncdiv",
    "truncmod",
]  # fmt: skip

_FLOAT_MAX = {16: 65504.0, 32: 3.4028234663852886e38, 64: sys.float_info.max}


_ONE_BIT = DType("uint1")
"""TVM's other name for bool. Here it is a type of its own, for weights; as a condition it is what is not 0."""


def _condition(name: str, value: ExprLike) -> Expr:
    expr = convert(value)
    if expr.dtype.element == _ONE_BIT:
        return binary(NE, expr, const(0, expr.dtype))
    if expr.dtype.element != BOOL:
        raise ExprError(f"{name} takes conditions (bool), not {expr.dtype}; compare the value with something")
    return expr


def _conjunction(name: str, kind: type[And | Or], args: tuple[ExprLike, ...]) -> Expr:
    if not args:
        raise ExprError(f"{name} needs at least one condition")
    result = _condition(name, args[0])
    for arg in args[1:]:
        result = binary(kind, result, _condition(name, arg))
    return result


def all(*args: ExprLike) -> Expr:  # noqa: A001  # TVM's name
    """Return the condition that every one of ``args`` holds."""
    return _conjunction("tir.all", And, args)


def any(*args: ExprLike) -> Expr:  # noqa: A001  # TVM's name
    """Return the condition that one of ``args`` holds."""
    return _conjunction("tir.any", Or, args)


def infinity(dtype: str) -> Expr:
    """Return the infinity of a type of floats."""
    kind = DType(dtype)
    if not kind.is_float:
        raise ExprError(f"tir.infinity: expected a type of floats, got {kind}")
    return FloatImm(float("inf"), kind)


def likely(cond: ExprLike) -> Expr:
    """Mark ``cond`` as true for almost all iterations; a constant stays as it is."""
    expr = _condition("tir.likely", cond)
    return expr if isinstance(expr, IntImm) else Call(expr.dtype, Builtin.LIKELY, (expr,))


def if_then_else(cond: ExprLike, true_value: ExprLike, false_value: ExprLike) -> Expr:
    """Return ``true_value`` if ``cond`` else ``false_value``; only the chosen one is evaluated."""
    test = _condition("tir.if_then_else", cond)
    x, y = match_types(true_value, false_value)
    if isinstance(test, IntImm):
        return x if test.value else y
    return Call(x.dtype, Builtin.IF_THEN_ELSE, (test, x, y))


def select(condition: ExprLike, true_value: ExprLike, false_value: ExprLike) -> Expr:
    """Return ``true_value`` if ``condition`` else ``false_value``; both may be evaluated."""
    test = _condition("tir.Select", condition)
    x, y = match_types(true_value, false_value)
    if isinstance(test, IntImm):
        return x if test.value else y
    return Select(test, x, y)


def max_value(dtype: str) -> Expr:
    """Return the largest finite value of ``dtype``."""
    kind = DType(dtype)
    return const(_FLOAT_MAX[kind.bits] if kind.is_float else kind.bounds[1], kind)


def min_value(dtype: str) -> Expr:
    """Return the smallest (most negative) finite value of ``dtype``."""
    kind = DType(dtype)
    return const(-_FLOAT_MAX[kind.bits] if kind.is_float else kind.bounds[0], kind)


def max(a: ExprLike, b: ExprLike, *more: ExprLike) -> Expr:  # noqa: A001  # TVM's name
    """Return the largest of two or more values."""
    return _chain(Max, a, b, more)


def min(a: ExprLike, b: ExprLike, *more: ExprLike) -> Expr:  # noqa: A001  # TVM's name
    """Return the smallest of two or more values."""
    return _chain(Min, a, b, more)


def _chain(kind: type[Binary], a: ExprLike, b: ExprLike, more: tuple[ExprLike, ...]) -> Expr:
    result = binary(kind, a, b)
    for value in more:
        result = binary(kind, result, value)
    return result


def _integer_division(name: str, kind: type[Binary], a: ExprLike, b: ExprLike) -> Expr:
    x, y = match_types(a, b)
    if not x.dtype.is_int:
        raise ExprError(f"tir.{name} needs integer operands, not {x.dtype}")
    if isinstance(y, IntImm) and y.value == 0:
        raise ExprError(f"tir.{name} by zero")
    return binary(kind, x, y)


def truncdiv(a: ExprLike, b: ExprLike) -> Expr:
    """Return the quotient of integers rounded towards zero (C's /)."""
    return _integer_division("truncdiv", Div, a, b)


def truncmod(a: ExprLike, b: ExprLike) -> Expr:
    """Return the remainder of integers with the sign of ``a`` (C's %)."""
    return _integer_division("truncmod", Mod, a, b)


def floordiv(a: ExprLike, b: ExprLike) -> Expr:
    """Return the quotient of integers rounded down (Python's //)."""
    return _integer_division("floordiv", FloorDiv, a, b)


def floormod(a: ExprLike, b: ExprLike) -> Expr:
    """Return the remainder of integers with the sign of ``b`` (Python's %)."""
    return _integer_division("floormod", FloorMod, a, b)


def abs(x: ExprLike) -> Expr:  # noqa: A001  # TVM's name
    """Return the absolute value; of the smallest integer, that integer itself (two's complement)."""
    value = _number("abs", x)
    if value.dtype.is_float:
        return Call(value.dtype, Builtin.ABS, (value,))
    return value if value.dtype.kind == "uint" else select(value >= 0, value, -value)


def _number(name: str, x: ExprLike) -> Expr:
    value = convert(x.asexpr() if isinstance(x, Equality) else x)
    if not (value.dtype.is_float or value.dtype.is_int):
        raise ExprError(f"tir.{name} needs a number, not {value.dtype}")
    return value


def _float_call(name: str, op: Builtin, *args: ExprLike) -> Expr:
    values = [_number(name, arg) for arg in args]
    for value in values:
        if not value.dtype.is_float:
            raise ExprError(f"tir.{name} needs a float, not {value.dtype}; convert it with .astype('float32')")
    return Call(values[0].dtype, op, tuple(values))


def exp(x: ExprLike) -> Expr:
    """Return e to the power of ``x`` (a float)."""
    return _float_call("exp", Builtin.EXP, x)


def log(x: ExprLike) -> Expr:
    """Return the natural logarithm of ``x`` (a float)."""
    return _float_call("log", Builtin.LOG, x)


def sqrt(x: ExprLike) -> Expr:
    """Return the square root of ``x`` (a float)."""
    return _float_call("sqrt", Builtin.SQRT, x)


def tanh(x: ExprLike) -> Expr:
    """Return the hyperbolic tangent of ``x`` (a float)."""
    return _float_call("tanh", Builtin.TANH, x)


def sigmoid(x: ExprLike) -> Expr:
    """Return 1 / (1 + exp(-x)) of ``x`` (a float)."""
    return _float_call("sigmoid", Builtin.SIGMOID, x)


def power(x: ExprLike, y: ExprLike) -> Expr:
    """Return ``x`` to the power of ``y`` (floats)."""
    a, b = match_types(x, y)
    return _float_call("power", Builtin.POW, a, b)


def _rounding(name: str, op: Builtin, x: ExprLike) -> Expr:
    value = _number(name, x)
    if isinstance(value, FloatImm) and math.isfinite(value.value):
        return FloatImm(float(_ROUNDED[op](value.value)), value.dtype)
    return Call(value.dtype, op, (value,)) if value.dtype.is_float else value


_ROUNDED: Mapping[Builtin, Callable[[float], float]] = {
    Builtin.FLOOR: np.floor, Builtin.CEIL: np.ceil, Builtin.ROUND: np.rint, Builtin.TRUNC: np.trunc,
}  # fmt: skip


def floor(x: ExprLike) -> Expr:
    """Return the largest integral float that is not above ``x``; an integer as it is."""
    return _rounding("floor", Builtin.FLOOR, x)


def ceil(x: ExprLike) -> Expr:
    """Return the smallest integral float that is not below ``x``; an integer as it is."""
    return _rounding("ceil", Builtin.CEIL, x)


def round(x: ExprLike) -> Expr:  # noqa: A001  # TVM's name
    """Return the integral float nearest to ``x``, ties to even; an integer as it is."""
    return _rounding("round", Builtin.ROUND, x)


def trunc(x: ExprLike) -> Expr:
    """Return ``x`` without its fraction; an integer as it is."""
    return _rounding("trunc", Builtin.TRUNC, x)
