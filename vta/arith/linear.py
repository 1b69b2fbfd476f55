"""Linear forms of index expressions, and the bounds that a condition sets to loop variables.

Tests: tests/vta/arith/test_linear.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta.arith.comparison import NEGATED
from vta.arith.const_bounds import is_index
from vta.arith.facts import conjuncts
from vta.arith.simplify import Analyzer
from vta.tir.deep import deep
from vta.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    Cast,
    Expr,
    FloorDiv,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Sub,
    Var,
    binary,
    const,
)
from vta.tir.traverse import uses_var

__all__ = ["ClipBound", "detect_clip_bound", "detect_linear_equation"]

ClipBound = tuple[Expr | None, Expr | None]
"""Smallest and largest value of a variable; None where there is no limit."""

_Coefficients = dict[int, Expr]
"""By position of the variable; the base is at position -1. What is missing is 0."""


def detect_linear_equation(
    expr: Expr, variables: Sequence[Var], analyzer: Analyzer | None = None
) -> tuple[Expr, ...] | None:
    """Write ``expr`` as the sum of coefficients times ``variables`` plus a base.

    Return (coefficient of each variable, ..., base), simplified and free of the variables; None if there is no such
    form. Looks through +, -, * (one side free of the variables) and widening casts of indices.
    """
    known = Analyzer() if analyzer is None else analyzer
    form = _linear(known.simplify(expr), variables)
    if form is None:
        return None
    zero = const(0, expr.dtype)
    return tuple(known.simplify(form.get(i, zero)) for i in (*range(len(variables)), -1))


@deep
def _linear(expr: Expr, variables: Sequence[Var]) -> _Coefficients | None:
    if not uses_var(expr, variables):
        return {-1: expr}
    match expr:
        case Var():
            return {variables.index(expr): const(1, expr.dtype)}
        case Add() | Sub():
            a, b = _linear(expr.a, variables), _linear(expr.b, variables)
            return None if a is None or b is None else _merged(type(expr), a, b)
        case Mul():
            a, b = _linear(expr.a, variables), _linear(expr.b, variables)
            if a is None or b is None:
                return None
            if a.keys() == {-1}:
                a, b = b, a
            return {i: c * b[-1] for i, c in a.items()} if b.keys() == {-1} else None
        case Cast() if is_index(expr.dtype) and is_index(expr.value.dtype) and expr.dtype.bits >= 64:
            inner = _linear(expr.value, variables)
            return None if inner is None else {i: c.astype(expr.dtype) for i, c in inner.items()}
        case _:
            return None


def _merged(kind: type[Add | Sub], a: _Coefficients, b: _Coefficients) -> _Coefficients:
    result = dict(a)
    for i, c in b.items():
        result[i] = binary(kind, result.get(i, const(0, c.dtype)), c)
    return result


def detect_clip_bound(
    cond: Expr, variables: Sequence[Var], analyzer: Analyzer | None = None
) -> tuple[ClipBound, ...] | None:
    """Return, for each variable, the bounds that are equivalent to ``cond``.

    ``cond`` is a conjunction of index comparisons (<, <=, >, >=, ==), each linear in exactly one of the variables
    with a constant coefficient; a part that is always true is skipped. None if ``cond`` is anything else.
    """
    known = Analyzer() if analyzer is None else analyzer
    limits: list[list[Expr | None]] = [[None, None] for _ in variables]
    for part in conjuncts(cond):
        if isinstance(part, IntImm) and part.value:
            continue
        if isinstance(part, Not) and isinstance(part.a, LT | LE | GT | GE | EQ | NE):
            part = NEGATED[type(part.a)](part.a.a, part.a.b)
        found = _single_bound(part, variables, known)
        if found is None:
            return None
        position, low, high = found
        current = limits[position]
        if low is not None:
            current[0] = low if current[0] is None else known.simplify(binary(Max, current[0], low))
        if high is not None:
            current[1] = high if current[1] is None else known.simplify(binary(Min, current[1], high))
    return tuple((low, high) for low, high in limits)


def _single_bound(
    part: Expr, variables: Sequence[Var], analyzer: Analyzer
) -> tuple[int, Expr | None, Expr | None] | None:
    """Return (position, min, max) of the one variable that the comparison bounds."""
    used = [i for i, var in enumerate(variables) if uses_var(part, var)]
    if len(used) != 1 or not isinstance(part, LT | LE | GT | GE | EQ) or not is_index(part.a.dtype):
        return None
    form = detect_linear_equation(_nonnegative(part), [variables[used[0]]], analyzer)
    if form is None or not isinstance(form[0], IntImm) or form[0].value == 0:
        return None
    factor, base = form[0].value, form[1]
    if isinstance(part, EQ):
        if abs(factor) != 1:
            return None
        value = analyzer.simplify(base * -factor)
        return used[0], value, value
    quotient = analyzer.simplify(binary(FloorDiv, base, abs(factor)))
    if factor > 0:
        return used[0], analyzer.simplify(0 - quotient), None
    return used[0], None, quotient


def _nonnegative(part: LT | LE | GT | GE | EQ) -> Expr:
    """Return the expression that is at least 0 (for ==: exactly 0) where the comparison holds."""
    match part:
        case LT():
            return part.b - part.a - 1
        case LE():
            return part.b - part.a
        case GT():
            return part.a - part.b - 1
        case GE() | EQ():
            return part.a - part.b
