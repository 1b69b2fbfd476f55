"""Convolutions of floating point images, and what they share with those of integers.

Tests: tests/runtime/executor/operators/test_convolution.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.correlate import correlate, scatter
from runtime.executor.operators.layouts import Layout, from_plain, to_plain
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Rows, Types, define
from runtime.executor.operators.shapes import same_dtype, whole_float
from runtime.executor.operators.types import Array, RelayError, Shape, TensorType
from runtime.executor.operators.windows import Pads, Pair, Window, check_window, pad_image

__all__ = [
    "ROWS", "Conv2dAttrs", "Conv2dTransposeAttrs", "conv2d_shape", "conv2d_transpose_shape", "correlated", "scattered",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Conv2dAttrs(Attrs):
    """How the kernel moves. ``padding`` is (top, left, bottom, right); the result has the data's layout.

    The number of channels and the size of the kernel are the weight's, which is (O, I / groups, H, W).
    """

    strides: Pair = (1, 1)
    padding: Pads = (0, 0, 0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"


@dataclass(frozen=True, slots=True)
class Conv2dTransposeAttrs(Attrs):
    """The same for transposed convolutions: ``padding`` is cut off, ``output_padding`` are more rows and columns.

    The weight is (I, O / groups, H, W).
    """

    strides: Pair = (1, 1)
    padding: Pads = (0, 0, 0, 0)
    output_padding: Pair = (0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1
    data_layout: str = "NCHW"
    kernel_layout: str = "IOHW"


def _window(attrs: Conv2dAttrs | Conv2dTransposeAttrs, kernel: Pair) -> Window:
    return Window(kernel, attrs.strides, attrs.padding, attrs.dilation)


def _sizes(types: Types, attrs: Conv2dAttrs | Conv2dTransposeAttrs) -> tuple[dict[str, int], dict[str, int]]:
    """Return the sizes of data (N, C, H, W) and of weight (O, I, H, W) by letter."""
    check_window(strides=attrs.strides, padding=attrs.padding, dilation=attrs.dilation)
    if attrs.groups < 1:
        raise RelayError(f"groups is from 1, not {attrs.groups}")
    data, weight = Layout.of(attrs.data_layout), Layout.of(attrs.kernel_layout)
    for layout, letters, what in ((data, "CHNW", "data"), (weight, "HIOW", "kernel")):
        if "".join(sorted(layout.plain)) != letters:
            raise RelayError(f"the {what} layout has the axes {', '.join(letters)}, and {layout.text} has others")
    return data.sizes(types[0].shape), weight.sizes(types[1].shape)


def conv2d_shape(types: Types, attrs: Conv2dAttrs) -> Shape:
    """Return the shape of the convolution of ``types`` (data, weight); raises ``RelayError``."""
    data, weight = _sizes(types, attrs)
    if data["C"] != weight["I"] * attrs.groups:
        raise RelayError(
            f"the weight takes {weight['I']} channels in each of {attrs.groups} groups, and the data has {data['C']}"
        )
    if weight["O"] % attrs.groups:
        raise RelayError(f"{weight['O']} output channels are not a multiple of {attrs.groups} groups")
    window = _window(attrs, (weight["H"], weight["W"]))
    height, width = window.outputs(0, data["H"]), window.outputs(1, data["W"])
    layout = Layout.of(attrs.data_layout)
    return layout.shape({"N": data["N"], "C": weight["O"], "H": height, "W": width})


def conv2d_transpose_shape(types: Types, attrs: Conv2dTransposeAttrs) -> Shape:
    """Return the shape of the transposed convolution of ``types`` (data, weight); raises ``RelayError``."""
    data, weight = _sizes(types, attrs)
    if data["C"] != weight["I"] or data["C"] % attrs.groups:
        raise RelayError(
            f"the weight takes {weight['I']} channels in {attrs.groups} groups, and the data has {data['C']}"
        )
    if len(attrs.output_padding) != 2 or any(extra < 0 for extra in attrs.output_padding):
        raise RelayError(f"output_padding consists of 2 integers from 0, not {attrs.output_padding}")
    window = _window(attrs, (weight["H"], weight["W"]))
    extents = [_transposed_extent(window, axis, data["HW"[axis]], attrs.output_padding[axis]) for axis in (0, 1)]
    layout = Layout.of(attrs.data_layout)
    return layout.shape({"N": data["N"], "C": weight["O"] * attrs.groups, "H": extents[0], "W": extents[1]})


def _transposed_extent(window: Window, axis: int, extent: int, extra: int) -> int:
    whole = (extent - 1) * window.strides[axis] + window.reach(axis) + extra
    cut = window.pads[axis] + window.pads[axis + 2]
    if whole <= cut:
        raise RelayError(f"the padding cuts {cut} {('rows', 'columns')[axis]} off, and there are {whole}")
    return whole - cut


def correlated(data: Array, weight: Array, attrs: Conv2dAttrs) -> Array:
    """Return the convolution of ``data`` with ``weight``, of one type, in the data's layout."""
    layout = Layout.of(attrs.data_layout)
    image = to_plain(data, layout, "NCHW")
    kernel = to_plain(weight, Layout.of(attrs.kernel_layout), "OIHW")
    window = _window(attrs, (kernel.shape[2], kernel.shape[3]))
    result = correlate(pad_image(image, window, 0), kernel, window, groups=attrs.groups)
    return from_plain(result, layout, "NCHW")


def scattered(data: Array, weight: Array, attrs: Conv2dTransposeAttrs) -> Array:
    """Return the transposed convolution of ``data`` with ``weight``, of one type, in the data's layout."""
    layout = Layout.of(attrs.data_layout)
    image = to_plain(data, layout, "NCHW")
    kernel = to_plain(weight, Layout.of(attrs.kernel_layout), "IOHW")
    window = _window(attrs, (kernel.shape[2], kernel.shape[3]))
    whole = scatter(image, kernel, window, groups=attrs.groups)
    whole = np.pad(whole, [(0, 0), (0, 0), (0, attrs.output_padding[0]), (0, attrs.output_padding[1])])
    top, left, bottom, right = attrs.padding
    result = whole[:, :, top : whole.shape[2] - bottom, left : whole.shape[3] - right]
    return from_plain(result, layout, "NCHW")


def _conv2d_type(types: Types, attrs: Conv2dAttrs) -> TensorType:
    whole_float(types[0], "data")
    return TensorType(conv2d_shape(types, attrs), same_dtype(types, ("data", "weight")))


def _conv2d_transpose_type(types: Types, attrs: Conv2dTransposeAttrs) -> TensorType:
    whole_float(types[0], "data")
    return TensorType(conv2d_transpose_shape(types, attrs), same_dtype(types, ("data", "weight")))


def _conv2d(arrays: Sequence[Array], attrs: Conv2dAttrs) -> Array:
    return correlated(arrays[0], arrays[1], attrs)


def _conv2d_transpose(arrays: Sequence[Array], attrs: Conv2dTransposeAttrs) -> Array:
    return scattered(arrays[0], arrays[1], attrs)


_INPUTS = ("data", "weight")

ROWS: Rows = {
    Op.CONV2D: define(_INPUTS, Conv2dAttrs, _conv2d_type, _conv2d, Pattern.OUT_ELEMWISE_FUSABLE),
    Op.CONV2D_TRANSPOSE: define(
        _INPUTS, Conv2dTransposeAttrs, _conv2d_transpose_type, _conv2d_transpose, Pattern.OUT_ELEMWISE_FUSABLE
    ),
}
"""The rows of the table of operators."""
