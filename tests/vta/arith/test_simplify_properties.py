"""What ``simplify`` promises, tried on random expressions against brute force."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.compiler.tir_eval import SMALL, Domain, X, Y, Z, conditions, domains, evaluate, integers, widened
from vta.arith.const_interval import ConstInterval
from vta.arith.simplify import Analyzer
from vta.tir.expr import EQ, LE, LT, NE, Expr, same


def analyzer_of(domain: Domain) -> Analyzer:
    return Analyzer({var: ConstInterval(values[0], values[-1]) for var, values in domain.values.items()})


INDICES = (X, Y, Z)


def check(domain: Domain, expr: Expr) -> None:
    simplified = analyzer_of(domain).simplify(expr)
    assert simplified.dtype == expr.dtype
    assert domain.first_difference(simplified, expr) is None


@settings(max_examples=300, deadline=None)
@given(domains(INDICES), integers(INDICES))
def test_a_simplified_index_has_the_same_value_within_the_bounds(domain: Domain, expr: Expr) -> None:
    check(domain, expr)


@settings(max_examples=200, deadline=None)
@given(domains(INDICES), conditions(INDICES))
def test_a_simplified_condition_has_the_same_value_within_the_bounds(domain: Domain, expr: Expr) -> None:
    check(domain, expr)


@settings(max_examples=200, deadline=None)
@given(domains(SMALL), integers(SMALL))
def test_a_simplified_int8_value_wraps_as_the_original_does(domain: Domain, expr: Expr) -> None:
    check(domain, expr)


@settings(max_examples=100, deadline=None)
@given(domains(SMALL), conditions(SMALL))
def test_a_simplified_condition_on_int8_values_respects_wrapping(domain: Domain, expr: Expr) -> None:
    check(domain, expr)


@settings(max_examples=200, deadline=None)
@given(domains((*SMALL, X, Y)), widened())
def test_converted_values_mixed_with_indices_keep_their_value(domain: Domain, expr: Expr) -> None:
    check(domain, expr)


@settings(max_examples=200, deadline=None)
@given(domains((*SMALL, X, Y)), widened(), widened(), st.sampled_from([LT, LE, EQ, NE]))
def test_comparisons_of_converted_values_keep_their_value(
    domain: Domain, a: Expr, b: Expr, kind: type[LT | LE | EQ | NE]
) -> None:
    check(domain, kind(a, b))


@settings(max_examples=150, deadline=None)
@given(domains(INDICES), integers(INDICES))
def test_simplifying_twice_changes_nothing(domain: Domain, expr: Expr) -> None:
    analyzer = analyzer_of(domain)
    once = analyzer.simplify(expr)
    assert same(analyzer.simplify(once), once)


@settings(max_examples=150, deadline=None)
@given(domains(INDICES), integers(INDICES))
def test_const_bounds_contain_every_value(domain: Domain, expr: Expr) -> None:
    bounds = analyzer_of(domain).const_bounds(expr)
    values = evaluate(expr, domain.points())
    assert values.min() in bounds
    assert values.max() in bounds
