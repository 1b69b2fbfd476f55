"""Sets of integers with symbolic ends, under TVM's names: ``arith.IntervalSet``, ``arith.IntSet``.

Tests: tests/vta/arith/test_int_set.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vta.arith.bounds import ConstInterval, Interval, eval_interval
from vta.arith.facts import conjuncts
from vta.arith.linear import detect_clip_bound
from vta.arith.simplify import Analyzer
from vta.tir.dtype import HANDLE
from vta.tir.expr import Expr, ExprError, ExprLike, IntImm, Max, Min, Ramp, Range, Var, binary, const, convert
from vta.tir.traverse import walk

__all__ = [
    "IntSet", "IntervalSet", "estimate_region_upper_bound", "int_set_of", "neg_inf", "pos_inf", "union_lower_bound",
]  # fmt: skip

_NEG_INF = Var("neg_inf", HANDLE)
_POS_INF = Var("pos_inf", HANDLE)


def neg_inf() -> Var:
    """Return the end of a set that has no least integer."""
    return _NEG_INF


def pos_inf() -> Var:
    """Return the end of a set that has no largest integer."""
    return _POS_INF


class IntSet:
    """The integers from ``low`` to ``high``, both included; None is unbounded."""

    def __init__(self, min_value: ExprLike | None, max_value: ExprLike | None, *, nothing: bool = False) -> None:
        self.low = None if min_value is None or min_value is _NEG_INF else convert(min_value)
        self.high = None if max_value is None or max_value is _POS_INF else convert(max_value)
        self._nothing = nothing

    @property
    def min_value(self) -> Expr:
        """The least integer, under TVM's name: ``neg_inf()`` if there is none, ``pos_inf()`` of the empty set."""
        if self._nothing:
            return _POS_INF
        return _NEG_INF if self.low is None else self.low

    @property
    def max_value(self) -> Expr:
        """The largest integer, under TVM's name: ``pos_inf()`` if there is none, ``neg_inf()`` of the empty set."""
        if self._nothing:
            return _NEG_INF
        return _POS_INF if self.high is None else self.high

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
        return not self._nothing and self.low is None and self.high is None

    def is_single_point(self) -> bool:
        """Whether there is exactly one integer in it, and the ends say so."""
        return self.low is not None and self.high is not None and Analyzer().can_prove_equal(self.low, self.high)

    def __repr__(self) -> str:
        if self._nothing:
            return "IntervalSet[]"
        low = "neg_inf" if self.low is None else str(self.low)
        return f"IntervalSet[{low}, {'pos_inf' if self.high is None else str(self.high)}]"


IntervalSet = IntSet


def int_set_of(expr: Expr, dom_map: Mapping[Var, IntSet], analyzer: Analyzer) -> IntSet:
    """Return a set with every value of ``expr`` when each variable of ``dom_map`` is in its set."""
    interval = eval_interval(expr, {v: Interval(s.low, s.high) for v, s in dom_map.items()}, analyzer)
    if interval.min is None or interval.max is None:
        constant = _constant_set(expr, dom_map)
        return IntSet(
            constant.low if interval.min is None else interval.min,
            constant.high if interval.max is None else interval.max,
        )
    return IntSet(interval.min, interval.max)


def _constant_set(expr: Expr, dom_map: Mapping[Var, IntSet]) -> IntSet:
    """Return what the constant ends of the variables' sets say of ``expr``; everything where another is in it."""
    known = Analyzer()
    for var in {node for node in walk(expr) if isinstance(node, Var)}:
        held = dom_map.get(var)
        if held is None:
            return IntSet.everything()
        low, high = (end.value if isinstance(end, IntImm) else None for end in (held.low, held.high))
        known.bind(var, ConstInterval(low, high))
    bounds = known.const_bounds(expr)
    return IntSet(*(None if end is None else const(end, expr.dtype) for end in (bounds.lo, bounds.hi)))


def union_lower_bound(sets: Sequence[IntSet]) -> IntSet:
    """Return a set all of whose integers are in one of ``sets``: of those that meet or touch, as many as there are.

    Sets that are not proved to touch the ones before them are left out, so that there is no gap in it.
    """
    known = Analyzer()
    total: IntSet | None = None
    for part in sets:
        if part.is_nothing():
            continue
        if total is None:
            total = part
        elif _touches(total, part, known):
            ends = [(Min, total.low, part.low), (Max, total.high, part.high)]
            low, high = (None if a is None or b is None else known.simplify(binary(kind, a, b)) for kind, a, b in ends)
            total = IntSet(low, high)
    return IntSet.nothing() if total is None else total


def _touches(a: IntSet, b: IntSet, known: Analyzer) -> bool:
    """Whether no integer lies between two sets."""
    pairs = ((a.low, b.high), (b.low, a.high))
    return all(low is None or high is None or known.can_prove(low <= high + 1) for low, high in pairs)


def estimate_region_upper_bound(
    region: Sequence[Range], var_dom: Mapping[Var, Range], predicate: ExprLike = True
) -> list[IntSet]:
    """Return for each dimension a set with all of its range, whatever the variables of ``var_dom`` are.

    Of these, values for which ``predicate`` does not hold do not count, where it bounds one of them by itself.
    """
    analyzer = Analyzer()
    var_dom = _where(var_dom, convert(predicate), analyzer)
    free = {var: Interval.of_range(domain) for var, domain in var_dom.items()}
    result = []
    for domain in region:
        first = eval_interval(domain.min, free, analyzer)
        last = eval_interval(domain.min + domain.extent - 1, free, analyzer)
        result.append(IntSet(first.min, last.max))
    return result


def _where(var_dom: Mapping[Var, Range], predicate: Expr, analyzer: Analyzer) -> dict[Var, Range]:
    """Return the domains, cut down to where ``predicate`` holds."""
    result = dict(var_dom)
    for part in conjuncts(predicate):
        clipped = detect_clip_bound(part, list(var_dom), analyzer)
        for (var, domain), (low, high) in zip(list(result.items()), clipped or (), strict=False):
            if low is None and high is None:
                continue
            first = domain.min if low is None else analyzer.simplify(binary(Max, domain.min, low))
            end = domain.min + domain.extent - 1
            last = end if high is None else binary(Min, end, high)
            result[var] = Range(first, analyzer.simplify(last - first + 1))
    return result
