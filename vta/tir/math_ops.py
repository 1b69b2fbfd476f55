"""More functions of floats, under TVM's names: ``tir.erf``, ``tir.sin``, ``tir.log2``, ``tir.isnan``, ...

They are the C library's (or LLVM's) functions, on every lane of a vector. Tests: tests/vta/tir/test_math_ops.py.
"""

from __future__ import annotations

import math

from vta.tir.dtype import BOOL, FLOAT32, DType
from vta.tir.expr import Builtin, Call, Equality, Expr, ExprError, ExprLike, IntImm, binary, const, convert, match_types
from vta.tir.expr.arithmetic import EQ, And, Div
from vta.tir.ops import abs as absolute
from vta.tir.ops import power, sqrt

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "clz", "copysign", "cos", "cosh", "erf", "exp2",
    "exp10", "fmod", "hypot", "isfinite", "isinf", "isnan", "log1p", "log2", "log10", "nearbyint", "nextafter",
    "popcount", "q_multiply_shift", "reinterpret", "rsqrt", "sin", "sinh", "tan",
]  # fmt: skip


def _float(name: str, x: ExprLike) -> Expr:
    value = convert(x.asexpr() if isinstance(x, Equality) else x)
    if not value.dtype.is_float:
        raise ExprError(f"tir.{name} needs a float, not {value.dtype}; convert it with .astype('float32')")
    return value


def _one(name: str, op: Builtin, x: ExprLike) -> Expr:
    value = _float(name, x)
    return Call(value.dtype, op, (value,))


def _two(name: str, op: Builtin, x: ExprLike, y: ExprLike) -> Expr:
    a, b = match_types(x, y)
    return Call(a.dtype, op, (_float(name, a), _float(name, b)))


def erf(x: ExprLike) -> Expr:
    """Return the error function of ``x``."""
    return _one("erf", Builtin.ERF, x)


def sin(x: ExprLike) -> Expr:
    """Return the sine of ``x``, an angle in radians."""
    return _one("sin", Builtin.SIN, x)


def cos(x: ExprLike) -> Expr:
    """Return the cosine of ``x``, an angle in radians."""
    return _one("cos", Builtin.COS, x)


def tan(x: ExprLike) -> Expr:
    """Return the tangent of ``x``, an angle in radians."""
    return _one("tan", Builtin.TAN, x)


def asin(x: ExprLike) -> Expr:
    """Return the angle whose sine is ``x``."""
    return _one("asin", Builtin.ASIN, x)


def acos(x: ExprLike) -> Expr:
    """Return the angle whose cosine is ``x``."""
    return _one("acos", Builtin.ACOS, x)


def atan(x: ExprLike) -> Expr:
    """Return the angle whose tangent is ``x``."""
    return _one("atan", Builtin.ATAN, x)


def sinh(x: ExprLike) -> Expr:
    """Return the hyperbolic sine of ``x``."""
    return _one("sinh", Builtin.SINH, x)


def cosh(x: ExprLike) -> Expr:
    """Return the hyperbolic cosine of ``x``."""
    return _one("cosh", Builtin.COSH, x)


def asinh(x: ExprLike) -> Expr:
    """Return the number whose hyperbolic sine is ``x``."""
    return _one("asinh", Builtin.ASINH, x)


def acosh(x: ExprLike) -> Expr:
    """Return the number whose hyperbolic cosine is ``x``."""
    return _one("acosh", Builtin.ACOSH, x)


def atanh(x: ExprLike) -> Expr:
    """Return the number whose hyperbolic tangent is ``x``."""
    return _one("atanh", Builtin.ATANH, x)


def exp2(x: ExprLike) -> Expr:
    """Return 2 to the power of ``x``."""
    return _one("exp2", Builtin.EXP2, x)


def exp10(x: ExprLike) -> Expr:
    """Return 10 to the power of ``x``."""
    value = _float("exp10", x)
    return power(const(10.0, value.dtype), value)


def log2(x: ExprLike) -> Expr:
    """Return the logarithm of ``x`` to base 2."""
    return _one("log2", Builtin.LOG2, x)


def log10(x: ExprLike) -> Expr:
    """Return the logarithm of ``x`` to base 10."""
    return _one("log10", Builtin.LOG10, x)


def log1p(x: ExprLike) -> Expr:
    """Return the natural logarithm of 1 + ``x``."""
    return _one("log1p", Builtin.LOG1P, x)


def rsqrt(x: ExprLike) -> Expr:
    """Return 1 over the square root of ``x``."""
    value = _float("rsqrt", x)
    return binary(Div, const(1.0, value.dtype), sqrt(value))


