"""Sums of products over windows: the arithmetic of all convolutions, in floats, and exact for integers.

Tests: tests/runtime/executor/operators/test_correlate.py.
"""

import numpy as np

from runtime.executor.operators.types import Array
from runtime.executor.operators.windows import Window, places

__all__ = ["correlate", "exact_float", "scatter", "wrap32"]

_CHUNK = 1 << 22
"""Elements of a matrix of windows that are made at a time."""


def exact_float(data: Array, weight: Array, summands: tuple[int, ...]) -> type[np.float32] | type[np.float64]:
    """Return a floating point type in which sums of products of integers are exact, in every order.

    ``summands`` are the axes of ``weight`` over which products are summed.
    """
    largest = int(np.abs(data.astype(np.int64)).max(initial=0))
    total = int(np.abs(weight.astype(np.int64)).sum(axis=summands).max(initial=0))
    assert largest * total < 1 << 53, "sums of 8-bit products are far smaller"
    return np.float32 if largest * total < 1 << 24 else np.float64


def wrap32(sums: Array) -> Array:
    """Return whole floating point numbers, or integers, as int32 that wraps."""
    return sums.astype(np.int64).astype(np.int32)


def correlate(padded: Array, weight: Array, window: Window, *, groups: int) -> Array:
    """Return (N, O, OH, OW) for a padded image (N, C, H, W) and a weight (O, C / groups, KH, KW) of the same type."""
    outputs = _outputs(padded, window)
    if weight.shape[1] == 1 and weight.shape[0] == groups:
        return _depthwise(padded, weight, window, outputs)
    batch, per_group = padded.shape[0], weight.shape[1]
    rows = weight.reshape(groups, weight.shape[0] // groups, per_group * window.kernel[0] * window.kernel[1])
    result = np.empty((batch, groups, rows.shape[1], *outputs), padded.dtype)
    at_once = max(1, _CHUNK // max(1, rows.shape[2] * outputs[1]))
    for image in range(batch):
        for group in range(groups):
            channels = padded[image, group * per_group : (group + 1) * per_group]
            for top in range(0, outputs[0], at_once):
                count = min(at_once, outputs[0] - top)
                part = channels[:, top * window.strides[0] :]
                matrix = np.stack([seen for _, seen in places(part, window, (count, outputs[1]))], axis=1)
                product = rows[group] @ matrix.reshape(rows.shape[2], count * outputs[1])
                result[image, group, :, top : top + count] = product.reshape(rows.shape[1], count, outputs[1])
    return result.reshape(batch, weight.shape[0], *outputs)


def _outputs(padded: Array, window: Window) -> tuple[int, int]:
    """Return the number of windows in an image that has its pads."""
    height, width = padded.shape[-2:]
    return (
        (height - window.reach(0)) // window.strides[0] + 1,
        (width - window.reach(1)) // window.strides[1] + 1,
    )


def _depthwise(padded: Array, weight: Array, window: Window, outputs: tuple[int, int]) -> Array:
    result = np.zeros((*padded.shape[:2], *outputs), padded.dtype)
    for (row, column), seen in places(padded, window, outputs):
        result += seen * weight[:, 0, row, column][:, None, None]
    return result


def scatter(image: Array, weight: Array, window: Window, *, groups: int) -> Array:
    """Return the transposed convolution without its crops: every element of ``image`` adds a scaled kernel.

    ``image`` is (N, C, H, W), ``weight`` (C, O / groups, KH, KW); the result is (N, O, (H - 1) * stride + reach, ...).
    """
    batch, channels, height, width = image.shape
    per_group = channels // groups
    extents = ((height - 1) * window.strides[0] + window.reach(0), (width - 1) * window.strides[1] + window.reach(1))
    result = np.zeros((batch, groups, weight.shape[1], *extents), image.dtype)
    sources = image.reshape(batch, groups, per_group, height * width)
    kernels = weight.reshape(groups, per_group, weight.shape[1], *weight.shape[2:])
    for (row, column), target in places(result, window, (height, width)):
        product = np.swapaxes(kernels[..., row, column], 1, 2) @ sources
        target += product.reshape(batch, groups, weight.shape[1], height, width)
    return result.reshape(batch, groups * weight.shape[1], *extents)
