"""Ranges as scales and zero points."""

import math

import numpy as np
import pytest

from vta.quantize.encoding import Encoding, power_of_two, ranged, sqnr_db


@pytest.mark.parametrize(("low", "high"), [(-1, 2), (0, 6), (-3, 0), (0.5, 4), (-1e-3, 1e6)])
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_range_is_covered_and_zero_is_exact(low: float, high: float, symmetric: bool) -> None:
    encoding = ranged(low, high, symmetric=symmetric)
    values = np.linspace(min(low, 0), max(high, 0), 1001).astype(np.float32)
    assert np.abs(encoding.rounded(values) - values).max() <= encoding.scale * 1.001
    assert encoding.rounded(np.zeros(1, np.float32)) == 0
    assert (encoding.zero == 0) or not symmetric
    np.testing.assert_allclose(
        (encoding.cells(values).astype(int) - encoding.zero) * np.float32(encoding.scale), encoding.rounded(values)
    )


def test_halves_go_to_the_even_cell_and_ends_saturate() -> None:
    assert Encoding(1.0, 0).cells(np.array([0.5, 1.5, 2.5, -0.5, 300, -300])).tolist() == [0, 2, 2, 0, 127, -128]
    assert Encoding(1.0, -128).cells(np.array([-1.0, 0.0, 255.0, 256.0])).tolist() == [-128, -128, 127, 127]


def test_powers_of_two_are_next_to_the_scale() -> None:
    assert power_of_two(Encoding(0.3, 0), up=True).scale == 0.5
    assert power_of_two(Encoding(0.3, 0), up=False).scale == 0.25
    assert power_of_two(Encoding(0.25, 0), up=True).scale == power_of_two(Encoding(0.25, 0), up=False).scale == 0.25


def test_nothing_in_a_range_still_has_a_scale() -> None:
    assert ranged(0, 0, symmetric=True).scale > 0


def test_decibels_of_nothing() -> None:
    assert sqnr_db(100.0, 1.0) == 20
    assert sqnr_db(1.0, 0.0) == math.inf
    assert sqnr_db(0.0, 1.0) == -math.inf
