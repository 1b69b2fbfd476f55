"""Operators along axes: sums, extremes, and where the extremes are.

Tests: tests/runtime/executor/operators/test_reduction.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Operator, Pattern, Rows, Types, define
from runtime.executor.operators.shapes import normal_axes, normal_axis, require_dtype, whole_float
from runtime.executor.operators.types import Array, RelayError, Shape, TensorType

__all__ = ["ROWS", "ArgAttrs", "ReduceAttrs"]

Reducer = Callable[[Array, tuple[int, ...]], Array]


@dataclass(frozen=True, slots=True)
class ReduceAttrs(Attrs):
    """The axes that vanish, or with ``keepdims`` have size 1; None: all of them. Integers wrap in their own type."""

    axis: tuple[int, ...] | None = None
    keepdims: bool = False


@dataclass(frozen=True, slots=True)
class ArgAttrs(Attrs):
    """The axis along which the place is looked for; of several, the first, or the last."""

    axis: int = 0
    keepdims: bool = False
    select_last_index: bool = False


def _axes(rank: int, attrs: ReduceAttrs) -> tuple[int, ...]:
    return tuple(range(rank)) if attrs.axis is None else normal_axes(attrs.axis, rank)


def _reduced(shape: Shape, axes: Sequence[int], *, keepdims: bool) -> Shape:
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _of_numbers(types: Types, attrs: ReduceAttrs) -> TensorType:
    [data] = types
    if data.dtype == "bool":
        raise RelayError("data holds numbers, not bool")
    return TensorType(_reduced(data.shape, _axes(data.rank, attrs), keepdims=attrs.keepdims), data.dtype)


def _of_floats(types: Types, attrs: ReduceAttrs) -> TensorType:
    whole_float(types[0], "data")
    return _of_numbers(types, attrs)


def _of_some(types: Types, attrs: ReduceAttrs) -> TensorType:
    [data] = types
    if any(data.shape[axis] == 0 for axis in _axes(data.rank, attrs)):
        raise RelayError(f"there is no largest or smallest of no elements, and the shape is {data.shape}")
    return _of_numbers(types, attrs)


def _of_truths(types: Types, attrs: ReduceAttrs) -> TensorType:
    [data] = types
    require_dtype(data, "data", "bool")
    return TensorType(_reduced(data.shape, _axes(data.rank, attrs), keepdims=attrs.keepdims), "bool")


def _place_type(types: Types, attrs: ArgAttrs) -> TensorType:
    [data] = types
    axis = normal_axis(attrs.axis, data.rank)
    if data.shape[axis] == 0:
        raise RelayError(f"there is no largest or smallest of no elements, and the shape is {data.shape}")
    return TensorType(_reduced(data.shape, (axis,), keepdims=attrs.keepdims), "int64")


def _row(relation: Callable[[Types, ReduceAttrs], TensorType], reducer: Reducer) -> Operator:
    def meaning(arrays: Sequence[Array], attrs: ReduceAttrs) -> Array:
        [data] = arrays
        axes = _axes(data.ndim, attrs)
        with np.errstate(all="ignore"):
            result = np.asarray(reducer(data, axes))
        return result.reshape(_reduced(data.shape, axes, keepdims=attrs.keepdims))

    return define(("data",), ReduceAttrs, relation, meaning, Pattern.COMM_REDUCE)


def _place_row(finder: Callable[[Array, int], Array]) -> Operator:
    def meaning(arrays: Sequence[Array], attrs: ArgAttrs) -> Array:
        [data] = arrays
        axis = attrs.axis % data.ndim
        if attrs.select_last_index:
            found = data.shape[axis] - 1 - finder(np.flip(data, axis), axis)
        else:
            found = finder(data, axis)
        wide = np.asarray(found).astype(np.int64)
        return np.expand_dims(wide, axis) if attrs.keepdims else wide

    return define(("data",), ArgAttrs, _place_type, meaning, Pattern.COMM_REDUCE)


_REDUCERS: Mapping[Op, tuple[Callable[[Types, ReduceAttrs], TensorType], Reducer]] = {
    Op.SUM: (_of_numbers, lambda data, axes: data.sum(axis=axes, dtype=data.dtype)),
    Op.MEAN: (_of_floats, lambda data, axes: data.mean(axis=axes, dtype=data.dtype)),
    Op.MAX: (_of_some, lambda data, axes: data.max(axis=axes)),
    Op.MIN: (_of_some, lambda data, axes: data.min(axis=axes)),
    Op.PROD: (_of_numbers, lambda data, axes: data.prod(axis=axes, dtype=data.dtype)),
    Op.ALL: (_of_truths, lambda data, axes: np.asarray(data.all(axis=axes))),
    Op.ANY: (_of_truths, lambda data, axes: np.asarray(data.any(axis=axes))),
}

ROWS: Rows = {
    **{op: _row(relation, reducer) for op, (relation, reducer) in _REDUCERS.items()},
    Op.ARGMAX: _place_row(lambda data, axis: np.argmax(data, axis)),
    Op.ARGMIN: _place_row(lambda data, axis: np.argmin(data, axis)),
}
"""The rows of the table of operators."""
