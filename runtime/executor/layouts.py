"""Activations in the accelerator's layout, in numpy: what a network's steps on the host pack and unpack.

A packed activation of N images with C channels is ``(N/batch, C/block, *rest, batch, block)``; sizes that are no
multiple of a block are filled up with zeros. ``vta.topi`` packs with these functions, too.
Tests: tests/vta/topi/core/test_layout.py, tests/vta/topi/conv/test_folding.py.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

__all__ = ["folded", "packed", "unpacked"]

Array = npt.NDArray[np.generic]


def packed(array: Array, *, batch: int, block: int) -> Array:
    """Return (N, C, *rest) as (N/batch, C/block, *rest, batch, block)."""
    images, channels, *rest = array.shape
    outer, inner = -(-images // batch), -(-channels // block)
    if (outer * batch, inner * block) == (images, channels):
        whole = array
    else:
        whole = np.zeros((outer * batch, inner * block, *rest), array.dtype)
        whole[:images, :channels] = array
    split = whole.reshape(outer, batch, inner, block, *rest)
    return np.ascontiguousarray(np.moveaxis(np.moveaxis(split, 1, -1), 2, -1))


def unpacked(array: Array, *, images: int, channels: int) -> Array:
    """Return the first ``images`` and ``channels`` of a packed activation as (N, C, *rest)."""
    outer, inner, *rest, batch, block = array.shape
    split = np.moveaxis(np.moveaxis(array, -1, 2), -1, 1)
    return np.ascontiguousarray(split.reshape(outer * batch, inner * block, *rest)[:images, :channels])


def folded(
    array: Array,
    *,
    extents: Sequence[int],
    factors: Sequence[int],
    gaps: Sequence[int],
    dilation: Sequence[int],
    pads: Sequence[int],
    batch: int,
    block: int,
    fill: int = 0,
) -> Array:
    """Return images (N, C, H, W) with places of a window as channels, packed.

    Place (y, x) of the result's ``extents`` has the ``factors`` rows and columns that begin at (y, x) times ``gaps`` in
    the image with ``pads`` (top, left) of ``fill`` around it, ``dilation`` apart; channels are in the order (row,
    column, channel). What fills up blocks is zero.
    """
    images, channels, height, width = array.shape
    rows, columns = extents
    reach = [
        (extent - 1) * gap + (factor - 1) * step + 1
        for extent, gap, factor, step in zip(extents, gaps, factors, dilation, strict=True)
    ]
    top, left = pads
    padded = np.full((images, *reach, channels), fill, array.dtype)
    inside = padded[:, top : top + height, left : left + width]
    inside[...] = array.transpose(0, 2, 3, 1)[:, : inside.shape[1], : inside.shape[2]]
    n, y, x, c = padded.strides
    windows = np.lib.stride_tricks.as_strided(
        padded,
        (images, rows, columns, *factors, channels),
        (n, y * gaps[0], x * gaps[1], y * dilation[0], x * dilation[1], c),
        writeable=False,
    )
    lanes = prod(factors) * channels
    blocks = -(-lanes // block)
    filled = np.zeros((-(-images // batch) * batch, rows, columns, blocks * block), array.dtype)
    filled[:images, ..., :lanes] = windows.reshape(images, rows, columns, lanes)
    split = filled.reshape(-1, batch, rows, columns, blocks, block)
    return np.ascontiguousarray(split.transpose(0, 4, 2, 3, 1, 5))
