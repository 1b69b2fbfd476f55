"""Rounding for the sums: never worse than to the nearest, and close to the best of all where that can be tried."""

from itertools import product

import numpy as np
import pytest

from tests.support.relay.float_models import small_network
from vta.quantize import Options, quantise
from vta.quantize.improve.rounding import rounded_rows


def error(cells: np.ndarray, scaled: np.ndarray, moments: np.ndarray) -> np.ndarray:
    off = cells - scaled
    return np.einsum("goi,gij,goj->go", off, moments, off)


@pytest.mark.parametrize(("groups", "outputs", "size"), [(1, 6, 40), (8, 1, 9), (3, 4, 70)])
def test_sums_are_closer_than_with_the_nearest_cells(groups: int, outputs: int, size: int) -> None:
    rng = np.random.default_rng(size)
    inputs = rng.standard_normal((groups, 300, size)) @ rng.standard_normal((groups, size, size))
    moments = np.einsum("gni,gnj->gij", inputs, inputs)
    rows = rng.standard_normal((groups, outputs, size))
    scales = np.abs(rows).max(-1) / 15
    cells = rounded_rows(rows, scales, moments)
    scaled = rows / scales[..., None]
    nearest = error(np.rint(scaled), scaled, moments)
    assert (error(cells, scaled, moments) <= nearest * (1 + 1e-9)).all()
    assert error(cells, scaled, moments).mean() < 0.8 * nearest.mean()
    assert np.abs(cells).max() <= 127


def test_four_weights_are_rounded_almost_as_well_as_can_be() -> None:
    rng = np.random.default_rng(4)
    ratios = []
    for _ in range(50):
        inputs = rng.standard_normal((1, 60, 4)) @ rng.standard_normal((1, 4, 4))
        moments = np.einsum("gni,gnj->gij", inputs, inputs)
        scaled = rng.uniform(-20, 20, (1, 1, 4))
        found = error(rounded_rows(scaled, np.ones((1, 1)), moments), scaled, moments)[0, 0]
        best = min(error(np.floor(scaled) + np.array(up), scaled, moments)[0, 0] for up in product((0, 1), repeat=4))
        nearest = error(np.rint(scaled), scaled, moments)[0, 0]
        ratios.append((found / best, nearest / best))
    assert np.median([found for found, _ in ratios]) < 1.3
    assert np.mean([found < nearest for found, nearest in ratios]) > 0.4


def test_inputs_that_are_always_zero_leave_weights_at_the_nearest() -> None:
    rows = np.array([[[1.4, -2.6]]])
    assert rounded_rows(rows, np.ones((1, 1)), np.zeros((1, 2, 2))).tolist() == [[[1, -3]]]


def test_a_network_with_optimised_rounding_is_no_worse() -> None:
    data = {"image": np.random.default_rng(1).standard_normal((24, 3, 8, 8)).astype(np.float32)}
    plain, better = (
        quantise(small_network(), data, Options(correct_bias=False, equalise=False, optimise_rounding=on))
        for on in (False, True)
    )
    assert better.report.score.sqnr_db >= plain.report.score.sqnr_db
