"""Putting the pieces of a split index together again: ``(x // 4) * 4 + x % 4`` is ``x``.

A piece is ``(x % upper) // lower`` (``lower`` 1: no division, ``upper`` None: no remainder). ``lower`` divides
``upper``; where it does not, as in ``(x % 10) // 3``, this is a piece of ``x % 10``: the digit below, ``(x % 10) % 3``,
is not ``x % 3``. All identities hold for machine values, because they compare pieces of one and the same ``x``.
Tests: tests/vta/arith/test_simplify*.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from vta.arith.sums import Context, Sum
from vta.tir.expr import Expr, FloorDiv, FloorMod, IntImm, same

__all__ = ["merge_splits"]


@dataclass(frozen=True, slots=True)
class _Piece:
    atom: Expr
    source: Expr
    lower: int
    upper: int | None
    coefficient: int


def _piece(atom: Expr, coefficient: int) -> _Piece | None:
    match atom:
        case FloorDiv(a=FloorMod(a=source, b=IntImm(value=upper)), b=IntImm(value=lower)) if (
            lower > 0 and upper > 0 and upper % lower == 0
        ):
            return _Piece(atom, source, lower, upper, coefficient)
        case FloorDiv(a=source, b=IntImm(value=lower)) if lower > 0:
            return _Piece(atom, source, lower, None, coefficient)
        case FloorMod(a=source, b=IntImm(value=upper)) if upper > 0:
            return _Piece(atom, source, 1, upper, coefficient)
        case _:
            return None


def merge_splits(total: Sum, context: Context) -> Sum:
    """Return ``total`` with every pair of pieces of one index that make up a larger piece replaced by that piece."""
    while total.has_division:
        pieces = [p for atom, c in total if (p := _piece(atom, c)) is not None]
        merged = _merge_pair(total, pieces, context) or _merge_remainder(total, pieces, context)
        if merged is None:
            return total
        total = merged
    return total


def _merge_pair(total: Sum, pieces: list[_Piece], context: Context) -> Sum | None:
    for high in pieces:
        for low in pieces:
            if high is low or not same(high.source, low.source):
                continue
            weight = high.coefficient * low.lower
            divides = high.lower % low.lower == 0
            if divides and low.upper == high.lower and weight == low.coefficient * high.lower:
                return _replace(total, high, low, (low.lower, high.upper), context)
            larger = high.lower > low.lower and divides
            if larger and low.upper == high.upper and weight == -low.coefficient * high.lower:
                return _replace(total, high, low, (low.lower, high.lower), context)
    return None


def _replace(total: Sum, high: _Piece, low: _Piece, bounds: tuple[int, int | None], context: Context) -> Sum:
    """Replace both by the piece of the same index with these lower and upper bounds, weighted as ``low`` is."""
    new = total.copy()
    new.remove(high.atom)
    new.remove(low.atom)
    lower, upper = bounds
    source = low.source
    width = IntImm(lower, total.dtype)
    if upper is None and lower == 1:
        return new.add(context.sum_of(source), low.coefficient)
    atom: Expr = source if upper is None else FloorMod(source, IntImm(upper, total.dtype))
    new.add_term(atom if lower == 1 else FloorDiv(atom, width), low.coefficient, index=total.index)
    return new


def _merge_remainder(total: Sum, pieces: list[_Piece], context: Context) -> Sum | None:
    """Replace ``x - (x // n) * n`` by ``x % n``, where the terms of x are among those of ``total``."""
    for piece in pieces:
        weight, rest = divmod(-piece.coefficient, piece.lower)
        if rest or piece.upper is not None or piece.lower == 1:
            continue
        source = context.sum_of(piece.source)
        if source.is_const or any(total.coefficient(atom) != weight * c for atom, c in source):
            continue
        new = total.copy().add(source, -weight)
        new.remove(piece.atom)
        new.add_term(FloorMod(piece.source, IntImm(piece.lower, total.dtype)), weight, index=total.index)
        return new
    return None
