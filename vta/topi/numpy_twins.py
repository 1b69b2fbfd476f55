"""More operators of ``topi`` in plain numpy, under TVM's names; ``vta.topi.testing`` has them all.

Written from the definitions; nothing here is shared with the operators themselves.
Tests: tests/vta/topi/test_testing.py, tests/vta/topi/cpu.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "adaptive_pool", "batch_norm", "depth_to_space_python", "gather_nd_python", "instance_norm_python",
    "matrix_set_diag", "resize2d_python", "scatter_nd", "sequence_mask", "slice_axis_python", "space_to_depth_python",
]  # fmt: skip

Array = npt.NDArray[Any]


def space_to_depth_python(data: Array, block_size: int) -> Array:
    """Return images NCHW whose pixels are blocks of pixels."""
    rows = [data[:, :, y::block_size, x::block_size] for y in range(block_size) for x in range(block_size)]
    result: Array = np.concatenate(rows, axis=1)
    return result


def depth_to_space_python(data: Array, block_size: int, mode: str = "DCR") -> Array:
    """Return images NCHW with blocks of pixels made of channels."""
    n, c, h, w = data.shape
    less = c // block_size**2
    result = np.zeros((n, less, h * block_size, w * block_size), data.dtype)
    for y in range(block_size):
        for x in range(block_size):
            k = y * block_size + x
            part = data[:, k * less : (k + 1) * less] if mode == "DCR" else data[:, k :: block_size**2]
            result[:, :, y::block_size, x::block_size] = part
    return result


def gather_nd_python(a_np: Array, indices_np: Array) -> Array:
    """Return the parts at the coordinates that the first dimension of ``indices_np`` has."""
    result: Array = a_np[tuple(indices_np)]
    return result


def scatter_nd(data: Array, indices: Array, updates: Array, mode: str = "update") -> Array:
    """Return ``data`` with updates put, or added ("add"), at coordinates."""
    result = data.copy()
    for place in np.ndindex(*indices.shape[1:]):
        at = tuple(indices[(slice(None), *place)])
        result[at] = result[at] + updates[place] if mode == "add" else updates[place]
    return result


def sequence_mask(data: Array, valid_length: Array, mask_value: float, axis: int) -> Array:
    """Return ``data`` with a value from each batch's length on along ``axis``."""
    place = np.arange(data.shape[axis])
    inside = place[:, None] < valid_length if axis == 0 else place < valid_length[:, None]
    return np.where(inside.reshape(*inside.shape, *[1] * (data.ndim - 2)), data, mask_value).astype(data.dtype)


def matrix_set_diag(input_np: Array, diagonal: Array, k: int | tuple[int, int] = 0, align: str = "RIGHT_LEFT") -> Array:
    """Return matrices with diagonals put in, the highest one first."""
    low, high = (k, k) if isinstance(k, int) else k
    rows, columns = input_np.shape[-2:]
    result, sides = input_np.copy(), align.split("_")
    for d in range(low, high + 1):
        length = min(columns - max(d, 0), rows + min(d, 0))
        values = diagonal if low == high else diagonal[..., high - d, :]
        left = low == high or (d >= 0 and sides[0] == "LEFT") or (d <= 0 and sides[1] == "LEFT")
        first = 0 if left else values.shape[-1] - length
        for i in range(length):
            result[..., i + max(-d, 0), i + max(d, 0)] = values[..., first + i]
    return result


def slice_axis_python(data: Array, axis: int, begin: int, end: int | None = None) -> Array:
    """Return a part along one axis."""
    index = [slice(None)] * data.ndim
    index[axis] = slice(begin, end)
    return data[tuple(index)]


def instance_norm_python(data: Array, gamma: Array, beta: Array, axis: Sequence[int], epsilon: float = 1e-5) -> Array:
    """Return (N, C, ...) with mean 0 and variance 1 along ``axis``, times gamma, plus beta of the channel."""
    mean, variance = data.mean(axis=tuple(axis), keepdims=True), data.var(axis=tuple(axis), keepdims=True)
    shape = (1, -1, *[1] * (data.ndim - 2))
    result: Array = (data - mean) / np.sqrt(variance + epsilon) * gamma.reshape(shape) + beta.reshape(shape)
    return result


def batch_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Array,
    moving_var: Array,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> list[Array]:
    """Return ``x`` normalised with the given mean and variance of each place along ``axis``, and these two."""
    shape = [-1 if d == axis % x.ndim else 1 for d in range(x.ndim)]
    result = (x - moving_mean.reshape(shape)) / np.sqrt(moving_var.reshape(shape) + epsilon)
    result = result * gamma.reshape(shape) if scale else result
    return [result + beta.reshape(shape) if center else result, moving_mean, moving_var]


def adaptive_pool(np_data: Array, out_size: Sequence[int], pool_type: str, layout: str = "NCHW") -> Array:
    """Return the largest element or the average of ``out_size`` windows that cover each image."""
    first = layout.index("H")
    images = np.moveaxis(np_data, (first, first + 1), (-2, -1))
    h, w = images.shape[-2:]
    result = np.zeros((*images.shape[:-2], *out_size), np_data.dtype)
    for y, x in np.ndindex(*out_size):
        rows = slice(y * h // out_size[0], -(-(y + 1) * h // out_size[0]))
        columns = slice(x * w // out_size[1], -(-(x + 1) * w // out_size[1]))
        window = images[..., rows, columns]
        result[..., y, x] = window.max((-2, -1)) if pool_type == "max" else window.mean((-2, -1))
    return np.moveaxis(result, (-2, -1), (first, first + 1))


def resize2d_python(
    data: Array, size: Sequence[int], method: str = "linear", coordinate_transformation_mode: str = "half_pixel"
) -> Array:
    """Return images NCHW of another size: the nearest element, or four weighed."""
    result = np.zeros((*data.shape[:2], *size), np.float64)
    for y, x in np.ndindex(*size):
        ends, shares = [], []
        for at, before, after in ((y, data.shape[2], size[0]), (x, data.shape[3], size[1])):
            place = _source(at, before, after, coordinate_transformation_mode)
            if method == "nearest_neighbor":
                up = coordinate_transformation_mode == "align_corners"
                near = math.floor(place + 0.5) if up else math.floor(place + 1e-5)
                ends.append([min(max(near, 0), before - 1)] * 2)
                shares.append(0.0)
            else:
                low = math.floor(place)
                ends.append([min(max(end, 0), before - 1) for end in (low, low + 1)])
                shares.append(place - low)
        for row, column in np.ndindex(2, 2):
            weight = (shares[0] if row else 1 - shares[0]) * (shares[1] if column else 1 - shares[1])
            result[:, :, y, x] += weight * data[:, :, ends[0][row], ends[1][column]]
    return result.astype(data.dtype)


def _source(at: int, before: int, after: int, mode: str) -> float:
    """Return where an element of a resized row comes from."""
    if mode == "half_pixel":
        return (at + 0.5) * before / after - 0.5
    if mode == "align_corners":
        return at * (before - 1) / (after - 1) if after > 1 else 0.0
    return at * before / after
