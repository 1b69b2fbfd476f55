"""Softmax, and normalisation by means and variances.

Tests: tests/runtime/executor/operators/test_normalise.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.broadcast import along
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.shapes import broadcasts_to, normal_axis, same_dtype, whole_float
from runtime.executor.operators.types import Array, RelayError, TensorType

__all__ = ["ROWS", "BatchNormAttrs", "InstanceNormAttrs", "LayerNormAttrs", "LrnAttrs", "SoftmaxAttrs"]


@dataclass(frozen=True, slots=True)
class SoftmaxAttrs(Attrs):
    """The axis along which results sum up to one."""

    axis: int = -1


@dataclass(frozen=True, slots=True)
class BatchNormAttrs(Attrs):
    """``(data - mean) / sqrt(variance + epsilon) * gamma + beta``, each with one value an element of ``axis``."""

    axis: int = 1
    epsilon: float = 1e-5


@dataclass(frozen=True, slots=True)
class LayerNormAttrs(Attrs):
    """The same with mean and variance over the axes from ``axis`` on; gamma and beta broadcast to these axes."""

    axis: int = -1
    epsilon: float = 1e-5


@dataclass(frozen=True, slots=True)
class InstanceNormAttrs(Attrs):
    """The same with mean and variance of every channel (axis 1) of every image; gamma and beta are a channel's."""

    epsilon: float = 1e-5


@dataclass(frozen=True, slots=True)
class LrnAttrs(Attrs):
    """``data / (bias + alpha / size * sum of squares) ** beta``, the sum over ``size`` channels around each.

    Before a channel lie ``(size - 1) // 2`` of them, behind it the others, as in ONNX.
    """

    size: int = 5
    axis: int = 1
    alpha: float = 0.0001
    beta: float = 0.75
    bias: float = 1.0


def _softmax_type(types: Types, attrs: SoftmaxAttrs) -> TensorType:
    whole_float(types[0], "data")
    normal_axis(attrs.axis, types[0].rank)
    return types[0]


def _softmax(arrays: Sequence[Array], attrs: SoftmaxAttrs) -> Array:
    [x] = arrays
    with np.errstate(invalid="ignore"):  # a row of infinities has no softmax: not a number
        shifted = np.exp(x - x.max(axis=attrs.axis, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=attrs.axis, keepdims=True))


def _log_softmax(arrays: Sequence[Array], attrs: SoftmaxAttrs) -> Array:
    [x] = arrays
    with np.errstate(invalid="ignore"):
        shifted = x - x.max(axis=attrs.axis, keepdims=True)
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=attrs.axis, keepdims=True)))


def _batch_norm_type(types: Types, attrs: BatchNormAttrs) -> TensorType:
    _check_channels(types, normal_axis(attrs.axis, types[0].rank), ("gamma", "beta", "moving_mean", "moving_var"))
    return types[0]


def _check_channels(types: Types, axis: int, names: Sequence[str]) -> None:
    """Raise ``RelayError`` unless every further input has one value for each element of ``axis``."""
    data = types[0]
    whole_float(data, "data")
    same_dtype(types, ("data", *names))
    for name, each in zip(names, types[1:], strict=True):
        if each.shape != (data.shape[axis],):
            raise RelayError(f"{name} has the shape ({data.shape[axis]},), as axis {axis}, not {each.shape}")


def _batch_norm(arrays: Sequence[Array], attrs: BatchNormAttrs) -> Array:
    data = arrays[0]
    gamma, beta, mean, variance = (along(each, attrs.axis, data.ndim) for each in arrays[1:])
    return np.asarray((data - mean) / np.sqrt(variance + data.dtype.type(attrs.epsilon)) * gamma + beta)


def _layer_norm_type(types: Types, attrs: LayerNormAttrs) -> TensorType:
    data = types[0]
    whole_float(data, "data")
    same_dtype(types, ("data", "gamma", "beta"))
    inner = data.shape[normal_axis(attrs.axis, data.rank) :]
    for name, each in zip(("gamma", "beta"), types[1:], strict=True):
        if not broadcasts_to(each.shape, inner):
            raise RelayError(f"{name} broadcasts to {inner}, and its shape is {each.shape}")
    return data


def _normal(data: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    """Return ``data`` with mean 0 and variance 1 over ``axes``."""
    centred = data - data.mean(axis=axes, keepdims=True, dtype=data.dtype)
    variance = np.square(centred).mean(axis=axes, keepdims=True, dtype=data.dtype)
    return np.asarray(centred / np.sqrt(variance + data.dtype.type(epsilon)))


def _layer_norm(arrays: Sequence[Array], attrs: LayerNormAttrs) -> Array:
    data, gamma, beta = arrays
    axes = tuple(range(attrs.axis % data.ndim, data.ndim))
    return np.asarray(_normal(data, axes, attrs.epsilon) * gamma + beta)


def _instance_norm_type(types: Types, _: InstanceNormAttrs) -> TensorType:
    if types[0].rank < 3:
        raise RelayError(f"data has the axes N, C and others, and its shape is {types[0].shape}")
    _check_channels(types, 1, ("gamma", "beta"))
    return types[0]


def _instance_norm(arrays: Sequence[Array], attrs: InstanceNormAttrs) -> Array:
    data, gamma, beta = arrays
    normal = _normal(data, tuple(range(2, data.ndim)), attrs.epsilon)
    return np.asarray(normal * along(gamma, 1, data.ndim) + along(beta, 1, data.ndim))


def _lrn_type(types: Types, attrs: LrnAttrs) -> TensorType:
    whole_float(types[0], "data")
    normal_axis(attrs.axis, types[0].rank)
    if attrs.size < 1:
        raise RelayError(f"size is from 1, not {attrs.size}")
    return types[0]


def _lrn(arrays: Sequence[Array], attrs: LrnAttrs) -> Array:
    [data] = arrays
    kind = data.dtype.type
    squares = np.moveaxis(np.square(data), attrs.axis, 0)
    before = (attrs.size - 1) // 2
    padded = np.pad(squares, [(before, attrs.size - 1 - before)] + [(0, 0)] * (data.ndim - 1))
    count = squares.shape[0]
    sums = np.sum([padded[start : start + count] for start in range(attrs.size)], axis=0, dtype=data.dtype)
    scale = kind(attrs.bias) + kind(attrs.alpha / attrs.size) * np.moveaxis(sums, 0, attrs.axis)
    return np.asarray(data / np.power(scale, kind(attrs.beta)))


ROWS: Rows = {
    Op.SOFTMAX: define(("data",), SoftmaxAttrs, _softmax_type, _softmax, Pattern.OPAQUE),
    Op.LOG_SOFTMAX: define(("data",), SoftmaxAttrs, _softmax_type, _log_softmax, Pattern.OPAQUE),
    Op.BATCH_NORM: define(
        ("data", "gamma", "beta", "moving_mean", "moving_var"),
        BatchNormAttrs,
        _batch_norm_type,
        _batch_norm,
        Pattern.OPAQUE,
    ),
    Op.LAYER_NORM: define(("data", "gamma", "beta"), LayerNormAttrs, _layer_norm_type, _layer_norm, Pattern.OPAQUE),
    Op.INSTANCE_NORM: define(
        ("data", "gamma", "beta"), InstanceNormAttrs, _instance_norm_type, _instance_norm, Pattern.OPAQUE
    ),
    Op.LRN: define(("data",), LrnAttrs, _lrn_type, _lrn, Pattern.OPAQUE),
}
"""The rows of the table of operators."""
