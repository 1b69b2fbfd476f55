"""The range of a tensor: found by several methods on one part of the data, judged on the other.

Tests: tests/vta/quantize/calibrate/test_ranges.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vta.quantize.calibrate.histogram import Histogram
from vta.quantize.encoding import Encoding, power_of_two, ranged
from vta.quantize.options import Method, Options

__all__ = ["Candidate", "candidates", "clipped_share", "expected_noise"]

Reals = npt.NDArray[np.float64]
_CLIPPED_PAYS = 2.0
"""How many times less noise a range that clips must make on held samples: what comes later reaches further."""
_STEPS = 64
"""Ranges that are tried between nothing and everything."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An encoding, how it was found, and the mean squared error that it makes on data that it was not found with."""

    method: Method
    encoding: Encoding
    noise: float


def candidates(seen: Histogram, held: Histogram, options: Options, *, symmetric: bool = True) -> list[Candidate]:
    """Return what every method finds for the numbers ``seen``, judged on ``held``; the best one first.

    The extremes are preferred, unless another range makes much less noise.
    """
    found = []
    for method in options.methods:
        low, high = _range(method, seen, symmetric=symmetric, percent=options.percentile)
        plain = ranged(low, high, symmetric=symmetric)
        choices = [plain]
        if options.power_of_two:
            choices = [power_of_two(plain, up=True), power_of_two(plain, up=False)]
        best = min(choices, key=lambda each: expected_noise(held, each))
        found.append(Candidate(method, best, expected_noise(held, best)))
    return sorted(found, key=lambda each: each.noise * (1 if each.method is Method.MIN_MAX else _CLIPPED_PAYS))


def expected_noise(histogram: Histogram, encoding: Encoding) -> float:
    """Return the mean squared error of rounding and clipping."""
    values, counts = histogram.filled()
    return float(_noise(values, counts, encoding, histogram.width)) if len(values) else 0.0


def _noise(values: Reals, counts: Reals, encoding: Encoding, width: float) -> float:
    rounded = np.clip(np.rint(values / encoding.scale), -128 - encoding.zero, 127 - encoding.zero) * encoding.scale
    error = (rounded - values) ** 2
    if width > encoding.scale / 8:  # bins too wide to see the rounding itself
        error = np.maximum(
            error, np.where((values >= encoding.low) & (values <= encoding.high), encoding.scale**2 / 12, 0)
        )
    return float((error * counts).sum() / counts.sum())


def clipped_share(histogram: Histogram, encoding: Encoding) -> float:
    """Return the share of numbers that have no cell of their own."""
    values, counts = histogram.filled()
    half = encoding.scale / 2
    outside = (values < encoding.low - half) | (values > encoding.high + half)
    return float(counts[outside].sum() / counts.sum()) if len(values) else 0.0


def _range(method: Method, seen: Histogram, *, symmetric: bool, percent: float) -> tuple[float, float]:
    match method:
        case Method.MIN_MAX:
            return seen.low, seen.high
        case Method.PERCENTILE:
            return _percentile(seen, percent)
        case Method.MSE:
            return _least_noise(seen, symmetric=symmetric)
        case Method.KL:
            return _least_divergence(seen)


def _percentile(seen: Histogram, percent: float) -> tuple[float, float]:
    values, counts = seen.filled()
    below = np.cumsum(counts) / counts.sum()
    low = values[np.searchsorted(below, 1 - percent / 100)]
    high = values[min(int(np.searchsorted(below, percent / 100)), len(values) - 1)]
    return float(min(low, 0.0)), float(max(high, 0.0))


def _least_noise(seen: Histogram, *, symmetric: bool) -> tuple[float, float]:
    """Return the range with the least error: both ends shrink together, then each alone."""
    values, counts = seen.filled()
    shares: Sequence[float] = np.geomspace(0.02, 1.0, _STEPS).tolist()

    def noise(low: float, high: float) -> float:
        return _noise(values, counts, ranged(low, high, symmetric=symmetric), seen.width)

    share = min(shares, key=lambda s: noise(seen.low * s, seen.high * s))
    low, high = seen.low * share, seen.high * share
    if symmetric:
        return low, high
    low = min((seen.low * s for s in shares), key=lambda end: noise(end, high))
    return low, min((seen.high * s for s in shares), key=lambda end: noise(low, end))


def _least_divergence(seen: Histogram) -> tuple[float, float]:
    """Return the range whose int8 form keeps the distribution of magnitudes (relative entropy, as TensorRT has it)."""
    half = len(seen.counts) // 2
    magnitudes: Reals = (seen.counts[half:] + seen.counts[:half][::-1]).astype(np.float64)
    if seen.high > 0:
        magnitudes[0] = magnitudes[1]  # zeros of a ReLU are exact in any range
    levels = 128
    last = int(np.flatnonzero(magnitudes)[-1]) + 1 if magnitudes.any() else half
    ends = np.unique(np.linspace(levels, max(last, levels), _STEPS).astype(int))
    best = min(ends, key=lambda end: _divergence(magnitudes, int(end), levels))
    reach = best * seen.width
    return max(seen.low, -reach), min(seen.high, reach)


def _divergence(magnitudes: Reals, end: int, levels: int) -> float:
    inside = magnitudes[:end].copy()
    clipped = magnitudes[end:].sum()
    level = np.arange(end) * levels // end
    sums = np.bincount(level, inside, levels)
    filled = np.bincount(level, inside > 0, levels)
    spread = np.where(inside > 0, (sums / np.maximum(filled, 1))[level], 0)
    inside[-1] += clipped
    p, q = inside / inside.sum(), spread / max(spread.sum(), 1e-300)
    there = p > 0
    return float((p[there] * np.log(p[there] / np.maximum(q[there], 1e-12))).sum())
