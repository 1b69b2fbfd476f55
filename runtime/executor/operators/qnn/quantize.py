"""Between real numbers and integers, as ONNX defines it.

Tests: tests/runtime/executor/operators/qnn/test_quantize.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.broadcast import along
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.shapes import normal_axis, require_dtype
from runtime.executor.operators.types import Array, RelayError, TensorType, element_type

__all__ = ["ROWS", "DequantizeAttrs", "QuantizeAttrs", "quantized"]


@dataclass(frozen=True, slots=True)
class QuantizeAttrs(Attrs):
    """The integer type of the result, and the axis that scales and zero points go along if they are not scalars."""

    out_dtype: str = "int8"
    axis: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "out_dtype", element_type(self.out_dtype))


@dataclass(frozen=True, slots=True)
class DequantizeAttrs(Attrs):
    """The axis that scales and zero points go along if they are not scalars."""

    axis: int = 1


def _check(types: Types, axis: int, integer: str) -> None:
    """Raise ``RelayError`` unless scale and zero point go with the data."""
    data, scale, zero_point = types
    require_dtype(scale, "scale", "float32")
    require_dtype(zero_point, "zero_point", integer)
    if scale.shape != zero_point.shape:
        raise RelayError(f"scale and zero_point have one shape, not {scale.shape} and {zero_point.shape}")
    if scale.rank and scale.shape != (data.shape[normal_axis(axis, data.rank)],):
        raise RelayError(f"scale is a scalar or has the {data.shape[axis]} elements of axis {axis}, not {scale.shape}")


def _quantize_type(types: Types, attrs: QuantizeAttrs) -> TensorType:
    require_dtype(types[0], "data", "float32")
    require_dtype(TensorType((), attrs.out_dtype), "the result", "int8", "uint8", "int16", "uint16", "int32")
    _check(types, attrs.axis, attrs.out_dtype)
    return TensorType(types[0].shape, attrs.out_dtype)


def _dequantize_type(types: Types, attrs: DequantizeAttrs) -> TensorType:
    require_dtype(types[0], "data", "int8", "uint8", "int16", "uint16", "int32")
    _check(types, attrs.axis, types[0].dtype)
    return TensorType(types[0].shape, "float32")


def _spread(values: Array, axis: int, rank: int) -> Array:
    return along(values, axis, rank) if values.ndim else values


def quantized(real: Array, scale: Array, zero_point: Array) -> Array:
    """Return ``real / scale`` to the nearest integer, halves to the even one, plus the zero point, within its type.

    The division is that of float32. NaN becomes the zero point.
    """
    limits = np.iinfo(zero_point.dtype)
    with np.errstate(all="ignore"):
        steps = np.nan_to_num(np.rint(real / scale), nan=0.0, posinf=np.inf, neginf=-np.inf).astype(np.float64)
    moved = steps + zero_point.astype(np.float64)
    return np.clip(moved, limits.min, limits.max).astype(zero_point.dtype)


def _quantize(arrays: Sequence[Array], attrs: QuantizeAttrs) -> Array:
    data, scale, zero_point = arrays
    return quantized(data, _spread(scale, attrs.axis, data.ndim), _spread(zero_point, attrs.axis, data.ndim))


def _dequantize(arrays: Sequence[Array], attrs: DequantizeAttrs) -> Array:
    data, scale, zero_point = arrays
    zero = _spread(zero_point, attrs.axis, data.ndim).astype(np.int64)
    steps = (data.astype(np.int64) - zero).astype(np.float32)
    return np.asarray(steps * _spread(scale, attrs.axis, data.ndim))


_INPUTS = ("data", "scale", "zero_point")

ROWS: Rows = {
    Op.QUANTIZE: define(_INPUTS, QuantizeAttrs, _quantize_type, _quantize, Pattern.ELEMWISE),
    Op.DEQUANTIZE: define(_INPUTS, DequantizeAttrs, _dequantize_type, _dequantize, Pattern.ELEMWISE),
}
"""The rows of the table of operators."""
