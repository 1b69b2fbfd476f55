"""Images of another size: nearest, linear, cubic, with ONNX's rules for where a pixel lies.

Every axis is resized by itself, by a matrix of weights. Source of the rules: the ONNX specification of Resize.
Tests: tests/runtime/executor/operators/test_resize.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, floor

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.layouts import Layout, from_plain, to_plain
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.shapes import require_rank, whole_float
from runtime.executor.operators.types import Array, RelayError, TensorType

__all__ = [
    "ROWS", "Coordinates", "DepthSpaceAttrs", "DepthSpaceMode", "NearestRounding", "Resize2dAttrs", "ResizeMethod",
    "UpsamplingAttrs", "nearest_indices", "pixel_places",
]  # fmt: skip

Pair = tuple[int, int]


class ResizeMethod(StrEnum):
    """How a pixel is made of those around it."""

    NEAREST = "nearest"
    LINEAR = "linear"
    CUBIC = "cubic"


class Coordinates(StrEnum):
    """Where pixel i of the result lies in the data."""

    HALF_PIXEL = "half_pixel"
    HALF_PIXEL_SYMMETRIC = "half_pixel_symmetric"
    PYTORCH_HALF_PIXEL = "pytorch_half_pixel"
    ALIGN_CORNERS = "align_corners"
    """First and last pixels meet; by the sizes, as in onnxruntime, whatever the scales."""
    ASYMMETRIC = "asymmetric"
    CROP_AND_RESIZE = "tf_crop_and_resize"


class NearestRounding(StrEnum):
    """Which pixel is the nearest one."""

    ROUND_PREFER_FLOOR = "round_prefer_floor"
    ROUND_PREFER_CEIL = "round_prefer_ceil"
    FLOOR = "floor"
    CEIL = "ceil"


@dataclass(frozen=True, slots=True)
class Resize2dAttrs(Attrs):
    """``size`` is (height, width) of the result.

    ``scales`` are those that the coordinates follow, by default the sizes' ratio. ``roi`` is (top, left, bottom, right)
    in parts of the image, for ``CROP_AND_RESIZE``, with ``extrapolation`` outside of the image.
    """

    size: Pair
    method: ResizeMethod = ResizeMethod.LINEAR
    coordinates: Coordinates = Coordinates.HALF_PIXEL
    rounding: NearestRounding = NearestRounding.ROUND_PREFER_FLOOR
    cubic_alpha: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    scales: tuple[float, float] | None = None
    roi: tuple[float, float, float, float] | None = None
    extrapolation: float = 0.0
    layout: str = "NCHW"


@dataclass(frozen=True, slots=True)
class UpsamplingAttrs(Attrs):
    """Every pixel ``scale_h`` x ``scale_w`` times."""

    scale_h: int
    scale_w: int
    layout: str = "NCHW"


class DepthSpaceMode(StrEnum):
    """Which channels become pixels: DCR: those far apart, CRD: neighbours."""

    DCR = "DCR"
    CRD = "CRD"


@dataclass(frozen=True, slots=True)
class DepthSpaceAttrs(Attrs):
    """Blocks of ``block_size`` x ``block_size`` pixels are channels on the other side, NCHW."""

    block_size: int
    mode: DepthSpaceMode = DepthSpaceMode.DCR


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis of a resize: its extents before and after, its scale and its part of the image."""

    source: int
    target: int
    scale: float
    start: float
    end: float

    def place(self, index: int, rule: Coordinates) -> float:
        """Return where pixel ``index`` of the result lies in the data."""
        match rule:
            case Coordinates.HALF_PIXEL:
                return (index + 0.5) / self.scale - 0.5
            case Coordinates.PYTORCH_HALF_PIXEL:
                return (index + 0.5) / self.scale - 0.5 if self.target > 1 else 0.0
            case Coordinates.ALIGN_CORNERS:
                extent = self.scale * self.source  # may be a broken number, of which ``target`` is the whole part
                return index * (self.source - 1) / (extent - 1) if self.target > 1 else 0.0
            case Coordinates.ASYMMETRIC:
                return index / self.scale
            case Coordinates.HALF_PIXEL_SYMMETRIC:
                adjustment = self.target / (self.scale * self.source)
                return self.source / 2 * (1 - adjustment) + (index + 0.5) / self.scale - 0.5
            case Coordinates.CROP_AND_RESIZE:
                span = (self.end - self.start) * (self.source - 1)
                if self.target > 1:
                    return self.start * (self.source - 1) + index * span / (self.target - 1)
                return 0.5 * (self.start + self.end) * (self.source - 1)


