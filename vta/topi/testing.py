"""Operators of ``topi`` in plain numpy, under TVM's names: what tests compare with (``topi.testing`` in scripts).

Written from the definitions, window by window; nothing here is shared with the operators themselves.
Tests: tests/vta/topi/test_testing.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vta.topi.core.operator import OperatorError
from vta.topi.numpy_twins import (
    adaptive_pool,
    batch_norm,
    depth_to_space_python,
    gather_nd_python,
    instance_norm_python,
    matrix_set_diag,
    resize2d_python,
    scatter_nd,
    sequence_mask,
    slice_axis_python,
    space_to_depth_python,
)

__all__ = [
    "adaptive_pool", "batch_matmul", "batch_norm", "conv2d_hwcn_python", "conv2d_nchw_python", "conv2d_nhwc_python",
    "conv2d_transpose_nchw_python", "dense", "depth_to_space_python", "depthwise_conv2d_python_nchw",
    "depthwise_conv2d_python_nhwc", "dilate_python", "gather_nd_python", "gather_python", "instance_norm_python",
    "l2_normalize_python", "layer_norm_python", "log_softmax_python", "lrn_python", "matrix_set_diag", "one_hot",
    "poolnd_python", "resize2d_python", "scatter_nd", "sequence_mask", "slice_axis_python", "softmax_python",
    "space_to_depth_python", "strided_slice_python", "upsampling_python",
]  # fmt: skip

Array = npt.NDArray[Any]


def softmax_python(a_np: Array, axis: int = -1) -> Array:
    """Return exp(a) over its sum."""
    powers = np.exp(a_np - a_np.max(axis=axis, keepdims=True))
    result: Array = powers / powers.sum(axis=axis, keepdims=True)
    return result


def log_softmax_python(a_np: Array, axis: int = -1) -> Array:
    """Return the logarithm of the softmax."""
    moved = a_np - a_np.max(axis=axis, keepdims=True)
    result: Array = moved - np.log(np.exp(moved).sum(axis=axis, keepdims=True))
    return result


def layer_norm_python(
    data: Array, gamma: Array, beta: Array | None, axis: int | Sequence[int], epsilon: float = 1e-5
) -> Array:
    """Return ``data`` with mean 0 and variance 1 along ``axis``, times gamma, plus beta."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    mean, variance = data.mean(axis=axes, keepdims=True), data.var(axis=axes, keepdims=True)
    shape = [size if dim in {a % data.ndim for a in axes} else 1 for dim, size in enumerate(data.shape)]
    scaled: Array = (data - mean) / np.sqrt(variance + epsilon) * gamma.reshape(shape)
    return scaled if beta is None else scaled + beta.reshape(shape)


def l2_normalize_python(a_np: Array, eps: float, axis: Sequence[int] | None = None) -> Array:
    """Return ``a_np`` over the root of its squares' sum along ``axis``."""
    squares = (a_np * a_np).sum(axis=None if axis is None else tuple(axis), keepdims=True)
    result: Array = a_np / np.sqrt(np.maximum(squares, eps))
    return result


def lrn_python(a_np: Array, size: int, axis: int, bias: float, alpha: float, beta: float) -> Array:
    """Return ``a_np`` over (bias + alpha / size * squares of ``size`` neighbours along ``axis``) ** beta."""
    half = size // 2
    result = np.empty_like(a_np)
    for place in range(a_np.shape[axis]):
        near = np.take(a_np, range(max(0, place - half), min(a_np.shape[axis], place + half + 1)), axis)
        norm = (bias + alpha / size * (near * near).sum(axis=axis)) ** beta
        index = [slice(None)] * a_np.ndim
        index[axis] = place  # type: ignore[call-overload]  # one place
        result[tuple(index)] = np.take(a_np, place, axis) / norm
    return result


def dense(x: Array, y: Array, bias: Array | None = None, use_relu: bool = False, out_dtype: str | None = None) -> Array:
    """Return x @ y.T, with a bias, and nothing below zero with ``use_relu``."""
    result: Array = x.astype(out_dtype or x.dtype) @ y.astype(out_dtype or y.dtype).T
    if bias is not None:
        result = result + bias
    return np.maximum(result, 0) if use_relu else result


