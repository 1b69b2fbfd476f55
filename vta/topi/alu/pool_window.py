"""Where the windows of a pooling lie along one dimension: how many there are, and which of their cells exist.

Tests: tests/vta/topi/alu/test_pool_window.py.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vta.topi.core.operator import OperatorError

__all__ = ["PoolAxis"]

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PoolAxis:
    """One dimension: ``size`` cells with pads around them, and windows of ``kernel`` cells, ``dilation`` apart.

    With ``ceil_mode`` a last window that is not whole counts, if it starts in a cell or in the pad before them.
    """

    name: str
    size: int
    kernel: int
    stride: int = 1
    before: int = 0
    after: int = 0
    dilation: int = 1
    ceil_mode: bool = False

    def __post_init__(self) -> None:
        for what in ("size", "kernel", "stride", "dilation"):
            if getattr(self, what) < 1:
                raise OperatorError(f"pooling along {self.name}: {what} is from 1, not {getattr(self, what)}")
        for what in ("before", "after"):
            if getattr(self, what) < 0:
                raise OperatorError(f"pooling along {self.name}: a pad is from 0, not {getattr(self, what)}")
        if self._span < 0:
            raise OperatorError(
                f"pooling along {self.name}: a window reaches over {self.reach} cells, and there are "
                f"{self.size + self.before + self.after} with the pads"
            )

    @property
    def reach(self) -> int:
        """How many cells a window reaches over."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def _span(self) -> int:
        return self.size + self.before + self.after - self.reach

    @property
    def count(self) -> int:
        """How many windows there are."""
        whole, rest = self._span // self.stride + 1, self._span % self.stride
        one_more = self.ceil_mode and rest and whole * self.stride < self.size + self.before
        return whole + 1 if one_more else whole

    @property
    def beyond(self) -> int:
        """How many cells beyond the last one a window reaches."""
        return max(0, (self.count - 1) * self.stride + self.reach - self.before - self.size)

    @property
    def is_padded(self) -> bool:
        """Whether any window has cells that do not exist."""
        return self.before > 0 or self.beyond > 0

    @property
    def places(self) -> Counts:
        """The cell of every tap, (window, tap); those that are negative or from ``size`` on do not exist."""
        return np.arange(self.count)[:, None] * self.stride + np.arange(self.kernel) * self.dilation - self.before

    @property
    def existing(self) -> Counts:
        """How many cells of each window exist."""
        inside: npt.NDArray[np.bool_] = (self.places >= 0) & (self.places < self.size)
        return _counted(inside)

    @property
    def with_pads(self) -> Counts:
        """How many cells of each window exist or are pads that were asked for."""
        return _counted(self.places < self.size + self.after)


def _counted(taps: npt.NDArray[np.bool_]) -> Counts:
    counts: Counts = taps.sum(axis=1, dtype=np.int64)
    return counts
