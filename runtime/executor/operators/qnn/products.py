"""Sums of products of integers, exact, in int32: ``(data - zero point) * (weight - zero point)``.

Pads of convolutions have the data's zero point, so they add nothing. Sums wrap at 32 bits. Tests:
tests/runtime/executor/operators/qnn/test_products.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.convolution import (
    Conv2dAttrs,
    Conv2dTransposeAttrs,
    conv2d_shape,
    conv2d_transpose_shape,
    correlated,
    scattered,
)
from runtime.executor.operators.correlate import exact_float, wrap32
from runtime.executor.operators.layouts import Layout
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.products import BatchMatmulAttrs, batch_matmul_shape, batch_operands, dense_shape
from runtime.executor.operators.shapes import broadcast, require_dtype
from runtime.executor.operators.types import Array, RelayError, TensorType

__all__ = ["ROWS", "QnnBatchMatmulAttrs", "QnnConv2dAttrs", "QnnConv2dTransposeAttrs", "QnnDenseAttrs", "QnnMulAttrs"]


@dataclass(frozen=True, slots=True)
class QnnConv2dAttrs(Conv2dAttrs):
    """A convolution's, and the zero points; the kernel's is one number, or one an output channel."""

    input_zero_point: int = 0
    kernel_zero_point: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class QnnConv2dTransposeAttrs(Conv2dTransposeAttrs):
    """A transposed convolution's, and the zero points; the kernel's is one number, or one an output channel."""

    input_zero_point: int = 0
    kernel_zero_point: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class QnnDenseAttrs(Attrs):
    """The zero points; the weight's is one number, or one a unit."""

    input_zero_point: int = 0
    kernel_zero_point: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class QnnBatchMatmulAttrs(BatchMatmulAttrs):
    """Which operand is transposed, and the zero points."""

    a_zero_point: int = 0
    b_zero_point: int = 0


@dataclass(frozen=True, slots=True)
class QnnMulAttrs(Attrs):
    """The zero points."""

    lhs_zero_point: int = 0
    rhs_zero_point: int = 0


def _check_operands(types: Types, names: Sequence[str], zero_points: Sequence[tuple[int, ...]]) -> None:
    """Raise ``RelayError`` unless both operands have 8 bits and zero points of their type."""
    for name, each, zeros in zip(names, types, zero_points, strict=True):
        require_dtype(each, name, "int8", "uint8")
        low, high = each.dtype.bounds
        if wrong := [zero for zero in zeros if not low <= zero <= high]:
            raise RelayError(f"the zero point of {name} is from {low} to {high}, not {wrong[0]}")


def _check_kernel_zeros(zeros: tuple[int, ...], channels: int) -> None:
    if len(zeros) not in (1, channels):
        raise RelayError(f"kernel_zero_point is one number, or one for each of {channels} channels, not {len(zeros)}")


def _conv2d_type(types: Types, attrs: QnnConv2dAttrs) -> TensorType:
    _check_operands(types, ("data", "weight"), ((attrs.input_zero_point,), attrs.kernel_zero_point))
    shape = conv2d_shape(types, attrs)
    _check_kernel_zeros(attrs.kernel_zero_point, Layout.of(attrs.kernel_layout).sizes(types[1].shape)["O"])
    return TensorType(shape, "int32")


def _transpose_type(types: Types, attrs: QnnConv2dTransposeAttrs) -> TensorType:
    _check_operands(types, ("data", "weight"), ((attrs.input_zero_point,), attrs.kernel_zero_point))
    shape = conv2d_transpose_shape(types, attrs)
    per_group = Layout.of(attrs.kernel_layout).sizes(types[1].shape)["O"]
    zeros = attrs.kernel_zero_point
    if len(zeros) > 1 and attrs.groups > 1:
        raise RelayError("kernel_zero_point is one number where there are groups")
    _check_kernel_zeros(zeros, per_group)
    return TensorType(shape, "int32")


def _centred(array: Array, zero: int) -> Array:
    return array.astype(np.int32) - np.int32(zero)


def _centred_kernel(weight: Array, zeros: tuple[int, ...], layout: Layout) -> Array:
    """Return the weight without its zero points, which go along its output channels."""
    if len(set(zeros)) == 1:
        return _centred(weight, zeros[0])
    numbers = np.array(zeros, np.int32).reshape(-1, layout.block("O"))
    shape = [1] * weight.ndim
    for (letter, size), axis in zip(layout.parts, range(weight.ndim), strict=True):
        if letter == "O":
            shape[axis] = size or numbers.shape[0]
    return weight.astype(np.int32) - numbers.reshape(shape)


