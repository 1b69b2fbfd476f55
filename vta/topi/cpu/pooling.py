"""Pools of plain images: ``topi.nn.pool2d`` and ``global_pool`` of layouts NCHW and NHWC.

Tests: tests/vta/topi/cpu/test_pooling.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta import te
from vta.tir import ops
from vta.tir.expr import Expr, const
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.reductions import max as largest
from vta.topi.cpu.reductions import sum as total
from vta.topi.nn.pad import pad

__all__ = ["global_pool", "pool2d", "upsampling"]


def _places(layout: str, what: str) -> tuple[int, int]:
    if sorted(layout) != sorted("NCHW"):
        raise OperatorError(f"{what}: expected a layout of N, C, H and W, got {layout!r}")
    return layout.index("H"), layout.index("W")


def pool2d(
    data: te.Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> te.Tensor:
    """Return the largest elements ("max") or the averages ("avg") of windows; pads are (top, left, bottom, right)."""
    what = "topi.nn.pool2d"
    where = _places(layout, what)
    if pool_type not in ("max", "avg"):
        raise OperatorError(f"{what}: pool_type is 'max' or 'avg', not {pool_type!r}")
    if len(kernel) != 2 or len(stride) != 2 or len(dilation) != 2 or len(padding) != 4:
        raise OperatorError(f"{what}: expected two kernel sizes, strides and dilations, and four pads")
    if pool_type == "avg" and not data.dtype.is_float:
        raise OperatorError(f"{what}: averages are of floats, not {data.dtype}")
    before, after, shape = [0] * 4, [0] * 4, list(data.shape)
    for place, (k, s, d, low, high) in zip(
        where, zip(kernel, stride, dilation, padding[:2], padding[2:], strict=True), strict=True
    ):
        reach = (k - 1) * d + 1
        room = data.shape[place] + (low + high - reach)
        shape[place] = (room + (s - 1)) // s + 1 if ceil_mode else room // s + 1
        before[place], after[place] = low, high + (s - 1 if ceil_mode else 0)
    fill = te.min_value(data.dtype) if pool_type == "max" else const(0, data.dtype)
    padded = pad(data, before, after, fill, name="pad_temp")
    ry, rx = te.reduce_axis((0, kernel[0]), "ry"), te.reduce_axis((0, kernel[1]), "rx")

    def at(i: Sequence[Expr]) -> list[Expr]:
        place = list(i)
        for walk, dim, s, d in zip((ry, rx), where, stride, dilation, strict=True):
            place[dim] = i[dim] * s + walk * d
        return place

    if pool_type == "max":
        return te.compute(shape, lambda *i: te.max(padded(*at(i)), axis=[ry, rx]), name="pool_max", tag="pool_max")
    sums = te.compute(shape, lambda *i: te.sum(padded(*at(i)), axis=[ry, rx]), name="pool_sum", tag="pool_sum")

    def count(i: Sequence[Expr]) -> Expr:
        result: Expr = const(1)
        for dim, k, s, d, low, high in zip(where, kernel, stride, dilation, padding[:2], padding[2:], strict=True):
            start = i[dim] * s - (0 if count_include_pad else low)
            end = data.shape[dim] + (low + high if count_include_pad else 0)
            skipped = ops.max((d - 1 - start) // d, 0)
            last = ops.min((end - start + (d - 1)) // d, k)
            result = result * ops.max(last - skipped, 1)
        return result

    return te.compute(shape, lambda *i: sums(*i) / count(i).astype(data.dtype), name="pool_avg", tag="elemwise")


def global_pool(data: te.Tensor, pool_type: str, layout: str = "NCHW") -> te.Tensor:
    """Return the largest element, or the average, of every channel of every image."""
    what = "topi.nn.global_pool"
    where = _places(layout, what)
    if pool_type == "max":
        return largest(data, where, keepdims=True)
    if pool_type != "avg" or not data.dtype.is_float:
        raise OperatorError(f"{what}: pool_type is 'max', or 'avg' of floats, not {pool_type!r} of {data.dtype}")
    sums = total(data, where, keepdims=True)
    count = (data.shape[where[0]] * data.shape[where[1]]).astype(data.dtype)
    return te.compute(sums.shape, lambda *i: sums(*i) / count, name="T_global_pool", tag="elemwise")


def upsampling(
    data: te.Tensor, scale_h: int, scale_w: int, layout: str = "NCHW", method: str = "nearest_neighbor"
) -> te.Tensor:
    """Return images with every element ``scale_h`` by ``scale_w`` times."""
    what = "topi.nn.upsampling"
    where = _places(layout, what)
    if method != "nearest_neighbor":
        raise OperatorError(f"{what}: method is 'nearest_neighbor', not {method!r}")
    factors = [1] * 4
    factors[where[0]], factors[where[1]] = int(scale_h), int(scale_w)
    shape = [e * f for e, f in zip(data.shape, factors, strict=True)]
    return te.compute(
        shape, lambda *i: data(*(x // f for x, f in zip(i, factors, strict=True))), name="T_upsampling", tag="injective"
    )
