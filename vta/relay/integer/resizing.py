"""Resizes of cells: the nearest pixels are moved, linear ones by whole factors are sums with whole weights.

A linear resize by a whole factor f is a transposed convolution of every channel by itself, with stride f and a kernel
that is a triangle, on an image with its edges repeated where coordinates lie outside of it::

    %0 = dequantize(%x, s, z)            %0 = pad(%x, ((0, 0), (0, 0), (1, 1), (1, 1)), edge)
    %1 = image.resize2d(%0, ...)         %1 = qnn.conv2d_transpose(%0, triangles)    int32, at s / 16 for f = 2

so one rounding is left, to the scale that comes next. Tests: tests/vta/relay/integer/test_resizing.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
import numpy.typing as npt

from runtime.executor.operators.names import Op
from runtime.executor.operators.padding import PadAttrs, PadMode
from runtime.executor.operators.qnn.products import QnnConv2dTransposeAttrs
from runtime.executor.operators.resize import Coordinates, Resize2dAttrs, ResizeMethod, pixel_places
from vta.relay.integer import layers
from vta.relay.integer.values import Cells, Sums, Term, Value
from vta.relay.ir.nodes import Call, Constant, tensor_type
from vta.relay.ops.call import call

__all__ = ["resize"]

_MOST_WEIGHT = 127
_NEAR = 1e-4


def resize(expr: Call, arguments: list[Value], move: Callable[[Call, list[Value]], Value | None]) -> Value | None:
    """Return a resize in integers; ``move`` does it where pixels are only moved. None where it stays real."""
    attrs, cells = expr.attrs, arguments[0].cells
    assert isinstance(attrs, Resize2dAttrs)
    if attrs.coordinates is Coordinates.CROP_AND_RESIZE:
        return None
    if attrs.method is ResizeMethod.NEAREST:
        return move(expr, arguments)
    if cells is None or attrs.method is not ResizeMethod.LINEAR or attrs.layout != "NCHW" or attrs.exclude_outside:
        return None
    shape = tensor_type(expr.args[0]).shape[2:]
    triangles = [
        _triangle(places, extent)
        for places, extent in zip(pixel_places((shape[0], shape[1]), attrs), shape, strict=True)
    ]
    rows, columns = triangles
    if rows is None or columns is None or rows.weights.max() * columns.weights.max() > _MOST_WEIGHT:
        return None
    return _transposed(cells, rows, columns, expr)


@dataclass(frozen=True, slots=True, eq=False)
class _Triangle:
    """One axis: the factor, whole weights and what they add up to, repeated pixels before and after, and the crop."""

    factor: int
    weights: npt.NDArray[np.int64]
    total: int
    pads: tuple[int, int]
    crop: int


def _triangle(places: Sequence[float], extent: int) -> _Triangle | None:
    """Return the weights for pixels that lie at ``places`` of ``extent`` ones; None where no whole factor has them."""
    step = places[1] - places[0] if len(places) > 1 else 1.0
    factor = round(1 / step) if 1e-3 < step <= 1 else 0
    affine = places[0] + np.arange(len(places)) / max(factor, 1)
    if not factor or np.abs(np.asarray(places) - affine).max() > _NEAR / extent:
        return None
    before, after = int(places[0] < -_NEAR), int(places[-1] > extent - 1 + _NEAR)
    crop = floor(factor * (1 + places[0] + before) + _NEAR)
    distances = np.arange(2 * factor) / factor - crop / factor + places[0] + before
    real = np.trim_zeros(np.where(np.abs(distances) < 1 - _NEAR, 1 - np.abs(distances), 0), "b")
    for total in (factor, 2 * factor):
        weights = np.rint(real * total).astype(np.int64)
        if np.abs(weights - real * total).max() < _NEAR:
            return _Triangle(factor, weights, total, (before, after), crop)
    return None


def _transposed(cells: Cells, rows: _Triangle, columns: _Triangle, expr: Call) -> Value:
    """Return the sums of a transposed convolution."""
    source, channels = cells.expr, tensor_type(expr).shape[1]
    pads = ((0, 0), (0, 0), rows.pads, columns.pads)
    if any(map(any, pads)):
        source = call(Op.PAD, (source,), PadAttrs(pads, pad_mode=PadMode.EDGE), expr.origins)
    kernel = np.outer(rows.weights, columns.weights).astype(np.int8)
    whole = [
        (extent - 1) * axis.factor + len(axis.weights)
        for extent, axis in zip(tensor_type(source).shape[2:], (rows, columns), strict=True)
    ]
    beyond = [
        full - axis.crop - extent
        for full, axis, extent in zip(whole, (rows, columns), tensor_type(expr).shape[2:], strict=True)
    ]
    attrs = QnnConv2dTransposeAttrs(
        (rows.factor, columns.factor), (rows.crop, columns.crop, max(beyond[0], 0), max(beyond[1], 0)),
        (max(-beyond[0], 0), max(-beyond[1], 0)), groups=channels, input_zero_point=cells.zero,
    )  # fmt: skip
    weights = Constant(np.broadcast_to(kernel, (channels, 1, *kernel.shape)).copy())
    made = call(Op.QNN_CONV2D_TRANSPOSE, (source, weights), attrs, expr.origins)
    return layers.of_sums(Sums(Term(made, np.array([cells.scale / (rows.total * columns.total)])), (), 1), expr.origins)
