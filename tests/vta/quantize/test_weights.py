"""Weights and biases in integers."""

import numpy as np
import pytest

from vta.quantize.weights import BIAS_LIMIT, bias_between, bias_cells, bias_units, weight_scales, weights_at

RNG = np.random.default_rng(5)
WEIGHT = (RNG.standard_normal((4, 3, 3, 3)) * np.array([1, 10, 0.1, 0]).reshape(4, 1, 1, 1)).astype(np.float32)


@pytest.mark.parametrize("axis", [0, None])
@pytest.mark.parametrize("power_of_two", [False, True])
def test_no_weight_is_off_by_more_than_half_a_step_unless_it_is_clipped(axis: int | None, power_of_two: bool) -> None:
    scales = weight_scales(WEIGHT, axis, bias=None, input_scale=0.1, power_of_two=power_of_two)
    assert scales.shape == ((4,) if axis == 0 else (1,))
    made = weights_at(WEIGHT, scales, 0)
    steps = np.broadcast_to(scales, (4,)).reshape(4, 1, 1, 1)
    inside = np.abs(WEIGHT) <= 127 * steps
    assert (np.abs(made.real() - WEIGHT) <= steps * 0.5001)[inside].all()
    if power_of_two:
        assert (np.log2(scales) == np.rint(np.log2(scales))).all()
    assert made.cells.min() >= -127


def test_a_channel_without_weights_has_the_scale_of_another() -> None:
    scales = weight_scales(WEIGHT, 0, bias=None, input_scale=0.1, power_of_two=False)
    assert scales[3] == scales.max()
    nothing = weight_scales(np.zeros((2, 3), np.float32), 0, bias=None, input_scale=1.0, power_of_two=False)
    assert (nothing > 0).all()


@pytest.mark.parametrize("power_of_two", [False, True])
def test_a_bias_that_would_leave_its_range_makes_the_scale_grow(power_of_two: bool) -> None:
    tiny = np.full((2, 3, 1, 1), 1e-9, np.float32)
    bias = np.array([100.0, 0.0], np.float32)
    scales = weight_scales(tiny, 0, bias=bias, input_scale=0.01, power_of_two=power_of_two)
    cells, units = bias_cells(bias, 0.01, scales)
    assert abs(int(cells[0])) <= BIAS_LIMIT + 64
    assert cells[0] * units[0] == pytest.approx(100.0, rel=1e-6)
    assert scales[1] == pytest.approx(1e-9 / 127, rel=1)


def test_a_bias_is_nearest_in_units_of_the_sums() -> None:
    cells, units = bias_cells(np.array([1.0, -2.0]), 0.5, np.array([0.01], np.float32))
    assert cells.tolist() == [200, -400]
    assert units.shape == (1,)


def test_a_bias_between_whole_units_is_off_by_half_a_unit_at_most() -> None:
    bias = RNG.uniform(-50, 50, 200).astype(np.float32)
    units = bias_units(200, 0.25, np.array([0.125], np.float32))
    made = bias_between(bias, units)
    assert ((made / units) % 1 == 0.5).all()
    assert np.abs(made - bias).max() <= 0.5 * 0.03125


def test_a_bias_of_units_as_coarse_as_results_is_whole() -> None:
    """Half of such a unit would be a tie of every sum; finer units have none at half."""
    bias = RNG.uniform(-50, 50, 3).astype(np.float32)
    units = np.array([0.125, 0.25, 0.5], np.float32)
    made = bias_between(bias, units, step=0.25)
    assert (made / units % 1).tolist() == [0.5, 0, 0]
    assert (np.abs(made - bias) <= units / 2).all()
