"""First layers: places of the window become channels, on the host, so that blocks of channels are full.

An image of three channels fills 3 of 16 lanes. Folded by (f, g), f rows and g columns of the window's places are
channels of one place of a folded image; a kernel of ``kernel / (f, g)`` places, rounded up, is left, and strides that
divide f and g vanish: (2, 2) on strides of 2 is "space to depth", and the whole kernel leaves a product of matrices.
Tests: tests/vta/topi/conv/test_folding.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Self

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from runtime.executor import layouts
from vta.topi.core.layout import blocks
from vta.topi.core.window import Window
from vta.topi.tiling import Bus

__all__ = ["FoldedWindow", "best_folded", "fold_data", "fold_kernel"]

Array = npt.NDArray[np.generic]

_WORTH = 0.95
"""Folding has to leave at most this part of the cycles: it costs the host time."""

_HIDDEN = 1 / 32
"""The part of work that counts though other work hides it, when ways to fold are compared."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """One direction: ``taps`` are left of a kernel; neighbours in the folded image are ``gap`` places apart."""

    taps: int
    gap: int
    stride: int
    dilation: int

    @classmethod
    def of(cls, *, kernel: int, stride: int, dilation: int, factor: int) -> Self:
        """Return what folding ``factor`` taps leaves."""
        taps = blocks(kernel, factor)
        if taps == 1:
            return cls(1, stride, 1, 1)
        gap = gcd(stride, factor * dilation)
        return cls(taps, gap, stride // gap, factor * dilation // gap)

    def extent(self, count: int) -> int:
        """Return how many places of the folded image ``count`` places of the result read."""
        return (count - 1) * self.stride + (self.taps - 1) * self.dilation + 1


@dataclass(frozen=True, slots=True)
class FoldedWindow:
    """``window`` of which ``factors`` rows and columns are folded into channels, over ``output`` places."""

    window: Window
    factors: tuple[int, int]
    output: tuple[int, int]

    @property
    def _axes(self) -> tuple[_Axis, _Axis]:
        rows, columns = (
            _Axis.of(kernel=kernel, stride=stride, dilation=dilation, factor=factor)
            for kernel, stride, dilation, factor in zip(
                self.window.kernel, self.window.strides, self.window.dilation, self.factors, strict=True
            )
        )
        return rows, columns

    @property
    def left(self) -> Window:
        """The window that is left, without pads: the folded image has them."""
        rows, columns = self._axes
        return Window(
            (rows.taps, columns.taps), (rows.stride, columns.stride), dilation=(rows.dilation, columns.dilation)
        )

    @property
    def extents(self) -> tuple[int, int]:
        """Rows and columns of the folded image."""
        rows, columns = self._axes
        return rows.extent(self.output[0]), columns.extent(self.output[1])

    @property
    def gaps(self) -> tuple[int, int]:
        """How far apart in the image the rows and columns of the folded image are."""
        rows, columns = self._axes
        return rows.gap, columns.gap


def best_folded(
    whole: FoldedWindow,
    config: VTAConfig,
    *,
    image: tuple[int, int],
    channels: int,
    images: int,
    blocks_out: int,
    operations: int,
    bus: Bus,
) -> FoldedWindow:
    """Return the way to fold that costs the fewest cycles; ``whole``, in which nothing is folded, if none is worth it.

    ``channels`` of ``images`` with rows and columns ``image`` are read, ``blocks_out`` blocks of channels are computed,
    and the epilogue does ``operations`` on each number; all of it goes through ``bus``.
    """
    outputs = images * blocks_out * prod(whole.output)

    def cost(folded: FoldedWindow) -> float:
        taken = blocks(channels * prod(folded.factors), config.block_in)
        taps = taken * prod(folded.left.kernel)
        read = prod(image if folded.factors == (1, 1) else folded.extents)
        times = (
            outputs * taps,
            outputs * operations,
            bus.beats(images * taken * read, config.inp_elem_bytes)
            + bus.beats(blocks_out * taps, config.wgt_elem_bytes),
            bus.beats(outputs, config.out_elem_bytes),
        )
        return max(times) + sum(times) * _HIDDEN

    rows, columns = whole.window.kernel
    ways = [replace(whole, factors=(f, g)) for f in range(1, rows + 1) for g in range(1, columns + 1)]
    best = min(ways, key=lambda folded: (cost(folded), -prod(folded.factors)))
    return best if cost(best) < cost(whole) * _WORTH else whole


def fold_data(data: Array, folded: FoldedWindow, *, batch: int, block: int, fill: int = 0) -> Array:
    """Return images (N, C, H, W) folded and packed: (N/batch, C * factors / block, *extents, batch, block).

    Channels are in the order (row, column, channel). Pads are ``fill``; what fills up blocks is zero.
    """
    return layouts.folded(
        data, extents=folded.extents, factors=folded.factors, gaps=folded.gaps, dilation=folded.window.dilation,
        pads=folded.window.padding[:2], batch=batch, block=block, fill=fill,
    )  # fmt: skip


def fold_kernel(kernel: Array, factors: Sequence[int]) -> Array:
    """Return a kernel OIHW with its places folded like the data: (O, I * factors, KH, KW), zero beyond its end."""
    outputs, inputs, *extents = kernel.shape
    rows, columns = (blocks(extent, factor) for extent, factor in zip(extents, factors, strict=True))
    whole = np.zeros((outputs, inputs, rows * factors[0], columns * factors[1]), kernel.dtype)
    whole[:, :, : extents[0], : extents[1]] = kernel
    split = whole.reshape(outputs, inputs, rows, factors[0], columns, factors[1])
    return split.transpose(0, 3, 5, 1, 2, 4).reshape(outputs, -1, rows, columns)
