"""What a condition says about sums: facts that hold where the condition does.

Tests: tests/vta/arith/test_simplify*.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vta.arith.const_interval import ConstInterval
from vta.arith.sums import Context, Sum, exact
from vta.tir.expr import EQ, GE, GT, LE, LT, And, Builtin, Call, Expr

__all__ = ["Fact", "conjuncts", "fact_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """The mathematical value of ``total``, a sum without constant, lies in ``interval``."""

    total: Sum
    interval: ConstInterval

    def narrows(self, other: Sum) -> tuple[Sum, ConstInterval] | None:
        """Write ``other`` as rest + k * total; return (rest, interval of k * total), None if they share nothing."""
        atom, c = next(iter(self.total))
        factor, rest = divmod(other.coefficient(atom), c)
        if rest or factor == 0:
            return None
        return other.copy().add(self.total, -factor), self.interval.scale(factor)


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """Yield the conditions that all hold where ``condition`` holds."""
    work = [condition]
    while work:
        part = work.pop()
        match part:
            case And():
                work += (part.b, part.a)
            case Call(op=Builtin.LIKELY, args=(inner,)):
                work.append(inner)
            case _:
                yield part


def fact_of(condition: Expr, context: Context) -> Fact | None:
    """Return what one comparison of integers says, None if it says nothing about a sum."""
    match condition:
        case LT() | LE() | GT() | GE() | EQ() if condition.a.dtype.is_int and condition.a.dtype.lanes == 1:
            a, b = context.sum_of(condition.a), context.sum_of(condition.b)
            difference = a.minus(b)
            if difference.is_const or not (exact(context, a) and exact(context, b)):
                return None
            limit = -difference.const
            difference.const = 0
            return Fact(difference, _interval(condition, limit))
        case _:
            return None


def _interval(condition: LT | LE | GT | GE | EQ, limit: int) -> ConstInterval:
    match condition:
        case LT():
            return ConstInterval(None, limit - 1)
        case LE():
            return ConstInterval(None, limit)
        case GT():
            return ConstInterval(limit + 1, None)
        case GE():
            return ConstInterval(limit, None)
        case EQ():
            return ConstInterval(limit, limit)