def _axes(shape: Sequence[int], attrs: Resize2dAttrs) -> tuple[_Axis, _Axis]:
    roi = attrs.roi or (0.0, 0.0, 1.0, 1.0)
    found = []
    for axis in (0, 1):
        scale = attrs.scales[axis] if attrs.scales else attrs.size[axis] / shape[axis]
        found.append(_Axis(shape[axis], attrs.size[axis], scale, roi[axis], roi[axis + 2]))
    return found[0], found[1]


def _nearest(place: float, rounding: NearestRounding) -> int:
    match rounding:
        case NearestRounding.ROUND_PREFER_FLOOR:
            return ceil(place - 0.5)
        case NearestRounding.ROUND_PREFER_CEIL:
            return floor(place + 0.5)
        case NearestRounding.FLOOR:
            return floor(place)
        case NearestRounding.CEIL:
            return ceil(place)


def pixel_places(shape: Pair, attrs: Resize2dAttrs) -> tuple[list[float], list[float]]:
    """Return where the rows and the columns of the result lie in an image of ``shape``, also outside of it."""
    rows, columns = (
        [axis.place(index, attrs.coordinates) for index in range(axis.target)] for axis in _axes(shape, attrs)
    )
    return rows, columns


def nearest_indices(shape: Pair, attrs: Resize2dAttrs) -> tuple[list[int], list[int]]:
    """Return which row and which column of an image of ``shape`` each of the result's is, for ``NEAREST``."""
    found = []
    for axis in _axes(shape, attrs):
        places = [axis.place(index, attrs.coordinates) for index in range(axis.target)]
        found.append([min(max(_nearest(place, attrs.rounding), 0), axis.source - 1) for place in places])
    return found[0], found[1]


def _kernel(distance: float, attrs: Resize2dAttrs) -> float:
    """Return the weight of a pixel at ``distance``."""
    x = abs(distance)
    if attrs.method is ResizeMethod.LINEAR:
        return max(0.0, 1 - x)
    a = attrs.cubic_alpha
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0


def _matrix(axis: _Axis, attrs: Resize2dAttrs) -> Array:
    """Return (target, source) weights."""
    reach = 1 if attrs.method is ResizeMethod.LINEAR else 2
    stretch = min(axis.scale, 1.0) if attrs.antialias else 1.0
    matrix = np.zeros((axis.target, axis.source), np.float64)
    for index in range(axis.target):
        place = axis.place(index, attrs.coordinates)
        near = range(floor(place - reach / stretch), ceil(place + reach / stretch) + 1)
        weights = {pixel: _kernel((pixel - place) * stretch, attrs) for pixel in near}
        if attrs.exclude_outside:
            weights = {pixel: weight for pixel, weight in weights.items() if 0 <= pixel < axis.source}
        total = sum(weights.values()) if attrs.exclude_outside or attrs.antialias else 1.0
        for pixel, weight in weights.items():
            matrix[index, min(max(pixel, 0), axis.source - 1)] += weight / total
    return matrix


def _outside(axis: _Axis, rule: Coordinates) -> Array:
    """Return which pixels of the result lie outside of the data."""
    places = np.array([axis.place(index, rule) for index in range(axis.target)])
    return (places < 0) | (places > axis.source - 1)


def _resize_type(types: Types, attrs: Resize2dAttrs) -> TensorType:
    [data] = types
    if attrs.method is not ResizeMethod.NEAREST:
        whole_float(data, f"data of a {attrs.method} resize")
    layout = Layout.of(attrs.layout)
    if len(attrs.size) != 2 or min(attrs.size) < 1:
        raise RelayError(f"size consists of 2 integers from 1, not {attrs.size}")
    if attrs.scales is not None and min(attrs.scales) <= 0:
        raise RelayError(f"scales are positive, not {attrs.scales}")
    sizes = layout.sizes(data.shape)
    return TensorType(layout.shape({**sizes, "H": attrs.size[0], "W": attrs.size[1]}), data.dtype)


