"""Ranges of integers that linear inequalities allow, by eliminating one variable after the other (Fourier, Motzkin).

For ``x + y <= 20`` and ``x - y >= 10``: y is from 0 to 5, and x from y + 10 on, 11 values at most. What the ranges do
not say stays as relations. Tests: tests/vta/arith/test_linear_system.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from vta.arith.bounds import Interval, eval_interval
from vta.arith.int_constraints import (
    IntConstraints,
    IntConstraintsTransform,
    LinearSystemError,
    as_relations,
    impossible,
)
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.tir.dtype import BOOL
from vta.tir.expr import EQ, GE, GT, LE, LT, Expr, ExprLike, IntImm, Range, Var, const, same
from vta.tir.traverse import substitute

__all__ = ["solve_linear_inequalities"]

_MOST = 200
"""So many inequalities may there be at once; eliminating a variable multiplies them."""


@dataclass(frozen=True, slots=True)
class _Atleast:
    """``sum(factors[i] * variables[i]) + rest >= 0``."""

    factors: tuple[int, ...]
    rest: Expr


def solve_linear_inequalities(
    equations: ExprLike | Sequence[ExprLike],
    variables: Sequence[Var] | None = None,
    ranges: Mapping[Var, Range] | None = None,
    deskew_range: bool = False,
) -> IntConstraints | IntConstraintsTransform:
    """Return the system with a range for every variable that has both ends, in terms of the later ones.

    With ``deskew_range`` the variables of the result count from zero, and maps say what they are. A system without
    solutions has the relation False. Raises ``LinearSystemError`` for a relation that is not linear with constant
    factors, and for systems that grow too large.
    """
    relations = as_relations(equations)
    solved = tuple(variables or ())
    domains = {var: dom for var, dom in (ranges or {}).items() if var in solved}
    src = IntConstraints(solved, domains, relations)
    system = [item for relation in relations for item in _atleast(relation, solved)]
    for var, dom in domains.items():
        system += _atleast(LE(dom.min, var), solved) + _atleast(LT(var, dom.min + dom.extent), solved)
    bounds, conditions = _eliminated(system, solved)
    found = _ranges(bounds, solved, conditions)
    if found is None:
        failed = impossible(src)
        return failed if deskew_range else failed.dst
    if not deskew_range:
        return IntConstraints(solved, found, _left(relations, domains, found, conditions, {}))
    return _deskewed(src, found, conditions)


def _atleast(relation: Expr, variables: Sequence[Var]) -> list[_Atleast]:
    match relation:
        case IntImm():
            return [] if relation.value else [_Atleast((0,) * len(variables), const(-1))]
        case GE(a=a, b=b) | LE(a=b, b=a):
            differences = [a - b]
        case GT(a=a, b=b) | LT(a=b, b=a):
            differences = [a - b - 1]
        case EQ(a=a, b=b):
            differences = [a - b, b - a]
        case _:
            raise LinearSystemError(f"{relation} is no inequality or equation")
    result = []
    for difference in differences:
        form = detect_linear_equation(difference, variables)
        if form is None or not all(isinstance(c, IntImm) for c in form[:-1]):
            raise LinearSystemError(f"{relation} is not linear in the variables, with constant factors")
        result.append(_Atleast(tuple(c.value for c in form[:-1] if isinstance(c, IntImm)), form[-1]))
    return result


def _eliminated(system: list[_Atleast], variables: Sequence[Var]) -> tuple[list[list[_Atleast]], list[Expr]]:
    """Return for every variable the inequalities that bound it by later ones, and the conditions without variables."""
    bounds: list[list[_Atleast]] = []
    left = [_reduced(item) for item in system]
    for i in range(len(variables)):
        left = _distinct(left)
        own = [item for item in left if item.factors[i]]
        lower = [item for item in own if item.factors[i] > 0]
        upper = [item for item in own if item.factors[i] < 0]
        left = [item for item in left if not item.factors[i]]
        left += [_reduced(_combined(low, high, i)) for low in lower for high in upper]
        if len(left) > _MOST:
            raise LinearSystemError(f"the system grows beyond {_MOST} inequalities; solve for fewer variables")
        bounds.append(own)
    conditions = [Analyzer().simplify(item.rest >= 0) for item in _distinct(left)]
    return bounds, [c for c in conditions if not (isinstance(c, IntImm) and c.value)]


def _combined(low: _Atleast, high: _Atleast, i: int) -> _Atleast:
    """Return a sum of two inequalities in which variable ``i`` does not occur."""
    common = gcd(low.factors[i], high.factors[i])
    a, b = -high.factors[i] // common, low.factors[i] // common
    factors = tuple(a * x + b * y for x, y in zip(low.factors, high.factors, strict=True))
    return _Atleast(factors, low.rest * a + high.rest * b)


def _reduced(item: _Atleast) -> _Atleast:
    """Return an inequality with the factors' common divisor divided out, rounded towards what integers allow."""
    rest = Analyzer().simplify(item.rest)
    divisor = gcd(*item.factors) if any(item.factors) else 1
    if divisor > 1 and isinstance(rest, IntImm):
        return _Atleast(tuple(f // divisor for f in item.factors), const(rest.value // divisor))
    return _Atleast(item.factors, rest)


def _distinct(system: Sequence[_Atleast]) -> list[_Atleast]:
    """Return inequalities without those that another one of the same factors implies, or that always hold."""
    kept: list[_Atleast] = []
    for item in system:
        if not any(item.factors) and isinstance(item.rest, IntImm) and item.rest.value >= 0:
            continue
        for i, other in enumerate(kept):
            if other.factors != item.factors:
                continue
            if isinstance(other.rest, IntImm) and isinstance(item.rest, IntImm):
                kept[i] = item if item.rest.value < other.rest.value else other
                break
            if same(other.rest, item.rest):
                break
        else:
            kept.append(item)
    return kept


def _ranges(
    bounds: Sequence[Sequence[_Atleast]], variables: Sequence[Var], conditions: Sequence[Expr]
) -> dict[Var, Range] | None:
    """Return the ranges of the variables that have two ends, the last variable first; None if one has no value."""
    analyzer = Analyzer()
    if any(isinstance(condition, IntImm) for condition in conditions):
        return None
    known: dict[Var, Interval] = {}
    result: dict[Var, Range] = {}
    for i in reversed(range(len(variables))):
        best: tuple[Expr, Expr] | None = None
        for low in (item for item in bounds[i] if item.factors[i] > 0):
            begin = analyzer.simplify(_quotient_up(low, i, variables))
            for high in (item for item in bounds[i] if item.factors[i] < 0):
                end = analyzer.simplify(_quotient_down(high, i, variables))
                size = _largest(analyzer.simplify(end - begin + 1), known, analyzer)
                if size is not None and (best is None or _is_less(size, best[1])):
                    best = (begin, size)
        if best is None:
            continue
        if isinstance(best[1], IntImm) and best[1].value <= 0:
            return None
        result[variables[i]] = Range(*best)
        analyzer.bind(variables[i], result[variables[i]])
        known[variables[i]] = Interval.of_range(result[variables[i]])
    return dict(reversed(result.items()))


def _largest(size: Expr, known: Mapping[Var, Interval], analyzer: Analyzer) -> Expr | None:
    """Return the largest value of a size whatever the variables are."""
    largest: Expr | None = size
    for var in reversed(list(known)):
        largest = None if largest is None else eval_interval(largest, {var: known[var]}, analyzer).max
    return None if largest is None else analyzer.simplify(largest)


def _is_less(a: Expr, b: Expr) -> bool:
    return isinstance(a, IntImm) and not (isinstance(b, IntImm) and b.value <= a.value)


def _others(item: _Atleast, i: int, variables: Sequence[Var], sign: int) -> Expr:
    total: Expr = const(0)
    for k, factor in enumerate(item.factors):
        if k != i and factor:
            total = total + variables[k] * (sign * factor)
    return total + item.rest * sign


def _quotient_up(item: _Atleast, i: int, variables: Sequence[Var]) -> Expr:
    """Return the least value of a variable: its factor is positive."""
    factor = item.factors[i]
    value = _others(item, i, variables, -1)
    return value if factor == 1 else (value + factor - 1) // factor


def _quotient_down(item: _Atleast, i: int, variables: Sequence[Var]) -> Expr:
    """Return the largest value of a variable: its factor is negative."""
    factor = -item.factors[i]
    value = _others(item, i, variables, 1)
    return value if factor == 1 else value // factor


def _left(
    relations: Sequence[Expr],
    domains: Mapping[Var, Range],
    known: Mapping[Var, Range],
    conditions: Sequence[Expr],
    values: Mapping[Var, Expr],
) -> tuple[Expr, ...]:
    """Return what ranges do not say of the relations, and of the ranges that were given."""
    analyzer = Analyzer()
    for var in reversed(list(known)):
        analyzer.bind(var, known[var])
    wanted = [*relations, *conditions]
    for var, dom in domains.items():
        wanted += [LE(dom.min, var), LT(var, dom.min + dom.extent)]
    result: list[Expr] = []
    for relation in wanted:
        simple = analyzer.simplify(substitute(relation, dict(values)))
        if (isinstance(simple, IntImm) and simple.value) or analyzer.can_prove(simple):
            continue
        if not any(same(simple, other) for other in result):
            result.append(simple)
    if any(isinstance(relation, IntImm) for relation in result):
        return (IntImm(0, BOOL),)
    return tuple(result)


def _deskewed(src: IntConstraints, found: Mapping[Var, Range], conditions: Sequence[Expr]) -> IntConstraintsTransform:
    """Return the system in variables that count from zero; one of a single value is none any more."""
    analyzer = Analyzer()
    src_to_dst: dict[Var, Expr] = {}
    dst_to_src: dict[Var, Expr] = {}
    ranges: dict[Var, Range] = {}
    fresh: list[Var] = []
    for var in reversed(src.variables):
        if var not in found:
            new = Var(f"{var.name}_new", var.dtype)
            src_to_dst[var], dst_to_src[new] = new, var
            fresh.append(new)
            continue
        dom = found[var]
        low = analyzer.simplify(substitute(dom.min, src_to_dst))
        if isinstance(dom.extent, IntImm) and dom.extent.value == 1:
            src_to_dst[var] = low
            continue
        new = Var(f"{var.name}_new", var.dtype)
        src_to_dst[var] = new + low
        dst_to_src[new] = analyzer.simplify(var - dom.min)
        ranges[new] = Range(const(0), dom.extent)
        fresh.append(new)
    relations = _left(src.relations, src.ranges, ranges, conditions, src_to_dst)
    if any(isinstance(relation, IntImm) for relation in relations):
        return impossible(src)
    ordered = {var: src_to_dst[var] for var in src.variables}
    return IntConstraintsTransform(src, IntConstraints(tuple(reversed(fresh)), ranges, relations), ordered, dst_to_src)
