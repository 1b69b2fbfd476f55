"""What numbers a tensor takes, in a fixed amount of memory: exact extremes, and counts in even bins.

The bins cover as much as has been seen. When a number lies outside, their width doubles as often as it takes, and
neighbours merge. Tests: tests/vta/quantize/calibrate/test_histogram.py.
"""

import math

import numpy as np
import numpy.typing as npt

from runtime.executor.operators.types import Array

__all__ = ["Histogram"]

_BINS = 8192
_MOST = 1 << 17
"""Numbers of a batch that are counted; of more, evenly chosen ones."""

_NARROW, _WIDE = 1e-30, 1e37
"""Between these, float32 is enough for the arithmetic of bins."""


class Histogram:
    """Counts of numbers in ``-reach .. reach``.

    Attributes
    ----------
    low, high : float
        The smallest and largest number seen.
    seen : int
        How many numbers there were.
    finite : bool
        Whether all of them were finite.
    """

    def __init__(self) -> None:
        self.low, self.high = math.inf, -math.inf
        self.seen, self.finite = 0, True
        self.reach = 0.0
        self.counts = np.zeros(_BINS, np.int64)

    def add(self, values: Array) -> None:
        """Count the numbers of a batch."""
        flat = values.reshape(-1)
        if not flat.size:
            return
        low, high = float(flat.min()), float(flat.max())
        self.seen += flat.size
        if not (math.isfinite(low) and math.isfinite(high)):
            self.finite = False
            return
        self.low, self.high = min(self.low, low), max(self.high, high)
        self._widen(max(-low, high))
        if self.reach == 0:
            self.counts[_BINS // 2] += flat.size
            return
        step = max(1, flat.size // _MOST) | 1  # odd, so that it goes through all channels
        chosen = flat[::step] if step > 1 else flat
        kind = np.float32 if _NARROW < self.reach < _WIDE else np.float64
        index = ((chosen + kind(self.reach)) * kind(_BINS / (2 * self.reach))).astype(np.int32)
        self.counts += np.bincount(np.minimum(index, _BINS - 1), minlength=_BINS)

    def _widen(self, largest: float) -> None:
        if largest <= self.reach:
            return
        if self.reach == 0:
            zeros = int(self.counts.sum())
            self.reach = largest
            self.counts[:] = 0
            self.counts[_BINS // 2] = zeros
            return
        while self.reach < largest:
            merged = self.counts.reshape(-1, 2).sum(1)
            self.counts = np.zeros(_BINS, np.int64)
            self.counts[_BINS // 4 : _BINS // 4 + _BINS // 2] = merged
            self.reach *= 2

    @property
    def width(self) -> float:
        """How wide a bin is."""
        return 2 * self.reach / _BINS

    def centres(self) -> npt.NDArray[np.float64]:
        """Return the middle of every bin."""
        middles: npt.NDArray[np.float64] = (np.arange(_BINS, dtype=np.float64) + 0.5) * self.width - self.reach
        return middles

    def filled(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return middles and counts of the bins that hold something, at most as far as numbers were seen."""
        there = np.flatnonzero(self.counts)
        middles: npt.NDArray[np.float64] = np.asarray(np.clip(self.centres()[there], self.low, self.high), np.float64)
        counts: npt.NDArray[np.float64] = self.counts[there].astype(np.float64)
        return middles, counts
