"""Ranges: each method against what it says, and the choice against plain arithmetic."""

import numpy as np
import pytest

from vta.quantize.calibrate.histogram import Histogram
from vta.quantize.calibrate.ranges import candidates, clipped_share, expected_noise
from vta.quantize.encoding import ranged
from vta.quantize.options import Method, Options

RNG = np.random.default_rng(11)


def seen(values: np.ndarray) -> Histogram:
    histogram = Histogram()
    histogram.add(values.astype(np.float32))
    return histogram


def plain_noise(values: np.ndarray, low: float, high: float, *, symmetric: bool = True) -> float:
    encoding = ranged(low, high, symmetric=symmetric)
    return float(((encoding.rounded(values.astype(np.float32)) - values) ** 2).mean())


NUMBERS = {
    "normal": RNG.standard_normal(20000),
    "outliers": np.concatenate([RNG.standard_normal(20000), [60.0, -80.0]]),
    "after relu": np.maximum(RNG.standard_normal(20000), 0),
    "uniform": RNG.uniform(-1, 1, 20000),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("symmetric", [True, False])
def test_noise_is_what_rounding_and_clipping_do(name: str, symmetric: bool) -> None:
    values = NUMBERS[name]
    for share in (0.05, 0.5, 1.0):
        low, high = values.min() * share, values.max() * share
        expected = plain_noise(values, low, high, symmetric=symmetric)
        assert expected_noise(seen(values), ranged(low, high, symmetric=symmetric)) == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_best_candidate_is_as_good_as_the_best_of_all_ranges(name: str) -> None:
    values = NUMBERS[name]
    found = min(candidates(seen(values), seen(values), Options()), key=lambda each: each.noise)
    best = min(plain_noise(values, values.min() * s, values.max() * s) for s in np.linspace(0.01, 1, 200))
    chosen = found.encoding
    assert plain_noise(values, chosen.low + chosen.scale, chosen.high) <= best * 1.3


def test_the_extremes_come_first_unless_another_range_makes_half_their_noise() -> None:
    values = np.concatenate([np.linspace(-1, 1, 200_001), [2.5] * 2])
    for outlier, first in ((1.2, Method.MIN_MAX), (1.38, Method.MIN_MAX), (3.0, Method.MSE)):
        found = candidates(seen(np.append(values[:-2], outlier)), seen(values[:-2]), Options())
        assert {each.method for each in found} == set(Method)
        by_method = {each.method: each.noise for each in found}
        assert by_method[Method.MSE] < by_method[Method.MIN_MAX]
        assert (found[0].method is Method.MIN_MAX) == (first is Method.MIN_MAX)
        assert (2 * min(by_method.values()) < by_method[Method.MIN_MAX]) == (first is not Method.MIN_MAX)


def test_min_max_reaches_the_extremes_and_a_percentile_leaves_out_outliers() -> None:
    values = NUMBERS["outliers"]
    by_method = {each.method: each.encoding for each in candidates(seen(values), seen(values), Options())}
    assert by_method[Method.MIN_MAX].high == pytest.approx(80, rel=1e-5)
    assert by_method[Method.PERCENTILE].high < 10
    assert by_method[Method.MSE].high > 60
    assert clipped_share(seen(values), by_method[Method.MIN_MAX]) == 0
    assert 0 < clipped_share(seen(values), by_method[Method.PERCENTILE]) < 0.01


@pytest.mark.parametrize("name", NUMBERS)
def test_scales_are_powers_of_two_where_they_shall_be(name: str) -> None:
    for each in candidates(seen(NUMBERS[name]), seen(NUMBERS[name]), Options(power_of_two=True)):
        assert np.log2(each.encoding.scale) == np.rint(np.log2(each.encoding.scale))


def test_ranges_are_judged_on_other_numbers_than_they_were_found_with() -> None:
    few, held = RNG.standard_normal(100), RNG.standard_normal(20000) * 4
    by_method = {each.method: each for each in candidates(seen(few), seen(held), Options())}
    encoding = by_method[Method.MIN_MAX].encoding
    assert by_method[Method.MIN_MAX].noise == pytest.approx(
        float(((encoding.rounded(held.astype(np.float32)) - held) ** 2).mean()), rel=0.05
    )
