"""Python values to expressions, operands to one type, and the folding that every operator does.

Tests: tests/vta/tir/test_expr.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias, cast

import numpy as np

from vta.tir.dtype import BOOL, DType, Kind
from vta.tir.expr.arithmetic import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Binary,
    Compare,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Or,
    Sub,
)  # fmt: skip
from vta.tir.expr.builtin import Builtin
from vta.tir.expr.nodes import Broadcast, Call, Cast, Expr, FloatImm, IntImm, StringImm
from vta.tir.expr.operators import Equality, ExprError, Node, Operators

__all__ = [
    "ExprLike", "binary", "bitwise", "cast_to", "const", "constant_like", "convert", "logical_or_bitwise",
    "match_types", "true_divide",
]  # fmt: skip

ExprLike: TypeAlias = Operators | Equality | int | float | str | np.generic
"""Whatever ``convert`` turns into an expression."""


def const(value: float, dtype: str | None = None) -> Expr:
    """Return a constant of ``dtype``; raises ``ExprError`` if it does not fit.

    Without a type it is bool, int32 (int64 where that is too small) or float32, by the kind of ``value``.
    """
    if dtype is None:
        return convert(value)
    kind = DType(dtype)
    if kind.lanes > 1:
        return Broadcast(const(value, kind.element), kind.lanes)
    if kind.is_float:
        return FloatImm(float(value), kind)
    if isinstance(value, float) and not value.is_integer():
        raise ExprError(f"constant {value} is not an integer, but {dtype} was asked for")
    return IntImm(int(value), kind)


def convert(value: ExprLike | object, dtype: str | None = None) -> Expr:
    """Return ``value`` as an expression: a scalar (of ``dtype`` if given), a string, anything with ``asexpr()``."""
    match value:
        case Operators() | Equality():
            return value.asexpr()
        case bool() | np.bool_():
            return const(int(value), dtype or BOOL)
        case int() | np.integer():
            return const(int(value), dtype or _default_int(int(value)))
        case float() | np.floating():
            return const(float(value), dtype or "float32")
        case str():
            return StringImm(value)
        case _:
            raise ExprError(f"{value!r} ({type(value).__name__}) is not an expression")


def _default_int(value: int) -> str:
    return "int32" if -(1 << 31) <= value < 1 << 31 else "int64"


def cast_to(value: Expr, dtype: DType) -> Expr:
    """Return ``value`` as ``dtype``: itself, a folded constant, or a ``Cast``."""
    if value.dtype == dtype:
        return value
    if isinstance(value, IntImm) and dtype.is_int and dtype.lanes == 1:
        return IntImm(_wrap(value.value, dtype), dtype)
    if isinstance(value, FloatImm) and dtype.is_int and dtype.lanes == 1 and _fits(value.value, dtype):
        return IntImm(int(value.value), dtype)
    if isinstance(value, IntImm) and dtype.is_float and dtype.lanes == 1:
        return FloatImm(float(value.value), dtype)
    if dtype.lanes > 1 and value.dtype.lanes == 1:
        return Broadcast(cast_to(value, dtype.element), dtype.lanes)
    return Cast(dtype, value)


def _fits(value: float, dtype: DType) -> bool:
    """Whether a float without its fraction is a number of an integer type."""
    low, high = dtype.bounds
    return math.isfinite(value) and low <= int(value) <= high


def _wrap(value: int, dtype: DType) -> int:
    low, _ = dtype.bounds
    return (value - low) % (1 << dtype.bits) + low


def match_types(a: ExprLike | object, b: ExprLike | object) -> tuple[Expr, Expr]:
    """Convert both operands and bring them to one type, as TVM does: constants follow, wider wins, float wins."""
    x = a if isinstance(a, bool | int | float | np.generic) else convert(a)
    y = b if isinstance(b, bool | int | float | np.generic) else convert(b)
    if isinstance(x, Node) and not isinstance(y, Node):
        y = constant_like(y, x.dtype)
    elif isinstance(y, Node) and not isinstance(x, Node):
        x = constant_like(x, y.dtype)
    p, q = convert(x), convert(y)
    if p.dtype.lanes != q.dtype.lanes:
        lanes = max(p.dtype.lanes, q.dtype.lanes)
        p, q = cast_to(p, p.dtype.with_lanes(lanes)), cast_to(q, q.dtype.with_lanes(lanes))
    if p.dtype == q.dtype:
        return p, q
    wide = _wider(p.dtype, q.dtype)
    return cast_to(p, wide), cast_to(q, wide)


def constant_like(value: object, dtype: DType) -> Expr:
    """Return a number as a constant beside an operand of ``dtype``: of its type, unless a float meets an integer."""
    if isinstance(value, float | np.floating) and not dtype.is_float:
        return convert(value)
    return convert(value, None if dtype.kind is Kind.HANDLE else dtype)


def _wider(a: DType, b: DType) -> DType:
    if Kind.HANDLE in (a.kind, b.kind):
        raise ExprError(f"operands of types {a} and {b} do not go together")
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.kind is Kind.BOOL:
        return b
    if b.kind is Kind.BOOL or a.bits > b.bits:
        return a
    if a.bits == b.bits:
        return a if a.kind is Kind.UINT else b
    return b


_FOLD: dict[type[Node], Callable[[int, int], int]] = {
    Add: lambda a, b: a + b, Sub: lambda a, b: a - b, Mul: lambda a, b: a * b, Min: min, Max: max,
    FloorDiv: lambda a, b: a // b, FloorMod: lambda a, b: a % b,
    Div: lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    Mod: lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
    EQ: lambda a, b: a == b, NE: lambda a, b: a != b, LT: lambda a, b: a < b, LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b, GE: lambda a, b: a >= b, And: lambda a, b: a & b, Or: lambda a, b: a | b,
}  # fmt: skip


def binary(kind: type[Binary | Compare], a: ExprLike | object, b: ExprLike | object) -> Expr:
    """Build ``kind(a, b)``: operands brought to one type, constants and neutral elements folded."""
    x, y = match_types(a, b)
    if isinstance(x, IntImm) and isinstance(y, IntImm):
        if kind in (Div, Mod, FloorDiv, FloorMod) and y.value == 0:
            raise ExprError(f"{kind.__name__} of {x.value} by zero")
        folded = _FOLD[kind](x.value, y.value)
        return IntImm(int(folded), BOOL) if issubclass(kind, Compare) else IntImm(_wrap(folded, x.dtype), x.dtype)
    if isinstance(x, FloatImm) and isinstance(y, FloatImm) and kind in _FOLD_FLOATS:
        number = np.dtype(str(x.dtype)).type
        with np.errstate(all="ignore"):
            return FloatImm(float(_FOLD_FLOATS[kind](number(x.value), number(y.value))), x.dtype)
    neutral = _neutral(kind, x, y)
    return cast("Expr", kind(x, y)) if neutral is None else neutral


_FOLD_FLOATS: dict[type[Node], Callable[[np.floating, np.floating], np.floating]] = {
    Add: lambda a, b: a + b, Sub: lambda a, b: a - b, Mul: lambda a, b: a * b,
}  # fmt: skip
"""What the machine computes of two constants, in their type."""


def _neutral(kind: type[Binary | Compare], x: Expr, y: Expr) -> Expr | None:
    """Return the value of ``kind(x, y)`` where a constant operand decides it (x + 0, x * 1, x * 0, x // 1, ...)."""
    a, b = _constant_lanes(x), _constant_lanes(y)
    if kind is Add:
        return y if a == 0 else x if b == 0 else None
    if kind is Sub:
        return x if b == 0 else None
    if kind is Mul:
        if a == 0 or b == 0:
            return x if a == 0 else y
        return y if a == 1 else x if b == 1 else None
    if kind in (Div, FloorDiv):
        return x if b == 1 else None
    if kind in (Mod, FloorMod):
        return const(0, x.dtype) if b == 1 else None
    if kind is And:
        return (y if a else x) if a is not None else (x if b else y) if b is not None else None
    if kind is Or:
        return (x if a else y) if a is not None else (y if b else x) if b is not None else None
    return None


def _constant_lanes(expr: Expr) -> int | None:
    """Return the value of an integer constant, or that of all lanes of one; None for anything else."""
    value = expr.value if isinstance(expr, Broadcast) else expr
    return value.value if isinstance(value, IntImm) else None


def true_divide(a: ExprLike, b: ExprLike) -> Expr:
    """Return ``a / b`` of floats; refuses integers."""
    x, y = match_types(a, b)
    if not x.dtype.is_float:
        raise ExprError("/ between integers is ambiguous; use // (floor) or tir.truncdiv")
    if isinstance(x, FloatImm) and isinstance(y, FloatImm) and y.value != 0:
        number = np.dtype(str(x.dtype)).type
        with np.errstate(all="ignore"):
            return FloatImm(float(number(x.value) / number(y.value)), x.dtype)
    return Div(x, y)


def bitwise(op: Builtin, a: ExprLike, b: ExprLike) -> Expr:
    """Return the call of ``op`` on integers brought to one type."""
    x, y = match_types(a, b)
    if not x.dtype.is_int:
        raise ExprError(f"{op} needs integer operands, not {x.dtype}")
    if op in (Builtin.SHIFT_LEFT, Builtin.SHIFT_RIGHT):
        _check_count(op, y)
    if isinstance(x, IntImm) and isinstance(y, IntImm):
        return IntImm(_wrap(_FOLD_BITS[op](x.value, y.value), x.dtype), x.dtype)
    return Call(x.dtype, op, (x, y))


_FOLD_BITS: dict[Builtin, Callable[[int, int], int]] = {
    Builtin.SHIFT_LEFT: lambda a, b: a << b,
    Builtin.SHIFT_RIGHT: lambda a, b: a >> b,
    Builtin.BITWISE_AND: lambda a, b: a & b,
    Builtin.BITWISE_OR: lambda a, b: a | b,
    Builtin.BITWISE_XOR: lambda a, b: a ^ b,
}


def _check_count(op: Builtin, count: Expr) -> None:
    """Refuse a constant shift by a count that the type has no bit for."""
    value = _constant_lanes(count)
    if value is not None and not 0 <= value < count.dtype.bits:
        raise ExprError(f"{op}: expected a count from 0 to {count.dtype.bits - 1}, got {value}")


def logical_or_bitwise(kind: type[Compare], op: Builtin, a: ExprLike, b: ExprLike) -> Expr:
    """Return ``kind(a, b)`` of conditions, the call of ``op`` on integers."""
    x, y = match_types(a, b)
    return binary(kind, x, y) if x.dtype.kind is Kind.BOOL else bitwise(op, x, y)
