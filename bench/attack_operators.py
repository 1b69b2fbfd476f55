"""Operators of the library in plain numpy, written down a second time: what ``bench.compiler_attack`` judges by.

Sums are computed in 64 bits (products of windows in float64, where they are exact) and wrapped to 32 after every step,
as the accelerator does; the result keeps its low eight bits. Nothing here reads the library's own twins.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from vta.topi.alu.elementwise import Binary, Elementwise
from vta.topi.alu.padding import Pad2d
from vta.topi.alu.pooling import MaxPool2d, SumPool2d
from vta.topi.alu.resize import Upsample2d
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core import epilogue_steps as steps
from vta.topi.core.operator import Operator
from vta.topi.matmul.batch_matmul import BatchMatmul, Matmul
from vta.topi.matmul.dense import Dense

__all__ = ["KINDS", "expected", "known"]

Array = npt.NDArray[Any]

KINDS = (
    "elementwise",
    "binary",
    "max_pool",
    "sum_pool",
    "pad",
    "upsample",
    "dense",
    "matmul",
    "conv2d",
    "grouped_conv2d",
)
"""The kinds of ``tests.support.compiler.random_operators`` that are written down here."""

_OTHERS = (steps.Fork, steps.HalfEvenShift)


def known(operator: Operator) -> bool:
    """Whether all steps of ``operator`` are written down here."""
    return not any(isinstance(step, _OTHERS) for step in operator.epilogue)  # type: ignore[attr-defined]  # all have one


def expected(operator: Operator, arrays: list[Array]) -> Array:
    """Return the result of ``operator`` for its inputs, in order."""
    rest = iter(arrays)
    value = wrap(_head(operator, rest))
    for step in operator.epilogue:  # type: ignore[attr-defined]  # all have one
        value = wrap(_step(step, value, rest, second=not isinstance(operator, BatchMatmul)))
    result: Array = (
        value.astype(np.int8) if getattr(operator, "out_dtype", "int8") == "int8" else value.astype(np.int32)
    )
    return result


def wrap(value: Array) -> Array:
    """Return 32 bits of ``value``, as 64-bit numbers."""
    result: Array = value.astype(np.int64).astype(np.int32).astype(np.int64)
    return result


def _head(operator: Operator, arrays: Iterator[Array]) -> Array:
    first = next(arrays).astype(np.int64)
    match operator:
        case Elementwise():
            return first
        case Binary():
            return _binary(str(operator.operation), first, next(arrays).astype(np.int64))
        case Pad2d():
            top, left, bottom, right = operator.padding
            return np.pad(first, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=operator.value)
        case Upsample2d():
            return first.repeat(operator.scale[0], 2).repeat(operator.scale[1], 3)
        case MaxPool2d():
            return _windows(first, operator, np.iinfo(np.int64).min).max(axis=(4, 5))
        case SumPool2d():
            return _windows(first - operator.zero_point, operator, 0).sum(axis=(4, 5))
        case Dense():
            return (first - operator.zero_point) @ next(arrays).astype(np.int64).T
        case Matmul() | BatchMatmul():
            second = next(arrays).astype(np.int64)
            a = first.swapaxes(-1, -2) if operator.transpose_a else first
            return a @ (second.swapaxes(-1, -2) if operator.transpose_b else second)
        case Conv2d():
            return _convolution(operator, first - operator.zero_point, next(arrays).astype(np.int64))
        case _:
            raise NotImplementedError(type(operator).__name__)


def _binary(operation: str, a: Array, b: Array) -> Array:
    match operation:
        case "add":
            return a + b
        case "subtract":
            return a - b
        case "multiply":
            return a * b
        case "minimum":
            return np.minimum(a, b)
        case "maximum":
            return np.maximum(a, b)
        case "left_shift":
            return _shifted(a, b)
        case "right_shift":
            return _shifted(a, -b)
        case _:
            raise NotImplementedError(operation)


def _shifted(a: Array, places: Array) -> Array:
    """Shift to the left, where ``places`` are negative to the right; 32 and more shift everything out."""
    left = np.where(places >= 32, 0, wrap(a << np.clip(places, 0, 31)))
    return np.where(places < 0, a >> np.clip(-places, 0, 31), left)


def _windows(x: Array, operator: Any, pad: int) -> Array:
    """Return the windows at every place: (N, C, OH, OW, KH, KW)."""
    top, left, bottom, right = operator.padding
    (kh, kw), (sh, sw), (dh, dw) = operator.kernel, operator.strides, operator.dilation
    height, width = x.shape[2] + top + bottom, x.shape[3] + left + right
    span_h, span_w = (kh - 1) * dh + 1, (kw - 1) * dw + 1
    up = getattr(operator, "ceil_mode", False)
    rows, columns = _places(height, span_h, sh, x.shape[2] + top, up), _places(width, span_w, sw, x.shape[3] + left, up)
    more_h, more_w = max((rows - 1) * sh + span_h - height, 0), max((columns - 1) * sw + span_w - width, 0)
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom + more_h), (left, right + more_w)), constant_values=pad)
    result = np.empty((*x.shape[:2], rows, columns, kh, kw), np.int64)
    for i in range(kh):
        for j in range(kw):
            result[..., i, j] = padded[
                :, :, i * dh : i * dh + (rows - 1) * sh + 1 : sh, j * dw : j * dw + (columns - 1) * sw + 1 : sw
            ]
    return result


def _places(size: int, span: int, stride: int, end: int, up: bool) -> int:
    """Return how many windows fit; rounded up, the last one must begin in the data or the pad before it."""
    count = (size - span) // stride + 1
    if up and (size - span) % stride and count * stride < end:
        count += 1
    return count


def _convolution(operator: Conv2d, x: Array, kernel: Array) -> Array:
    windows = _windows(x, operator, 0).astype(np.float64)
    groups = operator.groups
    inside, outside = x.shape[1] // groups, kernel.shape[0] // groups
    parts = [
        np.einsum(
            "ncyxij,ocij->noyx",
            windows[:, g * inside : (g + 1) * inside],
            kernel[g * outside : (g + 1) * outside].astype(np.float64),
            optimize=True,
        )
        for g in range(groups)
    ]
    return np.concatenate(parts, axis=1).astype(np.int64)


def _step(step: steps.Step, x: Array, arrays: Iterator[Array], *, second: bool) -> Array:
    match step:
        case steps.Bias():
            return x + _channels(next(arrays), x, channels_second=second)
        case steps.Scale():
            return x * _channels(next(arrays), x, channels_second=second)
        case steps.ChannelShift():
            return _shifted(x, -_channels(next(arrays), x, channels_second=second))
        case steps.ChannelMinimum():
            return np.minimum(x, _channels(next(arrays), x, channels_second=second))
        case steps.ChannelMaximum():
            return np.maximum(x, _channels(next(arrays), x, channels_second=second))
        case steps.Residual():
            return x + wrap(next(arrays).astype(np.int64) * step.multiplier)
        case steps.Add():
            return x + step.constant
        case steps.Multiply():
            return x * step.constant
        case steps.ShiftLeft():
            return x << step.bits
        case steps.ShiftRight():
            return x >> step.bits
        case steps.RoundingShift():
            return wrap(x + (1 << (step.bits - 1) if step.bits else 0)) >> step.bits
        case steps.Requantise():
            half = 1 << (step.shift - 1) if step.shift else 0
            return wrap(wrap(x * step.multiplier) + half) >> step.shift
        case steps.Relu():
            return np.maximum(x, 0)
        case steps.Clip():
            return np.clip(x, step.low, step.high)
        case _:
            raise NotImplementedError(type(step).__name__)


def _channels(values: Array, x: Array, *, channels_second: bool) -> Array:
    return values.astype(np.int64).reshape(-1, *[1] * (x.ndim - 2 if channels_second else 0))
