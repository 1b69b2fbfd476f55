"""Scalars of tensor expressions: variables, constants, and the divisions that TVM has several names for.

Tests: tests/vta/te/test_scalars.py.
"""

from __future__ import annotations

from vta.tir import ops
from vta.tir.dtype import DType
from vta.tir.expr import Expr, ExprLike, PointerType, SizeVar, Var, const, convert

__all__ = ["const", "div", "indexdiv", "indexmod", "size_var", "var"]


def var(name: str = "tindex", dtype: str | PointerType = "int32") -> Var:
    """Return a new variable, for example a size that is known when the function is called."""
    return Var(name, dtype)  # type: ignore[arg-type]  # it takes a type's name, too


def size_var(name: str = "size", dtype: str = "int32") -> Var:
    """Return a new variable for a size, which is at least 0."""
    return SizeVar(name, DType(dtype))


def div(a: ExprLike, b: ExprLike) -> Expr:
    """Return a / b: exact for floats, rounded towards zero for integers."""
    x, y = convert(a), convert(b)
    return x / y if x.dtype.is_float or y.dtype.is_float else ops.truncdiv(x, y)


def indexdiv(a: ExprLike, b: ExprLike) -> Expr:
    """Return the quotient of indices, rounded down."""
    return ops.floordiv(a, b)


def indexmod(a: ExprLike, b: ExprLike) -> Expr:
    """Return the remainder of indices, with the sign of ``b``."""
    return ops.floormod(a, b)
