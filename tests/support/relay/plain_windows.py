"""Convolutions and pools as loops over their definition: slow, and written without the library's own code."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def plain_conv2d(
    data: npt.NDArray[Any],
    weight: npt.NDArray[Any],
    *,
    strides: tuple[int, ...] = (1, 1),
    padding: tuple[int, ...] = (0, 0, 0, 0),
    dilation: tuple[int, ...] = (1, 1),
    groups: int = 1,
) -> Any:
    """Return the convolution in float64."""
    n, _, h, w = data.shape
    o, per_group, kh, kw = weight.shape
    top, left, bottom, right = padding
    oh = (h + top + bottom - (kh - 1) * dilation[0] - 1) // strides[0] + 1
    ow = (w + left + right - (kw - 1) * dilation[1] - 1) // strides[1] + 1
    out = np.zeros((n, o, oh, ow))
    for b, k, y, x, i, dy, dx in product(*map(range, (n, o, oh, ow, per_group, kh, kw))):
        row, col = y * strides[0] - top + dy * dilation[0], x * strides[1] - left + dx * dilation[1]
        if 0 <= row < h and 0 <= col < w:
            channel = k // (o // groups) * per_group + i
            out[b, k, y, x] += float(data[b, channel, row, col]) * float(weight[k, i, dy, dx])
    return out


def plain_conv2d_transpose(
    data: npt.NDArray[Any],
    weight: npt.NDArray[Any],
    *,
    strides: tuple[int, ...] = (1, 1),
    padding: tuple[int, ...] = (0, 0, 0, 0),
    output_padding: tuple[int, ...] = (0, 0),
    dilation: tuple[int, ...] = (1, 1),
    groups: int = 1,
) -> Any:
    """Return the transposed convolution in float64."""
    n, c, h, w = data.shape
    _, per_group, kh, kw = weight.shape
    top, left, bottom, right = padding
    oh = (h - 1) * strides[0] + (kh - 1) * dilation[0] + 1 + output_padding[0] - top - bottom
    ow = (w - 1) * strides[1] + (kw - 1) * dilation[1] + 1 + output_padding[1] - left - right
    out = np.zeros((n, per_group * groups, oh, ow))
    for b, i, y, x, k, dy, dx in product(*map(range, (n, c, h, w, per_group, kh, kw))):
        row, col = y * strides[0] + dy * dilation[0] - top, x * strides[1] + dx * dilation[1] - left
        if 0 <= row < oh and 0 <= col < ow:
            channel = i // (c // groups) * per_group + k
            out[b, channel, row, col] += float(data[b, i, y, x]) * float(weight[i, k, dy, dx])
    return out


def plain_windows(
    data: npt.NDArray[Any],
    *,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    outputs: tuple[int, ...],
) -> Iterator[Any]:
    """Yield (place, elements in the image, elements in the padded image) of every window of a pool."""
    n, c, h, w = data.shape
    top, left, bottom, right = padding
    for b, k, y, x in product(range(n), range(c), range(outputs[0]), range(outputs[1])):
        rows = [y * strides[0] - top + dy * dilation[0] for dy in range(kernel[0])]
        cols = [x * strides[1] - left + dx * dilation[1] for dx in range(kernel[1])]
        inside = [data[b, k, r, s] for r in rows for s in cols if 0 <= r < h and 0 <= s < w]
        padded = sum(-top <= r < h + bottom and -left <= s < w + right for r in rows for s in cols)
        yield (b, k, y, x), inside, padded
