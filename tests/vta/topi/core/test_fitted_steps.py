"""Steps whose last constants make a table's numbers of the cells that there are."""

import numpy as np
import pytest

from vta.topi.core.activations import Quantisation, hard_sigmoid, hard_swish, leaky_relu, prelu
from vta.topi.core.epilogue import Clip, Epilogue, Fork, Multiply, ShiftRight, applied, needs
from vta.topi.core.fitted_steps import fitted_steps
from vta.topi.core.fixed_point import OutputSteps

CELLS = np.arange(-128, 128, dtype=np.int32).reshape(1, -1)


def cells_of(real: np.ndarray, target: Quantisation) -> np.ndarray:
    """Return real numbers as cells, ties to even."""
    return np.clip(np.rint(real / target.scale) + target.zero_point, -128, 127).astype(np.int32)


@pytest.mark.parametrize("zero_point", [0, 3, -128])
@pytest.mark.parametrize("exponents", [(-5, -4), (-5, -3), (-4, -3), (-6, -5), (-5, -2)])
def test_a_formula_between_powers_of_two_is_exact_ties_to_even(exponents: tuple[int, int], zero_point: int) -> None:
    source, target = (
        Quantisation(2.0**exponent, zero) for exponent, zero in zip(exponents, (0, zero_point), strict=True)
    )
    x = CELLS * source.scale
    made: list[tuple[Epilogue, np.ndarray]] = [
        (hard_swish(source, target), x * np.clip(x + 3, 0, 6) / 6),
        (hard_sigmoid(source, target, slope=0.25), np.clip(x / 4 + 0.5, 0, 1)),
        (leaky_relu(source, target, 0.125), np.where(x > 0, x, x / 8)),
        (leaky_relu(source, target, 0.1), np.where(x > 0, x, x * 0.1)),
    ]
    for steps, real in made:
        wanted = cells_of(real, target)
        found = fitted_steps(OutputSteps(steps, ()), CELLS, wanted)
        assert found is not None
        np.testing.assert_array_equal(applied(CELLS.reshape(1, 1, -1), found, ())[0], wanted)


def test_slopes_of_channels_have_the_same_constants() -> None:
    source, target = Quantisation(2.0**-5, 1), Quantisation(2.0**-3, -2)
    slopes = np.array([0.25, 0.5, 0.0, 0.125])
    made = prelu(source, target, slopes)
    x = (CELLS - 1) * source.scale
    wanted = cells_of(np.where(x > 0, x, slopes[:, None] * x), target)
    found = fitted_steps(made, np.broadcast_to(CELLS, wanted.shape), wanted)
    assert found is not None
    np.testing.assert_array_equal(applied(np.broadcast_to(CELLS, (1, *wanted.shape)), found, made.arrays)[0], wanted)


def test_limits_that_nothing_reaches_are_left_out() -> None:
    source, target = Quantisation(0.04), Quantisation(0.05)
    steps = hard_swish(source, target)
    wanted = applied(CELLS.reshape(1, 1, -1), steps, ())[0]
    found = fitted_steps(OutputSteps(steps, ()), CELLS, wanted)
    assert found == steps[:-1]
    assert isinstance(steps[-1], Clip)
    upwards = leaky_relu(source, Quantisation(0.03), 0.1)
    limited = fitted_steps(OutputSteps(upwards, ()), CELLS, applied(CELLS.reshape(1, 1, -1), upwards, ())[0])
    assert limited is not None
    assert limited[-1] == Clip(-(1 << 31), 127)


def test_of_cells_that_are_few_one_constant_is_enough() -> None:
    """Two ties, to one and the same side."""
    source, target = Quantisation(2.0**-4), Quantisation(2.0**-3)
    steps, few = leaky_relu(source, target, 0.25), np.array([[1, 2, 5, 6]], np.int32)
    found = fitted_steps(OutputSteps(steps, ()), few, np.array([[0, 1, 2, 3]], np.int32))
    assert found is not None
    assert needs(found).operations < needs(steps).operations


def test_a_table_that_is_another_function_s_has_none() -> None:
    made = OutputSteps(hard_swish(Quantisation(0.04), Quantisation(0.05)), ())
    assert fitted_steps(made, CELLS, np.where(CELLS % 2, 3, -3)) is None


def test_steps_without_limits_stay_what_they_are() -> None:
    made = OutputSteps((Multiply(3), ShiftRight(1)), ())
    assert fitted_steps(made, CELLS, CELLS * 3 >> 1) == made.steps
    assert fitted_steps(made, CELLS, CELLS) is None
    assert fitted_steps(OutputSteps((), ()), CELLS, CELLS) == ()


def test_ties_to_even_take_five_operations_more() -> None:
    source, target = Quantisation(2.0**-5), Quantisation(2.0**-4)
    steps = hard_swish(source, target)
    x = CELLS * source.scale
    found = fitted_steps(OutputSteps(steps, ()), CELLS, cells_of(x * np.clip(x + 3, 0, 6) / 6, target))
    assert found is not None
    assert isinstance(found[-1], Fork)
    assert needs(found).operations == needs(steps[:-1]).operations + 5