def _summed_axes(layout: Layout, kept: str) -> tuple[int, ...]:
    """Return the axes of a weight over which products are summed."""
    return tuple(axis for axis, (letter, _) in enumerate(layout.parts) if letter != kept)


def _conv2d(arrays: Sequence[Array], attrs: QnnConv2dAttrs) -> Array:
    layout = Layout.of(attrs.kernel_layout)
    data = _centred(arrays[0], attrs.input_zero_point)
    weight = _centred_kernel(arrays[1], attrs.kernel_zero_point, layout)
    kind = exact_float(data, weight, _summed_axes(layout, "O"))
    return wrap32(correlated(data.astype(kind), weight.astype(kind), attrs))


def _transpose(arrays: Sequence[Array], attrs: QnnConv2dTransposeAttrs) -> Array:
    layout = Layout.of(attrs.kernel_layout)
    data = _centred(arrays[0], attrs.input_zero_point)
    weight = _centred_kernel(arrays[1], attrs.kernel_zero_point, layout)
    kind = exact_float(data, weight, _summed_axes(layout, "O"))
    return wrap32(scattered(data.astype(kind), weight.astype(kind), attrs))


def _dense_type(types: Types, attrs: QnnDenseAttrs) -> TensorType:
    _check_operands(types, ("data", "weight"), ((attrs.input_zero_point,), attrs.kernel_zero_point))
    shape = dense_shape(types)
    _check_kernel_zeros(attrs.kernel_zero_point, shape[-1])
    return TensorType(shape, "int32")


def _dense(arrays: Sequence[Array], attrs: QnnDenseAttrs) -> Array:
    data = _centred(arrays[0], attrs.input_zero_point)
    weight = arrays[1].astype(np.int32) - np.array(attrs.kernel_zero_point, np.int32)[:, None]
    kind = exact_float(data, weight, (1,))
    return wrap32(np.matmul(data.astype(kind), weight.T.astype(kind)))


def _batch_matmul_type(types: Types, attrs: QnnBatchMatmulAttrs) -> TensorType:
    _check_operands(types, ("a", "b"), ((attrs.a_zero_point,), (attrs.b_zero_point,)))
    return TensorType(batch_matmul_shape(types, attrs), "int32")


def _batch_matmul(arrays: Sequence[Array], attrs: QnnBatchMatmulAttrs) -> Array:
    a, b = batch_operands((_centred(arrays[0], attrs.a_zero_point), _centred(arrays[1], attrs.b_zero_point)), attrs)
    kind = exact_float(a, b, (b.ndim - 2,))
    return wrap32(np.matmul(a.astype(kind), b.astype(kind)))


def _mul_type(types: Types, _: QnnMulAttrs) -> TensorType:
    for name, each in zip(("lhs", "rhs"), types, strict=True):
        require_dtype(each, name, "int8", "uint8", "int32")
    return TensorType(broadcast([each.shape for each in types]), "int32")


def _mul(arrays: Sequence[Array], attrs: QnnMulAttrs) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(_centred(arrays[0], attrs.lhs_zero_point) * _centred(arrays[1], attrs.rhs_zero_point))


_INPUTS = ("data", "weight")

ROWS: Rows = {
    Op.QNN_CONV2D: define(_INPUTS, QnnConv2dAttrs, _conv2d_type, _conv2d, Pattern.OUT_ELEMWISE_FUSABLE),
    Op.QNN_CONV2D_TRANSPOSE: define(
        _INPUTS, QnnConv2dTransposeAttrs, _transpose_type, _transpose, Pattern.OUT_ELEMWISE_FUSABLE
    ),
    Op.QNN_DENSE: define(_INPUTS, QnnDenseAttrs, _dense_type, _dense, Pattern.OUT_ELEMWISE_FUSABLE),
    Op.QNN_BATCH_MATMUL: define(
        ("a", "b"), QnnBatchMatmulAttrs, _batch_matmul_type, _batch_matmul, Pattern.OUT_ELEMWISE_FUSABLE
    ),
    Op.QNN_MUL: define(("lhs", "rhs"), QnnMulAttrs, _mul_type, _mul, Pattern.BROADCAST),
}
"""The rows of the table of operators."""
