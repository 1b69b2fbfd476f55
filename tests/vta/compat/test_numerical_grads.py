"""Derivatives against differences of values."""

from collections.abc import Callable

import numpy as np
import pytest

from vta.compat.numerical_grads import GradientError, check_numerical_grads

X, Y = np.array([[0.5, -1.0], [2.0, 0.25]]), np.array([1.5, -0.5])


def function(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.sum(x * x @ y))


GRADS = [2 * X * Y[None, :], (X * X).sum(0)]


def test_right_derivatives_pass_in_order_and_by_name() -> None:
    check_numerical_grads(function, [X, Y], GRADS, function_value=function(X, Y))
    check_numerical_grads(function, {"x": X, "y": Y}, {"x": GRADS[0], "y": GRADS[1]})


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (lambda: check_numerical_grads(function, [X, Y], [GRADS[0], GRADS[1] + 1]), "the derivatives by input 1 are "),
        (lambda: check_numerical_grads(function, [X, Y], [GRADS[1], GRADS[1]]), "input 0 has shape (2, 2), its deriv"),
        (
            lambda: check_numerical_grads(function, [X, Y], GRADS, function_value=9.0),
            "the function is 5.84375 at ",
        ),
    ],
)
def test_wrong_derivatives_are_told(check: Callable[[], None], text: str) -> None:
    with pytest.raises(GradientError) as error:
        check()
    assert str(error.value).startswith(text)
