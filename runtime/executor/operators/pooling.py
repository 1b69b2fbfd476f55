"""Pools: the largest element, or the average, of every window.

Tests: tests/runtime/executor/operators/test_pooling.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.layouts import Layout, from_plain, to_plain
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.shapes import whole_float
from runtime.executor.operators.types import Array, RelayError, Shape, TensorType
from runtime.executor.operators.windows import Pads, Pair, Window, check_window, pad_image, places

__all__ = ["ROWS", "AvgPool2dAttrs", "GlobalPoolAttrs", "Pool2dAttrs", "pool_shape", "window_counts", "window_sums"]


@dataclass(frozen=True, slots=True)
class Pool2dAttrs(Attrs):
    """The window and how it moves. ``padding`` is (top, left, bottom, right).

    With ``ceil_mode``, a last window may reach beyond the padded image, if it begins in the image or the pad before it.
    """

    pool_size: Pair
    strides: Pair = (1, 1)
    padding: Pads = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    ceil_mode: bool = False
    layout: str = "NCHW"

    @property
    def window(self) -> Window:
        """The same as a window."""
        return Window(self.pool_size, self.strides, self.padding, self.dilation, self.ceil_mode)


@dataclass(frozen=True, slots=True)
class AvgPool2dAttrs(Pool2dAttrs):
    """The same, and whether pads count; what lies beyond the pads never counts."""

    count_include_pad: bool = False


@dataclass(frozen=True, slots=True)
class GlobalPoolAttrs(Attrs):
    """The layout of the data."""

    layout: str = "NCHW"


def pool_shape(types: Types, attrs: Pool2dAttrs) -> Shape:
    """Return the shape of the pool of ``types[0]``; raises ``RelayError``."""
    check_window(strides=attrs.strides, padding=attrs.padding, dilation=attrs.dilation, kernel=attrs.pool_size)
    layout = _image_layout(attrs.layout)
    window = attrs.window
    if any(pad >= window.reach(axis % 2) for axis, pad in enumerate(attrs.padding)):
        raise RelayError(f"padding {attrs.padding} is as large as the window, {attrs.pool_size}: it would hold nothing")
    sizes = layout.sizes(types[0].shape)
    return layout.shape({**sizes, "H": window.outputs(0, sizes["H"]), "W": window.outputs(1, sizes["W"])})


def _image_layout(text: str) -> Layout:
    layout = Layout.of(text)
    if "".join(sorted(layout.plain)) != "CHNW":
        raise RelayError(f"the layout of images has the axes N, C, H, W, and {text} has others")
    return layout


def _outputs(window: Window, image: Array) -> Pair:
    return window.outputs(0, image.shape[-2]), window.outputs(1, image.shape[-1])


def _max_type(types: Types, attrs: Pool2dAttrs) -> TensorType:
    return TensorType(pool_shape(types, attrs), types[0].dtype)


def _average_type(types: Types, attrs: AvgPool2dAttrs) -> TensorType:
    whole_float(types[0], "data")
    return TensorType(pool_shape(types, attrs), types[0].dtype)


def _global_shape(types: Types, attrs: GlobalPoolAttrs) -> Shape:
    layout = _image_layout(attrs.layout)
    return layout.shape({**layout.sizes(types[0].shape), "H": 1, "W": 1})


def _global_max_type(types: Types, attrs: GlobalPoolAttrs) -> TensorType:
    return TensorType(_global_shape(types, attrs), types[0].dtype)


def _global_average_type(types: Types, attrs: GlobalPoolAttrs) -> TensorType:
    whole_float(types[0], "data")
    return TensorType(_global_shape(types, attrs), types[0].dtype)


def _lowest(array: Array) -> float:
    """Return what is not larger than any number of the array's type."""
    if array.dtype.kind == "f":
        return -np.inf
    return 0 if array.dtype.kind == "b" else int(np.iinfo(array.dtype).min)


def _max_pool(arrays: Sequence[Array], attrs: Pool2dAttrs) -> Array:
    layout = Layout.of(attrs.layout)
    image = to_plain(arrays[0], layout, "NCHW")
    lowest = _lowest(image)
    result = np.full((*image.shape[:2], *_outputs(attrs.window, image)), lowest, image.dtype)
    for _, seen in places(pad_image(image, attrs.window, lowest), attrs.window, _outputs(attrs.window, image)):
        np.maximum(result, seen, out=result)
    return from_plain(result, layout, "NCHW")


def window_sums(image: Array, window: Window) -> Array:
    """Return the sums over windows of (..., H, W), in the type of ``image``; pads are zero."""
    outputs = _outputs(window, image)
    result = np.zeros((*image.shape[:-2], *outputs), image.dtype)
    for _, seen in places(pad_image(image, window, 0), window, outputs):
        result += seen
    return result


def window_counts(shape: Pair, window: Window, *, count_include_pad: bool) -> Array:
    """Return (OH, OW) of how many elements every window of an image of ``shape`` has, pads included or not.

    A window whose elements all lie between those of the image counts as having one: its average is zero.
    """
    if not count_include_pad:
        return np.maximum(window_sums(np.ones(shape, np.int64), window), 1)
    top, left, bottom, right = window.pads
    whole = np.ones((shape[0] + top + bottom, shape[1] + left + right), np.int64)
    bare = Window(window.kernel, window.strides, (0, 0, 0, 0), window.dilation)
    beyond = [(0, window.excess(0, shape[0])), (0, window.excess(1, shape[1]))]
    return window_sums(np.pad(whole, beyond), bare)


def _avg_pool(arrays: Sequence[Array], attrs: AvgPool2dAttrs) -> Array:
    layout = Layout.of(attrs.layout)
    image = to_plain(arrays[0], layout, "NCHW")
    counts = window_counts(
        (image.shape[2], image.shape[3]), attrs.window, count_include_pad=attrs.count_include_pad
    ).astype(image.dtype)
    return from_plain(window_sums(image, attrs.window) / counts, layout, "NCHW")


def _global_max(arrays: Sequence[Array], attrs: GlobalPoolAttrs) -> Array:
    layout = Layout.of(attrs.layout)
    image = to_plain(arrays[0], layout, "NCHW")
    return from_plain(image.max(axis=(2, 3), keepdims=True), layout, "NCHW")


def _global_average(arrays: Sequence[Array], attrs: GlobalPoolAttrs) -> Array:
    layout = Layout.of(attrs.layout)
    image = to_plain(arrays[0], layout, "NCHW")
    return from_plain(image.mean(axis=(2, 3), keepdims=True, dtype=image.dtype), layout, "NCHW")


ROWS: Rows = {
    Op.MAX_POOL2D: define(("data",), Pool2dAttrs, _max_type, _max_pool, Pattern.OUT_ELEMWISE_FUSABLE),
    Op.AVG_POOL2D: define(("data",), AvgPool2dAttrs, _average_type, _avg_pool, Pattern.OUT_ELEMWISE_FUSABLE),
    Op.GLOBAL_MAX_POOL2D: define(
        ("data",), GlobalPoolAttrs, _global_max_type, _global_max, Pattern.OUT_ELEMWISE_FUSABLE
    ),
    Op.GLOBAL_AVG_POOL2D: define(
        ("data",), GlobalPoolAttrs, _global_average_type, _global_average, Pattern.OUT_ELEMWISE_FUSABLE
    ),
}
"""The rows of the table of operators."""
