"""Bounds of one variable from a condition: every value in the set fulfils it, and none outside that could."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.compiler.tir_eval import evaluate
from vta.arith.deduce import deduce_bound
from vta.arith.int_set import IntSet
from vta.tir import ops
from vta.tir.expr import EQ, GE, GT, LE, LT, Expr, IntImm, Var

x, y, z = Var("x"), Var("y"), Var("z")
FACTORS = st.integers(-4, 4)
PYTHON = {LT: "<", LE: "<=", GT: ">", GE: ">=", EQ: "=="}


@settings(max_examples=120, deadline=None)
@given(FACTORS.filter(bool), FACTORS, st.integers(-10, 10), st.integers(-10, 10), st.sampled_from([LT, LE, GT, GE]))
def test_a_bound_is_right_and_tight(a: int, b: int, c: int, limit: int, kind: type[LT]) -> None:
    found = deduce_bound(x, kind(x * a + y * b + c, IntImm(limit)), {}, {y: IntSet(0, 3)})

    def holds(value: int) -> bool:
        left = [value * a + other * b + c for other in range(4)]
        return all(eval(f"{number} {PYTHON[kind]} {limit}") for number in left)

    low = None if found.low is None else int(found.low)  # type: ignore[call-overload]
    high = None if found.high is None else int(found.high)  # type: ignore[call-overload]
    assert not found.is_nothing()
    for value in range(-60, 60):
        inside = (low is None or value >= low) and (high is None or value <= high)
        assert inside == holds(value)


def ends(found: IntSet) -> tuple[str, str]:
    return str(found.low), str(found.high)


def test_bounds_of_other_variables_are_expressions() -> None:
    assert ends(deduce_bound(x, x + y < z, {}, {y: IntSet(0, 9)})) == ("None", "(z - 10)")
    assert ends(deduce_bound(x, ops.all(x >= 3, x * 2 <= z), {}, {})) == ("3", "floordiv(z, 2)")
    assert ends(deduce_bound(x, (x + 2 == z).asexpr(), {}, {})) == ("(z - 2)", "(z - 2)")


def test_what_has_no_such_form_is_nothing() -> None:
    for condition in (x * x > 3, x // 2 > z, ops.any(x > 3, x < 1), (y > 3)):
        assert deduce_bound(x, condition, {}, {}).is_nothing()
    assert deduce_bound(x, x < y, {}, {y: IntSet.everything()}).is_nothing()


def test_values_of_small_boxes() -> None:
    condition: Expr = ops.all(x * 2 - y < 7, x + z > 1)
    found = deduce_bound(x, condition, {}, {y: IntSet(0, 4), z: IntSet(2, 5)})
    low, high = int(str(found.low)), int(str(found.high))
    good = [
        v
        for v in range(-20, 20)
        if all(v * 2 - b < 7 and v + c > 1 for b, c in itertools.product(range(5), range(2, 6)))
    ]
    assert (low, high) == (good[0], good[-1])


@pytest.mark.parametrize("low", [2, -6])
def test_a_factor_may_be_a_variable_of_known_sign(low: int) -> None:
    factors = range(low, low + 3)
    found = deduce_bound(x, x * y + z >= 0, {y: IntSet(factors[0], factors[-1])}, {z: IntSet(-9, 4)})
    assert (found.high is None, found.low is None) == (low > 0, low < 0)
    for factor in factors:
        end = found.low if low > 0 else found.high
        assert end is not None
        value = evaluate(end, {y: np.array([factor])})[0]
        best = -(-9 // factor) if low > 0 else 9 // factor
        assert 0 <= (value - best) * (1 if low > 0 else -1) <= 1
        assert all(value * factor + rest >= 0 for rest in range(-9, 5))


def test_what_is_known_of_a_factor_stays_out_of_the_bound() -> None:
    found = deduce_bound(x, x * y - z >= 0, {y: IntSet(5, 7)}, {z: IntSet(0, 2)})
    assert ends(found) == ("(floordiv(2, y) + 1)", "None")
