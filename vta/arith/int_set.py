"""Sets of integers with symbolic ends, under TVM's names: ``arith.IntervalSet``, ``arith.IntSet``.

Tests: tests/vta/arith/test_int_set.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vta.arith.bounds import Interval, eval_interval
from vta.arith.simplify import Analyzer
from vta.tir.expr import Expr, ExprError, ExprLike, Max, Min, Ramp, Range, Var, binary, convert

__all__ = ["IntSet", "IntervalSet", "estimate_region_upper_bound", "int_set_of"]


class IntSet:
    """The integers from ``min_value`` to ``max_value``, both included; None is unbounded."""

    def __init__(self, min_value: ExprLike | None, max_value: ExprLike | None, *, nothing: bool = False) -> None:
        self.min_value = None if min_value is None else convert(min_value)
        self.max_value = None if max_value is None else convert(max_value)
        self._nothing = nothing

    @staticmethod
    def single_point(point: ExprLike) -> IntSet:
        """Return the set of one integer."""
        return IntSet(point, point)

    @staticmethod
    def vector(vec: ExprLike) -> IntSet:
        """Return a set with every lane of a vector."""
        expr = convert(vec)
        if not isinstance(expr, Ramp):
            raise ExprError(f"IntSet.vector takes a Ramp, not {expr}")
        last = Analyzer().simplify(expr.base + expr.stride * (expr.lanes - 1))
        ends = [expr.base, last]
        if not Analyzer().can_prove(expr.stride >= 0):
            ends = [Analyzer().simplify(binary(kind, expr.base, last)) for kind in (Min, Max)]
        return IntSet(*ends)

    @staticmethod
    def everything() -> IntSet:
        """Return the set of all integers."""
        return IntSet(None, None)

    @staticmethod
    def nothing() -> IntSet:
        """Return the empty set."""
        return IntSet(None, None, nothing=True)

    def is_nothing(self) -> bool:
        """Whether no integer is in it."""
        return self._nothing

    def is_everything(self) -> bool:
        """Whether all integers are in it."""
        return not self._nothing and self.min_value is None and self.max_value is None

    def __repr__(self) -> str:
        if self._nothing:
            return "IntervalSet[]"
        low = "neg_inf" if self.min_value is None else str(self.min_value)
        return f"IntervalSet[{low}, {'pos_inf' if self.max_value is None else str(self.max_value)}]"


IntervalSet = IntSet


def int_set_of(expr: Expr, dom_map: Mapping[Var, IntSet], analyzer: Analyzer) -> IntSet:
    """Return a set with every value of ``expr`` when each variable of ``dom_map`` is in its set."""
    interval = eval_interval(expr, {v: Interval(s.min_value, s.max_value) for v, s in dom_map.items()}, analyzer)
    return IntSet(interval.min, interval.max)


def estimate_region_upper_bound(region: Sequence[Range], var_dom: Mapping[Var, Range]) -> list[IntSet]:
    """Return for each dimension a set with all of its range, whatever the variables of ``var_dom`` are."""
    analyzer = Analyzer()
    free = {var: Interval.of_range(domain) for var, domain in var_dom.items()}
    result = []
    for domain in region:
        first = eval_interval(domain.min, free, analyzer)
        last = eval_interval(domain.min + domain.extent - 1, free, analyzer)
        result.append(IntSet(first.min, last.max))
    return result
