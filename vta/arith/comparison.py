"""Comparisons of sums: decided where the difference's sign is known, else in one normal form.

Normal form of a comparison of indices, with common factors divided out: ``p < 5`` or ``3 <= n`` with one side constant,
``p < n``, ``p <= n`` or ``p <= (n + 4)`` with positive terms on the left, negative ones on the right; the same for
``==`` and ``!=``. Comparisons of values (see ``vta.arith.const_bounds``) keep their sides.
Tests: tests/vta/arith/test_simplify*.py.
"""

from __future__ import annotations

from math import gcd

from vta.arith.const_bounds import decide, type_bounds
from vta.arith.sums import Context, Sum, exact, parts_exact
from vta.tir.dtype import BOOL
from vta.tir.expr import EQ, GE, GT, LE, LT, NE, Compare, Expr, IntImm

__all__ = ["NEGATED", "compare", "truth"]

NEGATED: dict[type[Compare], type[LT | LE | GT | GE | EQ | NE]] = {LT: GE, GE: LT, LE: GT, GT: LE, EQ: NE, NE: EQ}
"""The comparison that holds where the other does not."""


def truth(value: bool) -> Expr:
    """Return the constant true or false."""
    return IntImm(int(value), BOOL)


def compare(kind: type[LT | LE | GT | GE | EQ | NE], a: Sum, b: Sum, context: Context) -> Expr:
    """Return ``a kind b`` in normal form, or the constant that it is."""
    if kind is GT or kind is GE:
        return compare(LT if kind is GT else LE, b, a, context)
    difference = a.minus(b)
    if difference.is_const and difference.const == 0:
        return truth(kind in (LE, EQ))
    if exact(context, a) and exact(context, b):
        outcome = decide(kind, context.bounds_of(difference))
        if outcome is not None:
            return truth(outcome)
        if difference.index and parts_exact(context, difference):
            result = _normal_form(kind, difference)
            if result is not None:
                return result
    return kind(a.emit(), b.emit())


def _normal_form(kind: type[LT | LE | GT | GE | EQ | NE], difference: Sum) -> Expr | None:
    """Write ``difference kind 0`` for an index; None if that takes a constant that does not fit the type."""
    factor = 0
    for _, c in difference:
        factor = gcd(factor, c)
    terms = Sum(difference.dtype)
    for atom, c in difference:
        terms.add_term(atom, c // factor, index=True)
    if kind is EQ or kind is NE:
        limit, rest = divmod(-difference.const, factor)
        return truth(kind is NE) if rest else _equal(kind, terms, limit)
    return _at_most(terms, (-difference.const - (kind is LT)) // factor)


def _equal(kind: type[LT | LE | GT | GE | EQ | NE], terms: Sum, limit: int) -> Expr | None:
    """Write ``terms kind limit`` for == or !=."""
    left, right = terms.part(positive=True), terms.part(positive=False)
    if left.is_const:
        left, right, limit = right, left, -limit
    if not _fits(limit, terms) or not _fits(-limit, terms):
        return None
    if right.is_const or limit >= 0:
        right.const += limit
    else:
        left.const -= limit
    return kind(left.emit(), right.emit())


def _at_most(terms: Sum, limit: int) -> Expr | None:
    """Write ``terms <= limit``."""
    if not all(_fits(value, terms) for value in (limit, limit + 1, -limit)):
        return None
    left, right = terms.part(positive=True), terms.part(positive=False)
    if right.is_const:
        return LT(left.emit(), IntImm(limit + 1, terms.dtype))
    if left.is_const:
        return LE(IntImm(-limit, terms.dtype), right.emit())
    if limit == -1:
        return LT(left.emit(), right.emit())
    (right if limit >= 0 else left).const += abs(limit)
    return LE(left.emit(), right.emit())


def _fits(value: int, terms: Sum) -> bool:
    return value in type_bounds(terms.dtype)
