"""The same elements in another shape or order.

Tests: tests/runtime/executor/operators/test_rearrange.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from runtime.executor.operators.attributes import Attrs, NoAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.shapes import normal_axes, normal_axis
from runtime.executor.operators.types import Array, RelayError, Shape, TensorType, element_type

__all__ = ["ROWS", "AxesAttrs", "ExpandDimsAttrs", "ReshapeAttrs", "ShapeOfAttrs", "TileAttrs", "TransposeAttrs"]


@dataclass(frozen=True, slots=True)
class ReshapeAttrs(Attrs):
    """The shape; one size may be -1, what is left, and 0 means the data's size at the same axis."""

    newshape: Shape


@dataclass(frozen=True, slots=True)
class TransposeAttrs(Attrs):
    """The data's axes in the order of the result's; none: backwards."""

    axes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class AxesAttrs(Attrs):
    """Axes of size 1 that are left out; none: all of them."""

    axis: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ExpandDimsAttrs(Attrs):
    """``num_newaxis`` axes of size 1 from place ``axis`` of the result on."""

    axis: int
    num_newaxis: int = 1


@dataclass(frozen=True, slots=True)
class TileAttrs(Attrs):
    """How often the data is repeated along each axis."""

    reps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShapeOfAttrs(Attrs):
    """The element type of the result."""

    dtype: str = "int64"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", element_type(self.dtype))


def _reshaped(shape: Shape, newshape: Shape) -> Shape:
    """Return the shape that ``newshape`` means for data of ``shape``; raises ``RelayError``."""
    if any(size < -1 for size in newshape) or newshape.count(-1) > 1:
        raise RelayError(f"newshape consists of sizes, of which one may be -1, not {newshape}")
    if any(size == 0 and axis >= len(shape) for axis, size in enumerate(newshape)):
        raise RelayError(f"newshape {newshape} takes a size from an axis that {shape} does not have")
    settled = [shape[axis] if size == 0 else size for axis, size in enumerate(newshape)]
    if -1 in settled:
        known = prod(size for size in settled if size != -1)
        settled[settled.index(-1)] = prod(shape) // known if known else 0
    if prod(settled) != prod(shape):
        raise RelayError(f"{prod(shape)} elements, {shape}, do not have the shape {newshape}")
    return tuple(settled)


def _reshape_type(types: Types, attrs: ReshapeAttrs) -> TensorType:
    return TensorType(_reshaped(types[0].shape, attrs.newshape), types[0].dtype)


def _reshape(arrays: Sequence[Array], attrs: ReshapeAttrs) -> Array:
    return arrays[0].reshape(_reshaped(arrays[0].shape, attrs.newshape))


def _order(rank: int, attrs: TransposeAttrs) -> tuple[int, ...]:
    """Return the axes in order; raises ``RelayError`` if they are not each one once."""
    order = tuple(reversed(range(rank))) if attrs.axes is None else normal_axes(attrs.axes, rank)
    if len(order) != rank:
        raise RelayError(f"axes names each of {rank} axes once, not {attrs.axes}")
    return order


def _transpose_type(types: Types, attrs: TransposeAttrs) -> TensorType:
    shape = types[0].shape
    return TensorType(tuple(shape[axis] for axis in _order(len(shape), attrs)), types[0].dtype)


def _transpose(arrays: Sequence[Array], attrs: TransposeAttrs) -> Array:
    return arrays[0].transpose(_order(arrays[0].ndim, attrs))


def _squeezed(shape: Shape, attrs: AxesAttrs) -> Shape:
    if attrs.axis is None:
        return tuple(size for size in shape if size != 1)
    axes = normal_axes(attrs.axis, len(shape))
    if wrong := [axis for axis in axes if shape[axis] != 1]:
        raise RelayError(f"axis {wrong[0]} of {shape} has the size {shape[wrong[0]]}, not 1")
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _squeeze_type(types: Types, attrs: AxesAttrs) -> TensorType:
    return TensorType(_squeezed(types[0].shape, attrs), types[0].dtype)


def _squeeze(arrays: Sequence[Array], attrs: AxesAttrs) -> Array:
    return arrays[0].reshape(_squeezed(arrays[0].shape, attrs))


def _expanded(shape: Shape, attrs: ExpandDimsAttrs) -> Shape:
    if attrs.num_newaxis < 0:
        raise RelayError(f"num_newaxis is from 0, not {attrs.num_newaxis}")
    axis = normal_axis(attrs.axis, len(shape) + 1)
    return (*shape[:axis], *(1,) * attrs.num_newaxis, *shape[axis:])


def _expand_type(types: Types, attrs: ExpandDimsAttrs) -> TensorType:
    return TensorType(_expanded(types[0].shape, attrs), types[0].dtype)


def _expand(arrays: Sequence[Array], attrs: ExpandDimsAttrs) -> Array:
    return arrays[0].reshape(_expanded(arrays[0].shape, attrs))


def _flattened(shape: Shape) -> Shape:
    return (shape[0], prod(shape[1:]))


def _flatten_type(types: Types, _: NoAttrs) -> TensorType:
    if types[0].rank < 1:
        raise RelayError("data has an axis or more, and it is a scalar")
    return TensorType(_flattened(types[0].shape), types[0].dtype)


def _flatten(arrays: Sequence[Array], _: NoAttrs) -> Array:
    return arrays[0].reshape(_flattened(arrays[0].shape))


def _tile_type(types: Types, attrs: TileAttrs) -> TensorType:
    [data] = types
    if any(count < 0 for count in attrs.reps):
        raise RelayError(f"reps are integers from 0, not {attrs.reps}")
    rank = max(data.rank, len(attrs.reps))
    shape = (1,) * (rank - data.rank) + data.shape
    reps = (1,) * (rank - len(attrs.reps)) + attrs.reps
    return TensorType(tuple(size * count for size, count in zip(shape, reps, strict=True)), data.dtype)


def _tile(arrays: Sequence[Array], attrs: TileAttrs) -> Array:
    return np.tile(arrays[0], attrs.reps)


def _shape_of_type(types: Types, attrs: ShapeOfAttrs) -> TensorType:
    return TensorType((types[0].rank,), attrs.dtype)


def _shape_of(arrays: Sequence[Array], attrs: ShapeOfAttrs) -> Array:
    return np.array(arrays[0].shape, np.dtype(attrs.dtype))


_DATA = ("data",)

ROWS: Rows = {
    Op.RESHAPE: define(_DATA, ReshapeAttrs, _reshape_type, _reshape, Pattern.INJECTIVE),
    Op.TRANSPOSE: define(_DATA, TransposeAttrs, _transpose_type, _transpose, Pattern.INJECTIVE),
    Op.SQUEEZE: define(_DATA, AxesAttrs, _squeeze_type, _squeeze, Pattern.INJECTIVE),
    Op.EXPAND_DIMS: define(_DATA, ExpandDimsAttrs, _expand_type, _expand, Pattern.INJECTIVE),
    Op.BATCH_FLATTEN: define(_DATA, NoAttrs, _flatten_type, _flatten, Pattern.INJECTIVE),
    Op.TILE: define(_DATA, TileAttrs, _tile_type, _tile, Pattern.INJECTIVE),
    Op.SHAPE_OF: define(_DATA, ShapeOfAttrs, _shape_of_type, _shape_of, Pattern.OPAQUE),
}
"""The rows of the table of operators."""