def atan2(x1: ExprLike, x2: ExprLike) -> Expr:
    """Return the angle of the point with ordinate ``x1`` and abscissa ``x2``."""
    return _two("atan2", Builtin.ATAN2, x1, x2)


def hypot(x1: ExprLike, x2: ExprLike) -> Expr:
    """Return the square root of the sum of the squares."""
    return _two("hypot", Builtin.HYPOT, x1, x2)


def copysign(x1: ExprLike, x2: ExprLike) -> Expr:
    """Return ``x1`` with the sign of ``x2``."""
    return _two("copysign", Builtin.COPYSIGN, x1, x2)


def nextafter(x1: ExprLike, x2: ExprLike) -> Expr:
    """Return the number of the type after ``x1`` in the direction of ``x2``."""
    return _two("nextafter", Builtin.NEXTAFTER, x1, x2)


def fmod(x: ExprLike, y: ExprLike) -> Expr:
    """Return the remainder of ``x`` by ``y`` with the sign of ``x``."""
    return _two("fmod", Builtin.FMOD, x, y)


def nearbyint(x: ExprLike) -> Expr:
    """Return the integral float nearest to ``x``, ties to even."""
    return _one("nearbyint", Builtin.ROUND, x)


def isnan(x: ExprLike) -> Expr:
    """Return whether ``x`` is no number; an integer always is one."""
    value = convert(x)
    if not value.dtype.is_float:
        return const(False, BOOL.with_lanes(value.dtype.lanes))
    if value.dtype.bits == 16:
        value = value.astype(FLOAT32.with_lanes(value.dtype.lanes))
    return Call(BOOL.with_lanes(value.dtype.lanes), Builtin.ISNAN, (value,))


def isinf(x: ExprLike) -> Expr:
    """Return whether ``x`` is infinite."""
    value = convert(x)
    if not value.dtype.is_float:
        return const(False, BOOL.with_lanes(value.dtype.lanes))
    return binary(EQ, absolute(value), const(math.inf, value.dtype))


def isfinite(x: ExprLike) -> Expr:
    """Return whether ``x`` is a number and not infinite."""
    value = convert(x)
    if not value.dtype.is_float:
        return const(True, BOOL.with_lanes(value.dtype.lanes))
    return binary(And, ~isinf(value), ~isnan(value))


def popcount(x: ExprLike) -> Expr:
    """Return how many bits of the integer ``x`` are set."""
    value = convert(x)
    if not value.dtype.is_int:
        raise ExprError(f"tir.popcount needs an integer, not {value.dtype}")
    return Call(value.dtype, Builtin.POPCOUNT, (value,))


def clz(x: ExprLike) -> Expr:
    """Return how many bits of the integer ``x`` are zero before its first one; all of them for 0."""
    value = convert(x)
    if not value.dtype.is_int:
        raise ExprError(f"tir.clz needs an integer, not {value.dtype}")
    return Call(value.dtype, Builtin.CLZ, (value,))


def reinterpret(dtype: str, value: ExprLike) -> Expr:
    """Return the bits of ``value`` as a ``dtype``, which has as many; the first lanes are the low bits."""
    source, target = convert(value), DType(dtype)
    sizes = [kind.lanes * kind.bits for kind in (source.dtype, target)]
    numbers = all((kind.is_int or kind.is_float) and kind.bits % 8 == 0 for kind in (source.dtype, target))
    if not numbers or sizes[0] != sizes[1]:
        raise ExprError(f"tir.reinterpret: the bits of {source.dtype} are not those of {target}")
    return Call(target, Builtin.REINTERPRET, (source,))


def q_multiply_shift(x: ExprLike, y: ExprLike, q: ExprLike, s: ExprLike) -> Expr:
    """Return the int32 ``x * y * 2 ** (s - q)`` of fixed-point numbers, to the nearest integer, halves up.

    ``q`` (the fraction bits of ``y``) and ``s`` are constants.
    """
    a, b = (convert(value) for value in (x, y))
    fraction, shift = convert(q), convert(s)
    if not isinstance(fraction, IntImm) or not isinstance(shift, IntImm):
        raise ExprError("tir.q_multiply_shift: the fraction bits and the shift are constants")
    left, right = max(shift.value, 0), fraction.value + max(-shift.value, 0)
    wide = [value.astype("int64") for value in (a, b)]
    product = (wide[0] << const(left, "int64") if left else wide[0]) * wide[1]
    if right:
        product = (product + const(1 << (right - 1), "int64")) >> const(right, "int64")
    return product.astype("int32")
