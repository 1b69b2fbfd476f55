"""Parts of tensors, and tensors put together of parts.

Tests: tests/runtime/executor/operators/test_selection.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.shapes import normal_axes, normal_axis, require_rank, same_dtype
from runtime.executor.operators.types import Array, RelayError, TensorType, TupleType, element_type

__all__ = ["ROWS", "ConcatenateAttrs", "OneHotAttrs", "SplitAttrs", "StridedSliceAttrs", "TakeAttrs"]


@dataclass(frozen=True, slots=True)
class ConcatenateAttrs(Attrs):
    """The axis along which the inputs stand one behind the other."""

    axis: int = 0


@dataclass(frozen=True, slots=True)
class SplitAttrs(Attrs):
    """The sizes of the parts along ``axis``."""

    sizes: tuple[int, ...]
    axis: int = 0


@dataclass(frozen=True, slots=True)
class StridedSliceAttrs(Attrs):
    """``data[begin:end:stride]`` along each of ``axes``, with Python's rules for what is negative or too large.

    No ``strides``: all 1. No ``axes``: the first ones. ``end`` may be None: to the end.
    """

    begin: tuple[int | None, ...]
    end: tuple[int | None, ...]
    strides: tuple[int, ...] | None = None
    axes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class TakeAttrs(Attrs):
    """The axis of the data that the indices go along."""

    axis: int = 0


@dataclass(frozen=True, slots=True)
class OneHotAttrs(Attrs):
    """``depth`` classes along the new ``axis``."""

    depth: int
    axis: int = -1
    dtype: str = "float32"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", element_type(self.dtype))


def _concatenate_type(types: Types, attrs: ConcatenateAttrs) -> TensorType:
    dtype = same_dtype(types)
    first = types[0].shape
    axis = normal_axis(attrs.axis, len(first))
    for each in types[1:]:
        if each.rank != len(first) or any(
            size != other for dim, (size, other) in enumerate(zip(first, each.shape, strict=True)) if dim != axis
        ):
            raise RelayError(f"the inputs differ in axis {axis} alone, and their shapes are {first} and {each.shape}")
    total = sum(each.shape[axis] for each in types)
    return TensorType((*first[:axis], total, *first[axis + 1 :]), dtype)


def _concatenate(arrays: Sequence[Array], attrs: ConcatenateAttrs) -> Array:
    return np.concatenate(arrays, axis=attrs.axis)


def _split_type(types: Types, attrs: SplitAttrs) -> TupleType:
    shape = types[0].shape
    axis = normal_axis(attrs.axis, len(shape))
    if any(size < 0 for size in attrs.sizes) or sum(attrs.sizes) != shape[axis]:
        raise RelayError(f"sizes {attrs.sizes} are not the {shape[axis]} of axis {axis}")
    return TupleType(
        tuple(TensorType((*shape[:axis], size, *shape[axis + 1 :]), types[0].dtype) for size in attrs.sizes)
    )


def _split(arrays: Sequence[Array], attrs: SplitAttrs) -> tuple[Array, ...]:
    edges = np.cumsum(attrs.sizes)[:-1].tolist()
    return tuple(np.split(arrays[0], edges, axis=attrs.axis))


def _slices(rank: int, attrs: StridedSliceAttrs) -> tuple[slice, ...]:
    """Return a slice for each axis; raises ``RelayError``."""
    count = len(attrs.begin)
    strides = attrs.strides or (1,) * count
    axes = normal_axes(range(count) if attrs.axes is None else attrs.axes, rank)
    if not len(attrs.end) == len(strides) == len(axes) == count:
        raise RelayError(
            f"begin, end, strides and axes have one number for each axis, not {attrs.begin}, {attrs.end}, {strides} "
            f"and {axes}"
        )
    if 0 in strides:
        raise RelayError(f"a stride is not 0, and strides are {strides}")
    found = [slice(None)] * rank
    for axis, begin, end, stride in zip(axes, attrs.begin, attrs.end, strides, strict=True):
        found[axis] = slice(begin, end, stride)
    return tuple(found)


def _slice_type(types: Types, attrs: StridedSliceAttrs) -> TensorType:
    shape = types[0].shape
    pairs = zip(_slices(len(shape), attrs), shape, strict=True)
    return TensorType(tuple(len(range(*each.indices(size))) for each, size in pairs), types[0].dtype)


def _slice(arrays: Sequence[Array], attrs: StridedSliceAttrs) -> Array:
    return np.asarray(arrays[0][_slices(arrays[0].ndim, attrs)])


def _require_indices(types: Types) -> None:
    if not types[1].dtype.is_int:
        raise RelayError(f"indices are integers, not {types[1].dtype}")


def _take_type(types: Types, attrs: TakeAttrs) -> TensorType:
    _require_indices(types)
    data, indices = types
    axis = normal_axis(attrs.axis, data.rank)
    return TensorType((*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]), data.dtype)


def _checked(indices: Array, size: int) -> Array:
    """Return indices from 0; raises ``RelayError`` if one is not in the data."""
    wide = indices.astype(np.int64)
    if wide.size and not (wide.min() >= -size and wide.max() < size):
        worst = wide.max() if wide.max() >= size else wide.min()
        raise RelayError(f"index {worst} is not from {-size} to {size - 1}")
    return np.where(wide < 0, wide + size, wide)


def _take(arrays: Sequence[Array], attrs: TakeAttrs) -> Array:
    data, indices = arrays
    return np.take(data, _checked(indices, data.shape[attrs.axis]), axis=attrs.axis)


def _gather_type(types: Types, attrs: TakeAttrs) -> TensorType:
    _require_indices(types)
    data, indices = types
    axis = normal_axis(attrs.axis, data.rank)
    require_rank(indices, "indices", data.rank)
    if any(i > d for dim, (i, d) in enumerate(zip(indices.shape, data.shape, strict=True)) if dim != axis):
        raise RelayError(f"indices {indices.shape} reach beyond the data, {data.shape}")
    return TensorType(indices.shape, data.dtype)


def _gather(arrays: Sequence[Array], attrs: TakeAttrs) -> Array:
    data, indices = arrays
    axis = attrs.axis % data.ndim
    inside = tuple(slice(None) if dim == axis else slice(size) for dim, size in enumerate(indices.shape))
    return np.take_along_axis(data[inside], _checked(indices, data.shape[axis]), axis)


def _one_hot_type(types: Types, attrs: OneHotAttrs) -> TensorType:
    indices = types[0]
    if not indices.dtype.is_int:
        raise RelayError(f"indices are integers, not {indices.dtype}")
    if attrs.depth < 1:
        raise RelayError(f"depth is from 1, not {attrs.depth}")
    for name, each in zip(("on_value", "off_value"), types[1:], strict=True):
        if each.rank or each.dtype != attrs.dtype:
            raise RelayError(f"{name} is a scalar of {attrs.dtype}, not {each}")
    axis = normal_axis(attrs.axis, indices.rank + 1)
    return TensorType((*indices.shape[:axis], attrs.depth, *indices.shape[axis:]), attrs.dtype)


def _one_hot(arrays: Sequence[Array], attrs: OneHotAttrs) -> Array:
    """Indices count from the end if negative; one that is no class gives no ``on_value``."""
    indices, on_value, off_value = arrays
    wide = indices.astype(np.int64)
    wide = np.where((wide < 0) & (wide >= -attrs.depth), wide + attrs.depth, wide)
    is_on = wide[..., None] == np.arange(attrs.depth)
    return np.ascontiguousarray(np.moveaxis(np.where(is_on, on_value, off_value), -1, attrs.axis))


ROWS: Rows = {
    Op.CONCATENATE: define(("*data",), ConcatenateAttrs, _concatenate_type, _concatenate, Pattern.INJECTIVE),
    Op.SPLIT: define(("data",), SplitAttrs, _split_type, _split, Pattern.INJECTIVE),
    Op.STRIDED_SLICE: define(("data",), StridedSliceAttrs, _slice_type, _slice, Pattern.INJECTIVE),
    Op.TAKE: define(("data", "indices"), TakeAttrs, _take_type, _take, Pattern.INJECTIVE),
    Op.GATHER: define(("data", "indices"), TakeAttrs, _gather_type, _gather, Pattern.INJECTIVE),
    Op.ONE_HOT: define(
        ("indices", "on_value", "off_value"), OneHotAttrs, _one_hot_type, _one_hot, Pattern.OUT_ELEMWISE_FUSABLE
    ),
}
"""The rows of the table of operators."""
