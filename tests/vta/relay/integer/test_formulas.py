"""Functions of cells with a formula: found by their numbers, and near to the exact function for every cell."""

from collections.abc import Callable

import numpy as np
import pytest

from vta.relay.integer.formulas import formula_of, formula_steps
from vta.topi.core.fixed_point import FixedPointError

SOURCE, TARGET = (0.047, -9), (0.031, 4)
REALS = (np.arange(-128, 128) - SOURCE[1]) * SOURCE[0]

FOUND: list[tuple[str, Callable[[np.ndarray], np.ndarray]]] = [
    ("hard_sigmoid", lambda r: np.clip(r * 0.2 + 0.5, 0, 1)),
    ("hard_sigmoid", lambda r: np.clip(r / -6 + 0.25, 0, 1)),
    ("hard_swish", lambda r: r * np.clip(r / 6 + 0.5, 0, 1)),
    ("hard_swish", lambda r: r * np.clip(r + 3, 0, 6) / 6),
    ("leaky_relu", lambda r: np.where(r > 0, r, 0.1 * r)),
    ("leaky_relu", lambda r: np.maximum(r, 0)),
    ("leaky_relu", lambda r: np.where(r > 0, r, -1.5 * r)),
]


def float32(function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return function(REALS.astype(np.float32)).astype(np.float64)


@pytest.mark.parametrize(("name", "function"), FOUND)
def test_a_function_is_found_by_its_numbers(name: str, function: Callable[[np.ndarray], np.ndarray]) -> None:
    formula = formula_of(REALS, float32(function)[None], SOURCE, TARGET)
    assert formula is not None
    assert formula.name == name
    exact = np.clip(function(REALS) / TARGET[0] + TARGET[1], -128, 127)
    assert np.abs(formula.table - exact).max() <= 0.5 + 2**-6 + 1e-3


def test_slopes_of_channels_are_found() -> None:
    slopes = np.array([0.1, -0.3, 2.0, 0.0])
    exact = np.where(REALS > 0, REALS, slopes[:, None] * REALS)
    formula = formula_of(REALS, exact.astype(np.float32).astype(np.float64), SOURCE, TARGET)
    assert formula is not None
    assert (formula.name, formula.table.shape) == ("prelu", (4, 256))
    cells = np.clip(exact / TARGET[0] + TARGET[1], -128, 127)
    assert np.abs(formula.table - cells).max() <= 0.5 + 2**-6 + 1e-3


@pytest.mark.parametrize(
    "function", [np.tanh, np.abs, np.cos, lambda r: r * np.clip(r / 6 + 0.4, 0, 1), lambda r: np.clip(r, -1, 2)]
)
def test_other_functions_have_none(function: Callable[[np.ndarray], np.ndarray]) -> None:
    formula = formula_of(REALS, float32(function)[None], SOURCE, TARGET)
    assert formula is None or formula.name == "leaky_relu"  # of abs: a slope of -1


def test_a_formula_holds_at_any_scale() -> None:
    formula = formula_of(REALS, np.maximum(REALS, 0)[None], SOURCE, (1e-9, 0))
    assert formula is not None
    np.testing.assert_array_equal(formula.table, np.where(REALS > 0, 127, 0))


def test_a_formula_with_parameters_that_float32_does_not_hold_is_none() -> None:
    assert formula_of(REALS, np.maximum(REALS, 0)[None], SOURCE, (1e-60, 0)) is None


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(FixedPointError) as caught:
        formula_steps("softsign", (1.0, 0, 1.0, 0))
    assert str(caught.value) == "no formula is called 'softsign' and has 4 parameters"
