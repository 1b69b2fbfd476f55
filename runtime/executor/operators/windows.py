"""Windows that slide over images: how many there are, and the images behind them. Used by convolutions and pools.

Pads are (top, left, bottom, right). Tests: tests/runtime/executor/operators/test_windows.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.types import Array, RelayError

__all__ = ["Window", "check_window", "pad_image", "places"]

Pair = tuple[int, int]
Pads = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Window:
    """The size of a window and how it moves, (height, width) each; ``pads`` are (top, left, bottom, right)."""

    kernel: Pair
    strides: Pair
    pads: Pads
    dilation: Pair
    ceil_mode: bool = False

    def reach(self, axis: int) -> int:
        """Return how many rows or columns a window covers, gaps included."""
        return (self.kernel[axis] - 1) * self.dilation[axis] + 1

    def outputs(self, axis: int, extent: int) -> int:
        """Return how many windows there are along an axis; raises ``RelayError`` if there is none.

        With ``ceil_mode``, a last window may reach beyond the padded image, if it begins in it or in the pad before it.
        """
        before, padded = self.pads[axis], extent + self.pads[axis] + self.pads[axis + 2]
        free = padded - self.reach(axis)
        if free < 0:
            what = ("rows", "columns")[axis]
            raise RelayError(f"a window reaches over {self.reach(axis)} {what}, and the padded image has {padded}")
        count = free // self.strides[axis] + 1
        if self.ceil_mode and free % self.strides[axis] and count * self.strides[axis] < extent + before:
            count += 1
        return count

    def excess(self, axis: int, extent: int) -> int:
        """Return how far the last window reaches beyond the padded image; never negative."""
        padded = extent + self.pads[axis] + self.pads[axis + 2]
        last = (self.outputs(axis, extent) - 1) * self.strides[axis] + self.reach(axis)
        return max(0, last - padded)


def check_window(*, strides: Pair, padding: Pads, dilation: Pair, kernel: Pair | None = None) -> None:
    """Raise ``RelayError`` for sizes that no window has; the kernel's may be known to be right."""
    for name, values, count, least in (
        *([("the kernel", kernel, 2, 1)] if kernel is not None else []),
        ("strides", strides, 2, 1),
        ("dilation", dilation, 2, 1),
        ("padding", padding, 4, 0),
    ):
        if len(values) != count or any(value < least for value in values):
            raise RelayError(f"{name} consists of {count} integers from {least}, not {values}")


def pad_image(image: Array, window: Window, value: float) -> Array:
    """Return (..., H, W) with its pads, and what the last windows need beyond them, filled with ``value``."""
    top, left, bottom, right = window.pads
    height, width = image.shape[-2:]
    below, beside = bottom + window.excess(0, height), right + window.excess(1, width)
    spans = [(0, 0)] * (image.ndim - 2) + [(top, below), (left, beside)]
    return np.pad(image, spans, constant_values=value) if any(map(any, spans)) else image


def places(padded: Array, window: Window, outputs: Pair) -> Iterator[tuple[Pair, Array]]:
    """Yield every place (row, column) of the window with what lies there, (..., *outputs), for all windows."""
    for row in range(window.kernel[0]):
        for column in range(window.kernel[1]):
            rows = _span(row * window.dilation[0], window.strides[0], outputs[0])
            columns = _span(column * window.dilation[1], window.strides[1], outputs[1])
            yield (row, column), padded[..., rows, columns]


def _span(start: int, step: int, count: int) -> slice:
    return slice(start, start + (count - 1) * step + 1, step)
