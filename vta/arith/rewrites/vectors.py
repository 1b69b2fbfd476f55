"""Operations on evenly spaced vectors and on copies of one number, as such a vector: part of ``rules``.

Tests: tests/vta/arith/test_rewrites.py.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TYPE_CHECKING

from vta.arith.const_bounds import is_index
from vta.tir.expr import (
    Add,
    Binary,
    Broadcast,
    Cast,
    Compare,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    Not,
    Ramp,
    Select,
    Sub,
    binary,
    const,
    same,
)

if TYPE_CHECKING:
    from vta.arith.modular import ModularSet

__all__ = ["rewritten_vector"]

_Simplify = Callable[[Expr], Expr]


def rewritten_vector(expr: Expr, simplify: _Simplify, residues: Callable[[Expr], ModularSet]) -> Expr | None:
    """Return a vector that an operation gives as a ramp, or as copies of one number; None for what is neither."""
    match expr:
        case Binary() | Compare():
            return _of_pair(expr, simplify, residues)
        case Not(a=Broadcast(value=value, lanes=lanes)):
            return Broadcast(simplify(Not(value)), lanes)
        case Cast(dtype=dtype, value=Broadcast(value=value, lanes=lanes)):
            return Broadcast(simplify(Cast(dtype.element, value)), lanes)
        case Select(true_value=first, false_value=second) if same(first, second):
            return first
        case Select(condition=Broadcast(value=condition), true_value=first, false_value=second):
            return Select(condition, first, second)
        case _:
            return None


def _of_pair(expr: Binary | Compare, simplify: _Simplify, residues: Callable[[Expr], ModularSet]) -> Expr | None:
    kind = type(expr)
    match expr.a, expr.b:
        case Broadcast(value=a, lanes=lanes), Broadcast(value=b):
            return Broadcast(simplify(binary(kind, a, b)), lanes)
        case (Ramp() | Broadcast()) as a, (Ramp() | Broadcast()) as b if kind in (Add, Sub):
            base, stride = (binary(kind, x, y) for x, y in zip(_ramp(a), _ramp(b), strict=True))
            return Ramp(simplify(base), simplify(stride), a.lanes)
        case (Ramp() as ramp, Broadcast(value=factor)) | (Broadcast(value=factor), Ramp() as ramp) if kind is Mul:
            return Ramp(simplify(ramp.base * factor), simplify(ramp.stride * factor), ramp.lanes)
        case Ramp(stride=IntImm()) as ramp, Broadcast(value=IntImm(value=divisor)) if (
            kind in (FloorDiv, FloorMod) and divisor > 0 and is_index(ramp.base.dtype)
        ):
            return _divided(kind, ramp, divisor, simplify, residues)
        case Ramp(stride=IntImm(value=step)) as ramp, Broadcast(value=IntImm(value=divisor)) if kind is Div:
            whole = residues(ramp.base)  # nothing is rounded where base and stride are multiples
            if divisor < 1 or step % divisor or whole.coeff % divisor or whole.base % divisor:
                return None
            first = simplify(binary(Div, ramp.base, const(divisor, ramp.base.dtype)))
            return Ramp(first, const(step // divisor, ramp.base.dtype), ramp.lanes)
        case _:
            return None


def _ramp(vector: Ramp | Broadcast) -> tuple[Expr, Expr]:
    """Return base and stride."""
    if isinstance(vector, Ramp):
        return vector.base, vector.stride
    return vector.value, const(0, vector.value.dtype)


def _divided(
    kind: type[Binary | Compare], ramp: Ramp, divisor: int, simplify: _Simplify, residues: Callable[[Expr], ModularSet]
) -> Expr | None:
    """Return quotients or remainders of a ramp: the stride is a multiple, or no lane is in another multiple's range."""
    assert isinstance(ramp.stride, IntImm)
    step, number = ramp.stride.value, const(divisor, ramp.base.dtype)
    first = simplify(binary(kind, ramp.base, number))
    if step % divisor == 0:
        if kind is FloorMod:
            return Broadcast(first, ramp.lanes)
        return Ramp(first, const(step // divisor, ramp.base.dtype), ramp.lanes)
    known = residues(ramp.base)
    common = gcd(known.coeff, divisor)
    last = known.base % common + step * (ramp.lanes - 1)
    if not 0 <= last < common:
        return None
    return Ramp(first, ramp.stride, ramp.lanes) if kind is FloorMod else Broadcast(first, ramp.lanes)