def batch_matmul(
    x: Array, y: Array, out_dtype: str | None = None, trans_x: bool = False, trans_y: bool = True
) -> Array:
    """Return products of matrices; a batch of one stands for every one of the other."""
    a = x.astype(out_dtype or x.dtype)
    b = y.astype(out_dtype or y.dtype)
    result: Array = (a.swapaxes(1, 2) if trans_x else a) @ (b.swapaxes(1, 2) if trans_y else b)
    return result


def dilate_python(input_np: Array, strides: Sequence[int], dilation_value: float = 0.0) -> Array:
    """Return ``input_np`` with ``strides`` - 1 values between neighbours."""
    if len(strides) != input_np.ndim:
        raise OperatorError(f"dilate_python: expected {input_np.ndim} strides, got {len(strides)}")
    shape = [(size - 1) * step + 1 for size, step in zip(input_np.shape, strides, strict=True)]
    result = np.full(shape, dilation_value, input_np.dtype)
    result[tuple(slice(None, None, step) for step in strides)] = input_np
    return result


def _two(value: int | Sequence[int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[1]))


def _pads(padding: Any, kernel: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Return top, left, bottom, right."""
    match padding:
        case "VALID":
            return 0, 0, 0, 0
        case "SAME":
            down, right = kernel[0] - 1, kernel[1] - 1
            return (down + 1) // 2, (right + 1) // 2, down - (down + 1) // 2, right - (right + 1) // 2
        case int():
            return padding, padding, padding, padding
        case [h, w]:
            return h, w, h, w
        case [top, left, bottom, right]:
            return top, left, bottom, right
        case _:
            raise OperatorError(f"padding: expected 'SAME', 'VALID', or 1, 2 or 4 numbers, got {padding!r}")


def conv2d_nchw_python(
    a_np: Array, w_np: Array, stride: int | Sequence[int], padding: object, groups: int = 1
) -> Array:
    """Return the convolution of images in NCHW with a kernel in OIHW."""
    step, pads = _two(stride), _pads(padding, w_np.shape[2:4])
    data = np.pad(a_np, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    kernel_h, kernel_w = w_np.shape[2:4]
    windows = np.lib.stride_tricks.sliding_window_view(data, (kernel_h, kernel_w), axis=(2, 3))
    windows = windows[:, :, :: step[0], :: step[1]]
    inner, outer = data.shape[1] // groups, w_np.shape[0] // groups
    parts = [
        np.einsum(
            "nchwij,ocij->nohw",
            windows[:, g * inner : (g + 1) * inner],
            w_np[g * outer : (g + 1) * outer],
            optimize=True,
        )
        for g in range(groups)
    ]
    result: Array = np.concatenate(parts, axis=1)
    return result


def conv2d_nhwc_python(
    a_np: Array, w_np: Array, stride: int | Sequence[int], padding: object, groups: int = 1
) -> Array:
    """Return the convolution of images in NHWC with a kernel in HWIO."""
    turned = conv2d_nchw_python(a_np.transpose(0, 3, 1, 2), w_np.transpose(3, 2, 0, 1), stride, padding, groups)
    return turned.transpose(0, 2, 3, 1)


def conv2d_hwcn_python(a_np: Array, w_np: Array, stride: int | Sequence[int], padding: object) -> Array:
    """Return the convolution of images in HWCN with a kernel in HWIO."""
    turned = conv2d_nchw_python(a_np.transpose(3, 2, 0, 1), w_np.transpose(3, 2, 0, 1), stride, padding)
    return turned.transpose(2, 3, 1, 0)


def depthwise_conv2d_python_nhwc(
    input_np: Array, filter_np: Array, stride: int | Sequence[int], padding: object
) -> Array:
    """Return the convolution of every channel with its own kernels, in NHWC and (h, w, channel, multiplier)."""
    turned = depthwise_conv2d_python_nchw(
        input_np.transpose(0, 3, 1, 2), filter_np.transpose(2, 3, 0, 1), stride, padding
    )
    return turned.transpose(0, 2, 3, 1)


def depthwise_conv2d_python_nchw(
    input_np: Array, filter_np: Array, stride: int | Sequence[int], padding: object
) -> Array:
    """Return the convolution of every channel with its own kernels, in NCHW and (channel, multiplier, h, w)."""
    channels, multiplier = filter_np.shape[:2]
    kernel = filter_np.reshape(channels * multiplier, 1, *filter_np.shape[2:])
    return conv2d_nchw_python(input_np, kernel, stride, padding, groups=channels)


def conv2d_transpose_nchw_python(
    a_np: Array, w_np: Array, stride: int | Sequence[int], padding: object, output_padding: Sequence[int] = (0, 0)
) -> Array:
    """Return the transposed convolution of images in NCHW with a kernel in IOHW."""
    step, pads = _two(stride), _pads(padding, w_np.shape[2:4])
    batch, _, height, width = a_np.shape
    _, outer, kernel_h, kernel_w = w_np.shape
    whole = np.zeros(
        (batch, outer, (height - 1) * step[0] + kernel_h + output_padding[0],
         (width - 1) * step[1] + kernel_w + output_padding[1]), a_np.dtype,
    )  # fmt: skip
    for y in range(height):
        for x in range(width):
            piece = np.einsum("nc,cohw->nohw", a_np[:, :, y, x], w_np)
            whole[:, :, y * step[0] : y * step[0] + kernel_h, x * step[1] : x * step[1] + kernel_w] += piece
    return whole[:, :, pads[0] : whole.shape[2] - pads[2], pads[1] : whole.shape[3] - pads[3]]


def poolnd_python(
    np_data: Array,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    padding_before: Sequence[int],
    padding_after: Sequence[int],
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
) -> Array:
    """Return the largest or the average of windows over the dimensions after the first two."""
    spatial = np_data.shape[2:]
    around = math.ceil if ceil_mode else math.floor
    out = [
        int(around((size + before + after - step * (count - 1) - 1) / stride)) + 1
        for size, before, after, step, count, stride in zip(
            spatial, padding_before, padding_after, dilation, kernel, strides, strict=True
        )
    ]
    result = np.zeros((*np_data.shape[:2], *out), dtype)
    for place in np.ndindex(*out):
        taps = [
            [p * stride - before + k * step for k in range(count)]
            for p, stride, before, step, count in zip(place, strides, padding_before, dilation, kernel, strict=True)
        ]
        inside = [[t for t in axis if 0 <= t < size] for axis, size in zip(taps, spatial, strict=True)]
        values = np_data[(slice(None), slice(None), *np.ix_(*inside))].reshape(*np_data.shape[:2], -1)
        if pool_type == "max":
            nothing = np.finfo(dtype).min if np.dtype(dtype).kind == "f" else np.iinfo(dtype).min
            result[(slice(None), slice(None), *place)] = values.max(axis=2, initial=nothing)
            continue
        padded = [
            [t for t in axis if t < size + after]
            for axis, size, after in zip(taps, spatial, padding_after, strict=True)
        ]
        count = math.prod(len(axis) for axis in (padded if count_include_pad else inside))
        result[(slice(None), slice(None), *place)] = values.sum(axis=2) / max(count, 1)
    return result


def upsampling_python(data: Array, scale: Sequence[int], layout: str = "NCHW") -> Array:
    """Return images with every element repeated."""
    first = layout.index("H")
    return data.repeat(int(scale[0]), first).repeat(int(scale[1]), first + 1)


def gather_python(data: Array, axis: int, indices: Array) -> Array:
    """Return the elements at ``indices`` along ``axis``."""
    return np.take_along_axis(data, indices, axis)


def one_hot(indices: Array, on_value: float, off_value: float, depth: int, axis: int, dtype: str) -> Array:
    """Return ``on_value`` where the place along a new ``axis`` is the index."""
    hot = np.where(indices[..., None] == np.arange(depth), on_value, off_value).astype(dtype)
    return np.moveaxis(hot, -1, axis % (indices.ndim + 1))


def strided_slice_python(
    data: Array,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
    slice_mode: str = "end",
    axes: Sequence[int] | None = None,
) -> Array:
    """Return a slice; with ``slice_mode`` "size", ``end`` are sizes."""
    steps = list(strides or [1] * len(begin))
    index = [slice(None)] * data.ndim
    for axis, low, high, step in zip(axes or range(len(begin)), begin, end, steps, strict=False):
        index[axis] = slice(low, low + high if slice_mode == "size" else high, step)
    return data[tuple(index)]
