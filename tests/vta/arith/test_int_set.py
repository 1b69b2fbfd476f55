"""Sets of integers with symbolic ends."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.support.compiler.tir_eval import Domain, X, Y, Z, domains, evaluate, integers
from vta.arith.int_set import IntervalSet, IntSet, estimate_region_upper_bound, neg_inf, pos_inf, union_lower_bound
from vta.arith.tvm_analyzer import TvmAnalyzer
from vta.tir.expr import Expr, ExprError, Ramp, Range, Var, const

n, i = Var("n"), Var("i")


@settings(max_examples=100, deadline=None)
@given(domains((X, Y, Z)), integers((X, Y, Z)))
def test_a_set_has_every_value(domain: Domain, expr: Expr) -> None:
    sets = {v: IntSet(const(r[0]), const(r[-1])) for v, r in domain.values.items()}
    found = TvmAnalyzer().int_set(expr, sets)
    values = evaluate(expr, domain.points())
    if found.low is not None:
        assert np.all(evaluate(found.low, domain.points()) <= values)
    if found.high is not None:
        assert np.all(evaluate(found.high, domain.points()) >= values)


def test_sets_print_their_ends() -> None:
    assert repr(IntervalSet(0, n)) == "IntervalSet[0, n]"
    assert repr(IntSet.everything()) == "IntervalSet[neg_inf, pos_inf]"
    assert repr(IntSet.nothing()) == "IntervalSet[]"
    assert IntSet.everything().is_everything()
    assert IntSet.nothing().is_nothing()
    assert not IntSet.nothing().is_everything()
    assert repr(IntSet.single_point(n + 1)) == "IntervalSet[(n + 1), (n + 1)]"


def test_the_lanes_of_a_vector() -> None:
    assert repr(IntSet.vector(Ramp(n, const(2), 4))) == "IntervalSet[n, (n + 6)]"
    down = IntSet.vector(Ramp(n, const(-2), 4))
    assert (str(down.min_value), str(down.max_value)) == ("(n - 6)", "n")
    with pytest.raises(ExprError, match="takes a Ramp, not n"):
        IntSet.vector(n)


def test_regions_are_bounded_over_variables() -> None:
    [found] = estimate_region_upper_bound([Range(i * 4, const(6))], {i: Range(const(0), const(10))})
    assert repr(found) == "IntervalSet[0, 41]"


def test_sets_without_end_have_the_names_of_their_ends() -> None:
    assert IntSet.everything().min_value is neg_inf()
    assert IntSet.everything().max_value is pos_inf()
    assert IntSet.nothing().min_value is pos_inf()
    assert IntSet(neg_inf(), pos_inf()).is_everything()
    assert IntSet.single_point(n).is_single_point()
    assert not IntSet(n, n + 1).is_single_point()


def test_products_of_constant_sets_have_ends() -> None:
    found = TvmAnalyzer().int_set(X * Y, {X: IntSet(-3, 4), Y: IntSet(1, 11)})
    assert (str(found.min_value), str(found.max_value)) == ("-33", "44")


def test_a_region_is_bounded_where_a_condition_holds() -> None:
    domain = {i: Range(const(0), const(10))}
    [found] = estimate_region_upper_bound([Range(i * 4, const(6))], domain, i.asexpr() < 3)
    assert repr(found) == "IntervalSet[0, 13]"


def test_sets_that_touch_are_united() -> None:
    whole = union_lower_bound([IntSet(0, 3), IntSet(4, 9), IntSet(12, None), IntSet.nothing(), IntSet(-2, 0)])
    assert repr(whole) == "IntervalSet[-2, 9]"
    assert union_lower_bound([]).is_nothing()
    assert union_lower_bound([IntSet(None, 0), IntSet(0, None)]).is_everything()
