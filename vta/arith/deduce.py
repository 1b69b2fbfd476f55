"""What a condition demands of one variable, whatever others are: ``arith.deduce_bound``.

Tests: tests/vta/arith/test_deduce.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from vta.arith.bounds import Interval, eval_interval
from vta.arith.const_interval import ConstInterval
from vta.arith.facts import conjuncts
from vta.arith.int_set import IntSet
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.tir.expr import EQ, GE, GT, LE, LT, Expr, ExprLike, FloorDiv, IntImm, Max, Min, Var, binary, convert
from vta.tir.traverse import uses_var

__all__ = ["deduce_bound"]


def deduce_bound(var: Var, cond: ExprLike, hint_map: Mapping[Var, IntSet], relax_map: Mapping[Var, IntSet]) -> IntSet:
    """Return a set of values of ``var`` for each of which ``cond`` holds, whatever the variables of ``relax_map`` are.

    ``cond`` is a conjunction of comparisons that are linear in ``var``, with a factor whose sign is known; ``hint_map``
    says what is known of other variables. The set of nothing if there is no such form, or no bound.
    """
    analyzer = Analyzer()
    for other, known in hint_map.items():
        if other not in relax_map and isinstance(known.low, IntImm) and isinstance(known.high, IntImm):
            analyzer.bind(other, ConstInterval(known.low.value, known.high.value))
    low: Expr | None = None
    high: Expr | None = None
    for part in conjuncts(convert(cond)):
        found = _one(var, part, relax_map, analyzer)
        if found is None:
            return IntSet.nothing()
        if found.min is not None:
            low = found.min if low is None else analyzer.simplify(binary(Max, low, found.min))
        if found.max is not None:
            high = found.max if high is None else analyzer.simplify(binary(Min, high, found.max))
    return IntSet(low, high)


def _one(var: Var, part: Expr, relax_map: Mapping[Var, IntSet], analyzer: Analyzer) -> Interval | None:
    match part:
        case LT() | LE() | GT() | GE():
            smaller, larger = (part.a, part.b) if isinstance(part, LT | LE) else (part.b, part.a)
            slack = larger - smaller - (1 if isinstance(part, LT | GT) else 0)
            return _from_slack(var, slack, relax_map, analyzer)
        case EQ():
            above = _from_slack(var, part.a - part.b, relax_map, analyzer)
            below = _from_slack(var, part.b - part.a, relax_map, analyzer)
            if above is None or below is None:
                return None
            low = above.min if above.min is not None else below.min
            return Interval(low, above.max if above.max is not None else below.max)
        case _:
            return None


def _from_slack(var: Var, slack: Expr, relax_map: Mapping[Var, IntSet], analyzer: Analyzer) -> Interval | None:
    """Return the values of ``var`` for which ``slack`` is at least 0."""
    if not slack.dtype.is_int:
        return None
    form = detect_linear_equation(slack, [var], analyzer)
    if form is None:
        return None
    free = {other: Interval(s.low, s.high) for other, s in relax_map.items()}
    least = eval_interval(form[1], free, analyzer).min
    if least is None:
        return None
    if not isinstance(form[0], IntImm):
        return None if uses_var(form[0], relax_map) else _divided(form[0], least, analyzer)
    factor = form[0].value
    if factor == 0:
        return None
    quotient = analyzer.simplify(binary(FloorDiv, least, abs(factor)))
    if factor < 0:
        return Interval(None, quotient)
    return Interval(analyzer.simplify(0 - quotient), None)


def _divided(factor: Expr, least: Expr, analyzer: Analyzer) -> Interval | None:
    """Return the values times ``factor`` of which are at least ``-least``; a bound below is one too high at most.

    What is known of the variables decides the sign alone: the bound is for whoever does not know it.
    """
    plain = Analyzer()
    if analyzer.can_prove(factor < 0):
        return Interval(None, plain.simplify(binary(FloorDiv, 0 - least, factor)))
    if not analyzer.can_prove(factor > 0):
        return None
    return Interval(plain.simplify(binary(FloorDiv, 0 - least, factor) + 1), None)
