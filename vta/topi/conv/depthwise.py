"""Depthwise convolution on a GEMM core with the flag ``depthwise``: several places of a row of the window at once.

A step multiplies neighbours of a row, one for each tap; a row of the window takes as few steps as hold it, and is
filled up with places of weight zero. Tests: tests/vta/topi/conv/test_depthwise.py.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from vta.topi.core.layout import blocks
from vta.topi.core.window import Window

__all__ = ["depthwise_taps", "filled_window", "pack_depthwise_kernel"]

Array = npt.NDArray[np.generic]


def depthwise_taps(config: VTAConfig, window: Window, *, groups: int, in_channels: int, out_channels: int) -> int:
    """Return how many places of the window a step takes, 0 where steps of whole blocks do as well or have to.

    The flag is for one input channel to each output channel, and for neighbours.
    """
    taps, columns = config.depthwise_taps, window.kernel[1]
    if not taps or groups == 1 or not groups == in_channels == out_channels or window.dilation[1] > 1:
        return 0
    return taps if blocks(columns, taps) < columns else 0


def filled_window(window: Window, taps: int) -> Window:
    """Return ``window`` with rows of a whole number of steps: it reads more places to the right, and gives as many."""
    rows, columns = window.kernel
    whole = blocks(columns, taps) * taps
    top, left, bottom, right = window.padding
    return replace(window, kernel=(rows, whole), padding=(top, left, bottom, right + whole - columns))


def pack_depthwise_kernel(kernel: Array, taps: int, *, block: int) -> Array:
    """Return a kernel (C, 1, KH, KW) as (C/block, 1, KH, steps, block, block): row i has the taps of channel i."""
    channels, _, rows, columns = kernel.shape
    steps = blocks(columns, taps)
    filled = np.zeros((blocks(channels, block) * block, rows, steps * taps), kernel.dtype)
    filled[:channels, :, :columns] = kernel[:, 0]
    packed = np.zeros((len(filled) // block, 1, rows, steps, block, block), kernel.dtype)
    packed[:, 0, ..., :taps] = filled.reshape(-1, block, rows, steps, taps).transpose(0, 2, 3, 1, 4)
    return packed
