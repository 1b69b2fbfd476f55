"""Sums over windows of integers, and functions of 8-bit integers as tables.

Tests: tests/runtime/executor/operators/qnn/test_tables.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.layouts import Layout, from_plain, to_plain
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.pooling import Pool2dAttrs, pool_shape, window_sums
from runtime.executor.operators.shapes import normal_axis, require_dtype
from runtime.executor.operators.types import Array, RelayError, Shape, TensorType

__all__ = ["ROWS", "LookupAttrs", "QnnPool2dAttrs"]


@dataclass(frozen=True, slots=True)
class QnnPool2dAttrs(Pool2dAttrs):
    """A pool's, and the zero point of the data: pads add nothing."""

    zero_point: int = 0


@dataclass(frozen=True, slots=True)
class LookupAttrs(Attrs):
    """The axis of the data that has a table an element, if there are several tables."""

    axis: int = 1


def _sum_pool_type(types: Types, attrs: QnnPool2dAttrs) -> TensorType:
    require_dtype(types[0], "data", "int8", "uint8")
    return TensorType(pool_shape(types, attrs), "int32")


def _sum_pool(arrays: Sequence[Array], attrs: QnnPool2dAttrs) -> Array:
    layout = Layout.of(attrs.layout)
    image = to_plain(arrays[0], layout, "NCHW").astype(np.int32) - np.int32(attrs.zero_point)
    return from_plain(window_sums(image, attrs.window), layout, "NCHW")


def _lookup_type(types: Types, attrs: LookupAttrs) -> TensorType:
    data, table = types
    require_dtype(data, "data", "int8", "uint8")
    expected: list[Shape] = [(256,)]
    if data.rank and table.rank == 2:
        expected.append((data.shape[normal_axis(attrs.axis, data.rank)], 256))
    if table.shape not in expected:
        raise RelayError(f"the table has the shape {' or '.join(map(str, expected))}, not {table.shape}")
    return TensorType(data.shape, table.dtype)


def _lookup(arrays: Sequence[Array], attrs: LookupAttrs) -> Array:
    """Row 0 of a table is for the smallest number of the data's type."""
    data, table = arrays
    places = data.astype(np.int32) - np.iinfo(data.dtype).min
    if table.ndim == 1:
        return np.asarray(table[places])
    axis = attrs.axis % data.ndim
    rows = np.arange(data.shape[axis]).reshape([-1 if dim == axis else 1 for dim in range(data.ndim)])
    return np.asarray(table[rows, places])


ROWS: Rows = {
    Op.QNN_SUM_POOL2D: define(("data",), QnnPool2dAttrs, _sum_pool_type, _sum_pool, Pattern.OUT_ELEMWISE_FUSABLE),
    Op.QNN_LOOKUP: define(("data", "table"), LookupAttrs, _lookup_type, _lookup, Pattern.ELEMWISE),
}
"""The rows of the table of operators."""