def _resize(arrays: Sequence[Array], attrs: Resize2dAttrs) -> Array:
    layout = Layout.of(attrs.layout)
    image = to_plain(arrays[0], layout, "NCHW")
    shape = (image.shape[2], image.shape[3])
    if attrs.method is ResizeMethod.NEAREST:
        rows, columns = nearest_indices(shape, attrs)
        result = image[:, :, rows][:, :, :, columns]
    else:
        by_row, by_column = (_matrix(axis, attrs) for axis in _axes(shape, attrs))
        result = (by_row @ image.astype(np.float64) @ by_column.T).astype(image.dtype)
    if attrs.coordinates is Coordinates.CROP_AND_RESIZE:
        below, beside = (_outside(axis, attrs.coordinates) for axis in _axes(shape, attrs))
        result = np.where(below[:, None] | beside, image.dtype.type(attrs.extrapolation), result)
    return from_plain(result, layout, "NCHW")


def _upsampling_type(types: Types, attrs: UpsamplingAttrs) -> TensorType:
    if attrs.scale_h < 1 or attrs.scale_w < 1:
        raise RelayError(f"scales are integers from 1, not {attrs.scale_h} and {attrs.scale_w}")
    layout = Layout.of(attrs.layout)
    sizes = layout.sizes(types[0].shape)
    larger = {**sizes, "H": sizes["H"] * attrs.scale_h, "W": sizes["W"] * attrs.scale_w}
    return TensorType(layout.shape(larger), types[0].dtype)


def _upsampling(arrays: Sequence[Array], attrs: UpsamplingAttrs) -> Array:
    layout = Layout.of(attrs.layout)
    image = to_plain(arrays[0], layout, "NCHW")
    return from_plain(image.repeat(attrs.scale_h, 2).repeat(attrs.scale_w, 3), layout, "NCHW")


def _depth_to_space_type(types: Types, attrs: DepthSpaceAttrs) -> TensorType:
    [data] = types
    require_rank(data, "data", 4)
    n, c, h, w = data.shape
    b = attrs.block_size
    if b < 1 or c % (b * b):
        raise RelayError(f"{c} channels are not blocks of {b} x {b}")
    return TensorType((n, c // (b * b), h * b, w * b), data.dtype)


def _depth_to_space(arrays: Sequence[Array], attrs: DepthSpaceAttrs) -> Array:
    [data] = arrays
    n, c, h, w = data.shape
    b = attrs.block_size
    depth = c // (b * b)
    if attrs.mode is DepthSpaceMode.DCR:
        split = data.reshape(n, b, b, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        split = data.reshape(n, depth, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return split.reshape(n, depth, h * b, w * b)


def _space_to_depth_type(types: Types, attrs: DepthSpaceAttrs) -> TensorType:
    [data] = types
    require_rank(data, "data", 4)
    n, c, h, w = data.shape
    b = attrs.block_size
    if b < 1 or h % b or w % b:
        raise RelayError(f"{h} x {w} pixels are not blocks of {b} x {b}")
    return TensorType((n, c * b * b, h // b, w // b), data.dtype)


def _space_to_depth(arrays: Sequence[Array], attrs: DepthSpaceAttrs) -> Array:
    [data] = arrays
    n, c, h, w = data.shape
    b = attrs.block_size
    split = data.reshape(n, c, h // b, b, w // b, b)
    order = (0, 3, 5, 1, 2, 4) if attrs.mode is DepthSpaceMode.DCR else (0, 1, 3, 5, 2, 4)
    return split.transpose(order).reshape(n, c * b * b, h // b, w // b)


ROWS: Rows = {
    Op.RESIZE2D: define(("data",), Resize2dAttrs, _resize_type, _resize, Pattern.INJECTIVE),
    Op.UPSAMPLING: define(("data",), UpsamplingAttrs, _upsampling_type, _upsampling, Pattern.INJECTIVE),
    Op.DEPTH_TO_SPACE: define(("data",), DepthSpaceAttrs, _depth_to_space_type, _depth_to_space, Pattern.INJECTIVE),
    Op.SPACE_TO_DEPTH: define(("data",), DepthSpaceAttrs, _space_to_depth_type, _space_to_depth, Pattern.INJECTIVE),
}
"""The rows of the table of operators."""
