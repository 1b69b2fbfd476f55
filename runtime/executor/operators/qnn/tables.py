"""Sums over windows of integers, and functions of 8-bit integers as tables.

Tests: tests/runtime/executor/operators/qnn/test_tables.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
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
    """A pool's, and the zero point of the data: pads add nothing.

    Sums of row i and column j of the result are times ``row_factors[i] * column_factors[j]``, where factors are given:
    windows of different numbers of cells then stand for averages of one scale.
    """

    zero_point: int = 0
    row_factors: tuple[int, ...] = ()
    column_factors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LookupAttrs(Attrs):
    """The axis of the data that has a table an element, if there are several tables.

    ``formula`` and its ``parameters`` say how engines may compute the table (``vta.relay.integer.formulas``); what it
    means are its numbers.
    """

    axis: int = 1
    formula: str = ""
    parameters: tuple[float, ...] = ()


def _sum_pool_type(types: Types, attrs: QnnPool2dAttrs) -> TensorType:
    require_dtype(types[0], "data", "int8", "uint8")
    shape = pool_shape(types, attrs)
    sizes = Layout.of(attrs.layout).sizes(shape)
    for name, factors, count in (
        ("row_factors", attrs.row_factors, sizes["H"]),
        ("column_factors", attrs.column_factors, sizes["W"]),
    ):
        if factors and (len(factors) != count or not all(1 <= factor < 1 << 31 for factor in factors)):
            raise RelayError(f"{name} are {count} integers from 1, or none, not {factors}")
    return TensorType(shape, "int32")


def _sum_pool(arrays: Sequence[Array], attrs: QnnPool2dAttrs) -> Array:
    layout = Layout.of(attrs.layout)
    image = to_plain(arrays[0], layout, "NCHW").astype(np.int32) - np.int32(attrs.zero_point)
    sums = window_sums(image, attrs.window)
    with np.errstate(over="ignore"):
        for factors, shape in ((attrs.row_factors, (-1, 1)), (attrs.column_factors, (-1,))):
            if factors:
                sums = sums * np.array(factors, np.int32).reshape(shape)
    return from_plain(sums, layout, "NCHW")


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
