"""What ``simplify`` promises, tried on random expressions against brute force."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tir_eval import Domain, conditions, domains, evaluate, integers
from vta.arith.const_interval import ConstInterval
from vta.arith.simplify import Analyzer
from vta.tir.expr import Expr, same


def analyzer_of(domain: Domain) -> Analyzer:
    return Analyzer({var: ConstInterval(values[0], values[-1]) for var, values in domain.values.items()})


@st.composite
def int_cases(draw: st.DrawFn, dtype: str = "int32", depth: int = 3) -> tuple[Domain, Expr]:
    domain = draw(domains(dtype=dtype))
    return domain, draw(integers(list(domain.values), dtype, depth))


@st.composite
def bool_cases(draw: st.DrawFn, dtype: str = "int32", depth: int = 2) -> tuple[Domain, Expr]:
    domain = draw(domains(dtype=dtype))
    return domain, draw(conditions(list(domain.values), dtype, depth))


def check(domain: Domain, expr: Expr) -> None:
    simplified = analyzer_of(domain).simplify(expr)
    assert simplified.dtype == expr.dtype
    for env in domain.assignments():
        assert evaluate(simplified, env) == evaluate(expr, env), (env, simplified)


@settings(max_examples=300, deadline=None)
@given(int_cases())
def test_a_simplified_index_has_the_same_value_within_the_bounds(case: tuple[Domain, Expr]) -> None:
    check(*case)


@settings(max_examples=200, deadline=None)
@given(bool_cases())
def test_a_simplified_condition_has_the_same_value_within_the_bounds(case: tuple[Domain, Expr]) -> None:
    check(*case)


@settings(max_examples=200, deadline=None)
@given(int_cases(dtype="int8"))
def test_a_simplified_int8_value_wraps_as_the_original_does(case: tuple[Domain, Expr]) -> None:
    check(*case)


@settings(max_examples=100, deadline=None)
@given(bool_cases(dtype="int8"))
def test_a_simplified_condition_on_int8_values_respects_wrapping(case: tuple[Domain, Expr]) -> None:
    check(*case)


@settings(max_examples=150, deadline=None)
@given(int_cases())
def test_simplifying_twice_changes_nothing(case: tuple[Domain, Expr]) -> None:
    domain, expr = case
    analyzer = analyzer_of(domain)
    once = analyzer.simplify(expr)
    assert same(analyzer.simplify(once), once)


@settings(max_examples=150, deadline=None)
@given(int_cases())
def test_const_bounds_contain_every_value(case: tuple[Domain, Expr]) -> None:
    domain, expr = case
    bounds = analyzer_of(domain).const_bounds(expr)
    for env in domain.assignments():
        assert evaluate(expr, env) in bounds
