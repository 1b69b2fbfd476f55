"""Counts of numbers, whatever the order in which they come."""

import numpy as np
import pytest

from vta.quantize.calibrate.histogram import Histogram


@pytest.mark.parametrize("seed", range(4))
def test_bins_grow_with_the_numbers_and_lose_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batches = [rng.standard_normal(1000).astype(np.float32) * scale for scale in (0.01, 5, 0.1, 300)]
    histogram = Histogram()
    for batch in batches:
        histogram.add(batch)
    everything = np.concatenate(batches)
    assert histogram.counts.sum() == 4000
    assert (histogram.low, histogram.high) == (everything.min(), everything.max())
    edges = np.linspace(-histogram.reach, histogram.reach, len(histogram.counts) + 1)
    expected = np.histogram(everything, edges)[0]
    assert np.abs(np.cumsum(histogram.counts) - np.cumsum(expected)).max() <= 4  # numbers at edges round either way
    values, counts = histogram.filled()
    assert (values * counts).sum() / counts.sum() == pytest.approx(everything.mean(), abs=histogram.width)


def test_zeros_before_anything_else_stay_zeros() -> None:
    histogram = Histogram()
    histogram.add(np.zeros(10, np.float32))
    histogram.add(np.ones(5, np.float32))
    values, counts = histogram.filled()
    assert counts.tolist() == [10, 5]
    assert abs(values[0]) <= histogram.width


def test_numbers_that_are_not_finite_are_noted() -> None:
    histogram = Histogram()
    histogram.add(np.array([1, np.nan], np.float32))
    assert not histogram.finite
    histogram.add(np.zeros((0, 3), np.float32))
    assert histogram.seen == 2


def test_of_many_numbers_some_are_counted_from_everywhere() -> None:
    numbers = np.tile(np.arange(8, dtype=np.float32), 1 << 17)
    histogram = Histogram()
    histogram.add(numbers)
    _, counts = histogram.filled()
    assert len(counts) == 8
    assert counts.max() - counts.min() <= counts.sum() // 100
    assert histogram.high == 7


@pytest.mark.parametrize("scale", [1e-42, 1e-36, 1e-31, 1.0, 1e36, 3e38])
def test_numbers_as_small_and_as_large_as_there_are_find_their_bins(scale: float) -> None:
    values = np.linspace(-1, 1, 1001).astype(np.float32) * np.float32(scale)
    histogram = Histogram()
    histogram.add(values)
    middles, counts = histogram.filled()
    assert counts.sum() == 1001
    assert np.average(np.abs(middles), weights=counts) == pytest.approx(scale / 2, rel=0.01)
