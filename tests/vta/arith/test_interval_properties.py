"""Symbolic intervals, linear forms and clip bounds, tried on random expressions against brute force."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.compiler.tir_eval import Domain, X, Y, Z, domains, evaluate, integers
from vta.arith.bounds import Interval, eval_interval
from vta.arith.const_interval import ConstInterval
from vta.arith.linear import detect_clip_bound, detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.tir.expr import EQ, GE, GT, LE, LT, And, Expr, IntImm, const
from vta.tir.traverse import uses_var

INDICES = (X, Y, Z)
SMALL_NUMBERS = st.integers(-6, 6)


@settings(max_examples=200, deadline=None)
@given(domains(INDICES), integers(INDICES), st.sampled_from([(X,), (X, Y), (X, Y, Z)]))
def test_an_interval_contains_every_value(domain: Domain, expr: Expr, relaxed: tuple[Expr, ...]) -> None:
    env = {v: Interval(const(r[0]), const(r[-1])) for v, r in domain.values.items() if v in relaxed}
    interval = eval_interval(expr, env)
    points = domain.points()
    values = evaluate(expr, points)
    for bound, holds in ((interval.min, np.less_equal), (interval.max, np.greater_equal)):
        if bound is not None:
            assert not uses_var(bound, list(env))
            assert np.all(holds(evaluate(bound, points), values)), f"{bound} does not bound {expr}"


@settings(max_examples=200, deadline=None)
@given(domains(INDICES), integers(INDICES))
def test_an_interval_relative_to_an_outer_variable_contains_every_value(domain: Domain, expr: Expr) -> None:
    inner = domain.values[X]
    env = {X: Interval(Z * 4 + inner[0], Z * 4 + inner[-1])}
    interval = eval_interval(expr, env)
    points = domain.points()
    values = evaluate(expr, {**points, X: points[Z] * 4 + points[X]})
    assert interval.min is None or np.all(evaluate(interval.min, points) <= values)
    assert interval.max is None or np.all(evaluate(interval.max, points) >= values)


@settings(max_examples=200, deadline=None)
@given(domains(INDICES), integers(INDICES), st.sampled_from([(X,), (X, Y), (Z, Y, X), ()]))
def test_a_linear_form_adds_up_to_the_expression(domain: Domain, expr: Expr, over: tuple[Expr, ...]) -> None:
    form = detect_linear_equation(expr, over)
    if form is None:
        return
    assert len(form) == len(over) + 1
    total: Expr = form[-1]
    for coefficient, var in zip(form, over, strict=False):
        assert not uses_var(coefficient, list(over))
        total = total + coefficient * var
    assert domain.first_difference(total, expr) is None


@settings(max_examples=100, deadline=None)
@given(st.lists(SMALL_NUMBERS, min_size=4, max_size=4), domains(INDICES))
def test_every_linear_expression_is_detected(numbers: list[int], domain: Domain) -> None:
    a, b, c, d = numbers
    expr = (X * a + Y) * b + Z * c + d - X
    form = detect_linear_equation(expr, [X, Y])
    assert form is not None
    assert domain.first_difference(form[0] * X + form[1] * Y + form[2], expr) is None


@settings(max_examples=200, deadline=None)
@given(
    domains(INDICES),
    st.lists(st.tuples(st.sampled_from([LT, LE, GT, GE, EQ]), SMALL_NUMBERS, SMALL_NUMBERS, SMALL_NUMBERS), min_size=1),
)
def test_a_clip_bound_is_the_set_where_the_condition_holds(
    domain: Domain, parts: list[tuple[type[LT], int, int, int]]
) -> None:
    condition: Expr | None = None
    for number, (kind, factor, other, limit) in enumerate(parts):
        var = (X, Y)[number % 2]
        comparison = kind(var * factor + Z * other, const(limit))
        condition = comparison if condition is None else And(condition, comparison)
    assert condition is not None
    bounds = detect_clip_bound(condition, [X, Y])
    if bounds is None:
        assert any(factor == 0 or (kind is EQ and abs(factor) > 1) for kind, factor, _, _ in parts)
        return
    inside: Expr = IntImm(1, condition.dtype)
    for var, (low, high) in zip((X, Y), bounds, strict=True):
        inside = inside if low is None else And(inside, GE(var, low))
        inside = inside if high is None else And(inside, LE(var, high))
    assert domain.first_difference(inside, condition) is None


@settings(max_examples=150, deadline=None)
@given(domains(INDICES), integers(INDICES, 2), integers(INDICES, 2), integers(INDICES))
def test_what_is_simplified_under_a_constraint_is_equal_where_it_holds(
    domain: Domain, a: Expr, b: Expr, expr: Expr
) -> None:
    condition = LT(a, b)
    analyzer = Analyzer()
    with analyzer.constraint(condition):
        simplified = analyzer.simplify(expr)
    points = domain.points()
    holds = evaluate(condition, points)
    same = evaluate(simplified, points) == evaluate(expr, points)
    assert np.all(same | (holds == 0)), f"{expr} under {condition} became {simplified}"


@settings(max_examples=200, deadline=None)
@given(domains(INDICES), integers(INDICES, 2), integers(INDICES, 2))
def test_what_is_proved_holds_everywhere(domain: Domain, a: Expr, b: Expr) -> None:
    analyzer = Analyzer({v: const_interval(r) for v, r in domain.values.items()})
    points = domain.points()
    if analyzer.can_prove(a <= b):
        assert np.all(evaluate(a, points) <= evaluate(b, points))
    if analyzer.can_prove_equal(a, b):
        assert np.all(evaluate(a, points) == evaluate(b, points))


def const_interval(values: range) -> ConstInterval:
    return ConstInterval(values[0], values[-1])
