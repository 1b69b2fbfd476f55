"""Pools of plain rows, images and volumes: ``topi.nn.pool2d`` and ``global_pool`` of layouts NCHW and NHWC, ...

Tests: tests/vta/topi/cpu/test_pooling.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vta import te
from vta.tir import ops
from vta.tir.expr import Expr, const
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.reductions import max as largest
from vta.topi.cpu.reductions import sum as total
from vta.topi.nn.pad import pad

__all__ = ["global_pool", "pool1d", "pool2d", "pool3d", "upsampling"]


def _places(layout: str, letters: str, what: str) -> tuple[int, ...]:
    if sorted(layout) != sorted(f"NC{letters}"):
        named = ", ".join(f"NC{letters[:-1]}")
        raise OperatorError(f"{what}: expected a layout of {named} and {letters[-1]}, got {layout!r}")
    return tuple(layout.index(letter) for letter in letters)


@dataclass(frozen=True, slots=True)
class _Windows:
    """Windows over dimensions ``where`` of a tensor: ``low`` and ``high`` are the pads before and after each."""

    where: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    def each(self) -> Iterator[tuple[int, int, int, int, int, int]]:
        """Yield dimension, kernel size, stride, dilation and pads."""
        yield from zip(self.where, self.kernel, self.stride, self.dilation, self.low, self.high, strict=True)

    def shape(self, data: te.Tensor, *, ceil_mode: bool) -> list[Expr]:
        """Return the sizes of the result."""
        shape = list(data.shape)
        for dim, k, s, d, low, high in self.each():
            room = data.shape[dim] + (low + high - (k - 1) * d - 1)
            shape[dim] = (room + (s - 1)) // s + 1 if ceil_mode else room // s + 1
        return shape

    def padded(self, data: te.Tensor, fill: Expr, *, ceil_mode: bool) -> te.Tensor:
        """Return the data with all that the windows reach."""
        before, after = [0] * data.ndim, [0] * data.ndim
        for dim, _, s, _, low, high in self.each():
            before[dim], after[dim] = low, high + (s - 1 if ceil_mode else 0)
        return pad(data, before, after, fill, name="pad_temp")

    def count(self, data: te.Tensor, i: Sequence[Expr], *, pads: bool) -> Expr:
        """Return how many elements of the data (and of its ``pads``) a window has."""
        result: Expr = const(1)
        for dim, k, s, d, low, high in self.each():
            start = i[dim] * s - (0 if pads else low)
            end = data.shape[dim] + (low + high if pads else 0)
            skipped = ops.max((d - 1 - start) // d, 0)
            last = ops.min((end - start + (d - 1)) // d, k)
            result = result * ops.max(last - skipped, 1)
        return result


def _windows(
    what: str,
    where: tuple[int, ...],
    walk: tuple[Sequence[int], Sequence[int], Sequence[int]],
    padding: Sequence[int],
) -> _Windows:
    rank = len(where)
    if any(len(sizes) != rank for sizes in walk) or len(padding) != 2 * rank:
        raise OperatorError(f"{what}: expected {_NUMBERS[rank]} pads")
    kernel, stride, dilation = (tuple(int(v) for v in sizes) for sizes in walk)
    pads = tuple(int(p) for p in padding)
    return _Windows(where, kernel, stride, dilation, pads[:rank], pads[rank:])


_NUMBERS = {
    1: "one kernel size, stride and dilation, and two",
    2: "two kernel sizes, strides and dilations, and four",
    3: "three kernel sizes, strides and dilations, and six",
}


def pool1d(
    data: te.Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCW",
    count_include_pad: bool = True,
) -> te.Tensor:
    """Return the pools of rows, see ``pool2d``; pads are (before, after)."""
    what = "topi.nn.pool1d"
    windows = _windows(what, _places(layout, "W", what), (kernel, stride, dilation), padding)
    return _pool(what, data, windows, pool_type, ceil_mode=ceil_mode, count_include_pad=count_include_pad)


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
    windows = _windows(what, _places(layout, "HW", what), (kernel, stride, dilation), padding)
    return _pool(what, data, windows, pool_type, ceil_mode=ceil_mode, count_include_pad=count_include_pad)


def pool3d(
    data: te.Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    count_include_pad: bool = True,
) -> te.Tensor:
    """Return the pools of volumes, see ``pool2d``; pads are (front, top, left, back, bottom, right)."""
    what = "topi.nn.pool3d"
    windows = _windows(what, _places(layout, "DHW", what), (kernel, stride, dilation), padding)
    return _pool(what, data, windows, pool_type, ceil_mode=ceil_mode, count_include_pad=count_include_pad)


def _pool(
    what: str, data: te.Tensor, windows: _Windows, pool_type: str, *, ceil_mode: bool, count_include_pad: bool
) -> te.Tensor:
    if pool_type not in ("max", "avg"):
        raise OperatorError(f"{what}: pool_type is 'max' or 'avg', not {pool_type!r}")
    if pool_type == "avg" and not data.dtype.is_float:
        raise OperatorError(f"{what}: averages are of floats, not {data.dtype}")
    shape = windows.shape(data, ceil_mode=ceil_mode)
    fill = te.min_value(data.dtype) if pool_type == "max" else const(0, data.dtype)
    padded = windows.padded(data, fill, ceil_mode=ceil_mode)
    walks = [te.reduce_axis((0, k), f"r{d}") for d, k in enumerate(windows.kernel)]

    def at(i: Sequence[Expr]) -> list[Expr]:
        place = list(i)
        for walk, (dim, _, s, d, _, _) in zip(walks, windows.each(), strict=True):
            place[dim] = i[dim] * s + walk * d
        return place

    if pool_type == "max":
        return te.compute(shape, lambda *i: te.max(padded(*at(i)), axis=walks), name="pool_max", tag="pool_max")
    sums = te.compute(shape, lambda *i: te.sum(padded(*at(i)), axis=walks), name="pool_sum", tag="pool_sum")

    def average(*i: Expr) -> Expr:
        return sums(*i) / windows.count(data, i, pads=count_include_pad).astype(data.dtype)

    return te.compute(shape, average, name="pool_avg", tag="elemwise")


def global_pool(data: te.Tensor, pool_type: str, layout: str = "NCHW") -> te.Tensor:
    """Return the largest element, or the average, of every channel of every image."""
    what = "topi.nn.global_pool"
    where = _places(layout, "HW", what)
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
    where = _places(layout, "HW", what)
    if method != "nearest_neighbor":
        raise OperatorError(f"{what}: method is 'nearest_neighbor', not {method!r}")
    factors = [1] * 4
    factors[where[0]], factors[where[1]] = int(scale_h), int(scale_w)
    shape = [e * f for e, f in zip(data.shape, factors, strict=True)]
    return te.compute(
        shape, lambda *i: data(*(x // f for x, f in zip(i, factors, strict=True))), name="T_upsampling", tag="injective"
    )
