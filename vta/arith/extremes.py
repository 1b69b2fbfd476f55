"""Minimum and maximum of sums: operands that another one always beats go, constants come last.

Tests: tests/vta/arith/test_simplify*.py.
"""

from __future__ import annotations

from vta.arith.sums import Context, Sum, exact
from vta.tir.deep import deep
from vta.tir.expr import Expr, IntImm, Max, Min

__all__ = ["extreme"]


@deep
def _operands(kind: type[Min | Max], total: Sum, context: Context) -> list[Sum]:
    """Return the operands of nested minima (or maxima), in order."""
    if total.const == 0 and len(total.terms) == 1:
        ((atom, c),) = total.terms.values()
        if c == 1 and type(atom) is kind and isinstance(atom, Min | Max):
            return [
                *_operands(kind, context.sum_of(atom.a), context),
                *_operands(kind, context.sum_of(atom.b), context),
            ]
    return [total]


def _beats(kind: type[Min | Max], a: Sum, b: Sum, context: Context) -> bool:
    """Whether the minimum (or maximum) of the two is ``a`` whatever the variables are."""
    difference = b.minus(a) if kind is Min else a.minus(b)
    if difference.is_const and difference.const == 0:
        return True
    return exact(context, a) and exact(context, b) and context.proves_nonnegative(difference)


def extreme(kind: type[Min | Max], a: Sum, b: Sum, context: Context) -> Sum:
    """Return the minimum or maximum of two sums as a sum."""
    kept: list[Sum] = []
    for operand in (*_operands(kind, a, context), *_operands(kind, b, context)):
        if any(_beats(kind, other, operand, context) for other in kept):
            continue
        kept = [other for other in kept if not _beats(kind, operand, other, context)]
        kept.append(operand)
    if len(kept) == 1:
        return kept[0]
    kept.sort(key=lambda operand: operand.is_const)
    index = all(operand.index for operand in kept)
    result: Expr = kept[0].emit()
    for operand in kept[1:]:
        result = kind(result, operand.emit())
    total = Sum(a.dtype)
    total.add_term(result, 1, index=index)
    return total if not isinstance(result, IntImm) else Sum(a.dtype, result.value)
