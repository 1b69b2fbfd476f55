"""Constant bounds: between which integers a value lies, whatever its variables are within their own bounds.

Overflow. Integers are two's complement. A variable of int32 or int64 is an *index*: what is computed from indices and
constants alone is taken not to overflow, as TVM takes it, unless their bounds show that it may. Everything else (narrow
or unsigned variables, buffer elements, results of calls) is a *value*: it wraps unless its bounds show that it cannot.
Tests: tests/vta/arith/test_const_bounds.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from vta.arith.const_interval import EVERYTHING, TRUTH, ConstInterval, maximum, union
from vta.tir.deep import deep
from vta.tir.dtype import BOOL, INT32, INT64, DType, Kind
from vta.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Builtin,
    Call,
    Cast,
    Compare,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    SizeVar,
    Sub,
    Var,
)

__all__ = ["combine", "const_bounds", "decide", "is_index", "type_bounds", "unbound"]


_INDEX_TYPES = frozenset((INT32, INT64))


def is_index(dtype: DType) -> bool:
    """Whether variables of ``dtype`` are indices, whose arithmetic is taken not to overflow."""
    return dtype in _INDEX_TYPES


def type_bounds(dtype: DType) -> ConstInterval:
    """Return all values of an integer or bool type (of one lane); everything for other types."""
    if dtype.kind in (Kind.INT, Kind.UINT, Kind.BOOL):
        return ConstInterval(*dtype.bounds)
    return EVERYTHING


def const_bounds(expr: Expr, env: Mapping[Var, ConstInterval]) -> ConstInterval:
    """Return bounds of ``expr`` when each variable lies in its interval of ``env`` (other indices: anywhere).

    The result contains every value that ``expr`` can take; it need not be tight. Vectors: bounds of every lane.
    """
    return _bounds(expr, env)[0]


_Result: TypeAlias = tuple[ConstInterval, bool]
"""Bounds, and whether the expression is made of indices and constants alone."""


@deep
def unbound(var: Var) -> ConstInterval:
    """Return what is known of an index of which nothing was said: a size is at least 0."""
    return _NOT_NEGATIVE if isinstance(var, SizeVar) else EVERYTHING


_NOT_NEGATIVE = ConstInterval(0, None)


def _bounds(expr: Expr, env: Mapping[Var, ConstInterval]) -> _Result:
    match expr:
        case Var():
            known = env.get(expr)
            if is_index(expr.dtype):
                return (unbound(expr) if known is None else known), True
            limits = type_bounds(expr.dtype)
            return (limits if known is None else known.intersect(limits)), False
        case IntImm():
            return ConstInterval(expr.value, expr.value), True
        case Add() | Sub() | Mul() | FloorDiv() | FloorMod() | Min() | Max() | Div() | Mod():
            return _arithmetic_bounds(expr, env)
        case Compare():
            return _compare_bounds(expr, env), True
        case Not():
            return ConstInterval(1, 1) - _bounds(expr.a, env)[0], True
        case Cast():
            return _cast_bounds(expr, env)
        case Select():
            return _choice(expr.condition, expr.true_value, expr.false_value, env)
        case Call(op=Builtin.IF_THEN_ELSE):
            return _choice(expr.args[0], expr.args[1], expr.args[2], env)
        case Call():
            return _call_bounds(expr, env), False
        case Let():
            inner = {**env, expr.var: _bounds(expr.value, env)[0]}
            return _bounds(expr.body, inner)
        case Ramp():
            base, index = _bounds(expr.base, env)
            step = _bounds(expr.stride, env)[0]
            return union((base, base + step.scale(expr.lanes - 1))), index
        case Broadcast():
            return _bounds(expr.value, env)
        case _:
            return type_bounds(expr.dtype), False


def _arithmetic_bounds(
    expr: Add | Sub | Mul | FloorDiv | FloorMod | Min | Max | Div | Mod, env: Mapping[Var, ConstInterval]
) -> _Result:
    (a, index_a), (b, index_b) = _bounds(expr.a, env), _bounds(expr.b, env)
    index = index_a and index_b
    if not expr.dtype.is_int:
        return EVERYTHING, False
    result = combine(type(expr), a, b)
    index = index and is_index(expr.dtype.element)
    limits = type_bounds(expr.dtype)
    unbounded = result.lo is None or result.hi is None
    return (result if result.within(limits) or (index and unbounded) else limits), index


def combine(kind: type[Expr], a: ConstInterval, b: ConstInterval) -> ConstInterval:
    """Return bounds of the binary operation ``kind`` on members of ``a`` and ``b``, without overflow."""
    if kind is Add:
        return a + b
    if kind is Sub:
        return a - b
    if kind is Mul:
        return a * b
    if kind is FloorDiv:
        return a.floordiv(b)
    if kind is FloorMod:
        return a.floormod(b)
    if kind is Div:
        return a.truncdiv(b)
    if kind is Mod:
        return a.truncmod(b)
    if kind is Min:
        return -maximum(-a, -b)
    return maximum(a, b)


def decide(kind: type[Expr], difference: ConstInterval) -> bool | None:
    """Whether ``a kind b`` holds for all, for none (False), or for some (None) of the differences a - b."""
    lo, hi = difference.lo, difference.hi
    if kind is LT:
        return True if hi is not None and hi < 0 else False if lo is not None and lo >= 0 else None
    if kind is LE:
        return True if hi is not None and hi <= 0 else False if lo is not None and lo > 0 else None
    if kind is GT or kind is GE:
        return decide(LT if kind is GT else LE, -difference)
    equal = True if difference.is_point and lo == 0 else None if 0 in difference else False
    if equal is None or kind is EQ:
        return equal
    return not equal


def _compare_bounds(expr: Expr, env: Mapping[Var, ConstInterval]) -> ConstInterval:
    match expr:
        case And() | Or():
            a, b = _bounds(expr.a, env)[0], _bounds(expr.b, env)[0]
            return combine(Min if isinstance(expr, And) else Max, a, b)
        case LT() | LE() | GT() | GE() | EQ() | NE() if expr.a.dtype.is_int or expr.a.dtype.element == BOOL:
            outcome = decide(type(expr), _bounds(expr.a, env)[0] - _bounds(expr.b, env)[0])
            return TRUTH if outcome is None else ConstInterval(int(outcome), int(outcome))
        case _:
            return TRUTH


def _cast_bounds(expr: Cast, env: Mapping[Var, ConstInterval]) -> _Result:
    limits = type_bounds(expr.dtype)
    if not (expr.value.dtype.is_int or expr.value.dtype.kind is Kind.BOOL):
        return limits, False
    inner, index = _bounds(expr.value, env)
    if index and is_index(expr.dtype.element) and expr.value.dtype.bits <= expr.dtype.bits:
        return inner, True
    return (inner if inner.within(limits) else limits), False


def _choice(condition: Expr, first: Expr, second: Expr, env: Mapping[Var, ConstInterval]) -> _Result:
    test = _bounds(condition, env)[0]
    if test.is_point:
        return _bounds(first if test.lo else second, env)
    (a, index_a), (b, index_b) = _bounds(first, env), _bounds(second, env)
    return union((a, b)), index_a and index_b


def _mask(bounds: ConstInterval) -> int | None:
    """Return the largest value of what is never negative: what a bitwise and with it cannot exceed."""
    return bounds.hi if bounds.lo is not None and bounds.lo >= 0 else None


def _call_bounds(expr: Call, env: Mapping[Var, ConstInterval]) -> ConstInterval:
    limits = type_bounds(expr.dtype)
    match expr:
        case Call(op=Builtin.LIKELY, args=(condition,)):
            return _bounds(condition, env)[0]
        case Call(op=Builtin.SHIFT_RIGHT, args=(value, IntImm(value=count))) if 0 <= count < expr.dtype.bits:
            return _bounds(value, env)[0].floordiv(ConstInterval(1 << count, 1 << count)).intersect(limits)
        case Call(op=Builtin.SHIFT_LEFT, args=(value, IntImm(value=count))) if 0 <= count < expr.dtype.bits:
            shifted = _bounds(value, env)[0].scale(1 << count)
            return shifted if shifted.within(limits) else limits
        case Call(op=Builtin.BITWISE_AND, args=(a, b)):
            masks = [top for side in (a, b) if (top := _mask(_bounds(side, env)[0])) is not None]
            return ConstInterval(0, min(masks)) if masks else limits
        case Call(op=Builtin.SHIFT_RIGHT, args=(value, count)):
            by = _bounds(count, env)[0]
            if by.lo is None or by.hi is None or not 0 <= by.lo <= by.hi < expr.dtype.bits:
                return limits
            steps = ConstInterval(1 << by.lo, 1 << by.hi)
            return _bounds(value, env)[0].floordiv(steps).intersect(limits)
        case _:
            return limits
