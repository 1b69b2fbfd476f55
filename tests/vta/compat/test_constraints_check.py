"""Rewritten systems of integers are tried on all values."""

import pytest

from vta.arith.int_constraints import IntConstraints, IntConstraintsTransform
from vta.arith.linear_equations import solve_linear_equations
from vta.compat.constraints_check import (
    ConsistencyError,
    check_bool_expr_is_true,
    check_int_constraints_trans_consistency,
)
from vta.tir.expr import Range, Var, const

X, Y, N = Var("x"), Var("y"), Var("n")


def test_conditions_are_tried_on_all_values() -> None:
    values = {X: Range(const(0), const(4))}
    check_bool_expr_is_true(X < 4, values)
    check_bool_expr_is_true(X < 3, values, cond=X != 3)
    check_bool_expr_is_true(X + Y * 0 < Y * 0 + 100, {X: Range(const(0), const(100)), Y: Range(const(0), const(100))})
    with pytest.raises(ConsistencyError) as error:
        check_bool_expr_is_true(X < 3, values)
    assert str(error.value) == "(x < 3) does not hold for x = 3"
    with pytest.raises(ConsistencyError, match=r"does not hold for y = -5, x = 0$"):
        check_bool_expr_is_true(Y >= X, {X: Range(const(0), Y)} | values)


def test_systems_are_compared_both_ways() -> None:
    ranges = {X: Range(const(-5), const(10)), Y: Range(const(0), const(10))}
    check_int_constraints_trans_consistency(solve_linear_equations((X + Y == 3).asexpr(), [X, Y], ranges))
    src = IntConstraints((X,), {X: Range(const(0), const(4))})
    wrong = IntConstraintsTransform(src, IntConstraints((N,), {N: Range(const(0), const(5))}), {X: N}, {N: X})
    with pytest.raises(ConsistencyError, match=r"does not hold for n = 4$"):
        check_int_constraints_trans_consistency(wrong)
