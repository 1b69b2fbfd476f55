"""Functions of every element by itself: ``topi.exp``, ``topi.sigmoid``, ``topi.clip``, ...

Tests: tests/vta/topi/cpu/test_elementwise.py.
"""

from collections.abc import Callable, Sequence

from vta import te
from vta.tir import math_ops, ops
from vta.tir.expr import Expr, ExprLike, Not, const
from vta.topi.alu.broadcast import unary_stage
from vta.topi.core.operator import OperatorError

__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_not",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "erf",
    "exp",
    "floor",
    "full",
    "full_like",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log2",
    "log10",
    "logical_not",
    "negative",
    "ones_like",
    "reinterpret",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "zeros_like",
]  # fmt: skip


def _function(name: str, of: Callable[[Expr], Expr], says: str) -> Callable[[te.Tensor], te.Tensor]:
    def apply(x: te.Tensor) -> te.Tensor:
        if not isinstance(x, te.Tensor):
            raise OperatorError(f"topi.{name}: expected a tensor, got {x!r}")
        return unary_stage(f"T_{name}", x, of)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"Return {says} of every element."
    return apply


exp = _function("exp", ops.exp, "e to the power")
log = _function("log", ops.log, "the natural logarithm")
sqrt = _function("sqrt", ops.sqrt, "the square root")
rsqrt = _function("rsqrt", math_ops.rsqrt, "1 over the square root")
tanh = _function("tanh", ops.tanh, "the hyperbolic tangent")
sigmoid = _function("sigmoid", ops.sigmoid, "1 / (1 + exp(-x))")
erf = _function("erf", math_ops.erf, "the error function")
sin = _function("sin", math_ops.sin, "the sine")
cos = _function("cos", math_ops.cos, "the cosine")
tan = _function("tan", math_ops.tan, "the tangent")
asin = _function("asin", math_ops.asin, "the angle of a sine")
acos = _function("acos", math_ops.acos, "the angle of a cosine")
atan = _function("atan", math_ops.atan, "the angle of a tangent")
sinh = _function("sinh", math_ops.sinh, "the hyperbolic sine")
cosh = _function("cosh", math_ops.cosh, "the hyperbolic cosine")
asinh = _function("asinh", math_ops.asinh, "the number of a hyperbolic sine")
acosh = _function("acosh", math_ops.acosh, "the number of a hyperbolic cosine")
atanh = _function("atanh", math_ops.atanh, "the number of a hyperbolic tangent")
log2 = _function("log2", math_ops.log2, "the logarithm to base 2")
log10 = _function("log10", math_ops.log10, "the logarithm to base 10")
floor = _function("floor", ops.floor, "the largest integer that is not above it,")
ceil = _function("ceil", ops.ceil, "the smallest integer that is not below it,")
round = _function("round", ops.round, "the nearest integer, ties to even,")  # noqa: A001  # TVM's name
trunc = _function("trunc", ops.trunc, "what is before the point")
abs = _function("abs", ops.abs, "the absolute value")  # noqa: A001  # TVM's name
negative = _function("negative", lambda value: const(0, value.dtype) - value, "the negative")
isnan = _function("isnan", math_ops.isnan, "whether it is no number,")
isinf = _function("isinf", math_ops.isinf, "whether it is infinite,")
isfinite = _function("isfinite", math_ops.isfinite, "whether it is a number and not infinite,")
logical_not = _function("logical_not", Not, "the opposite truth")
bitwise_not = _function("bitwise_not", lambda value: ~value, "the inverted bits")


def _sign(value: Expr) -> Expr:
    zero, one = const(0, value.dtype), const(1, value.dtype)
    minus = const(-1, value.dtype) if value.dtype.kind != "uint" else zero
    return ops.select(value < zero, minus, ops.select(value > zero, one, zero))


sign = _function("sign", _sign, "-1, 0 or 1, its sign,")


def clip(x: te.Tensor, a_min: float, a_max: float) -> te.Tensor:
    """Return every element limited to ``a_min`` .. ``a_max``."""
    low, high = const(a_min, x.dtype), const(a_max, x.dtype)
    return unary_stage("T_clip", x, lambda value: ops.max(ops.min(value, high), low))


def reinterpret(x: te.Tensor, dtype: str) -> te.Tensor:
    """Return the bits of every element as a ``dtype``, which has as many."""
    return unary_stage("T_reinterpret", x, lambda value: math_ops.reinterpret(dtype, value))


def full(shape: Sequence[ExprLike], dtype: str, fill_value: float) -> te.Tensor:
    """Return a tensor of one number."""
    return te.compute(shape, lambda *_: const(fill_value, dtype), name="T_full", tag="elemwise")


def full_like(x: te.Tensor, fill_value: float) -> te.Tensor:
    """Return a tensor of one number, with the shape and type of ``x``."""
    return full(x.shape, x.dtype, fill_value)


def zeros_like(x: te.Tensor) -> te.Tensor:
    """Return zeros with the shape and type of ``x``."""
    return full_like(x, 0)


def ones_like(x: te.Tensor) -> te.Tensor:
    """Return ones with the shape and type of ``x``."""
    return full_like(x, 1)
