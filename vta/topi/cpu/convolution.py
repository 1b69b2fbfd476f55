"""Convolutions: ``topi.nn.conv2d_nchw``, ``conv2d_nhwc``, ``depthwise_conv2d_nchw``, ``conv2d_transpose_nchw``.

Tests: tests/vta/topi/cpu/test_convolution.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta import te
from vta.tir.expr import Expr
from vta.topi.core.operator import OperatorError
from vta.topi.nn.dilate import dilate
from vta.topi.nn.pad import pad

__all__ = [
    "conv2d_nchw", "conv2d_nhwc", "conv2d_transpose_nchw", "depthwise_conv2d_nchw", "group_conv2d_nchw", "pads_of",
]  # fmt: skip


def _pair(value: int | Sequence[int], what: str) -> tuple[int, int]:
    values = [int(value)] * 2 if isinstance(value, int) else [int(v) for v in value]
    if len(values) != 2 or min(values) < 1:
        raise OperatorError(f"{what}: expected one number or two, at least 1, got {value!r}")
    return values[0], values[1]


def pads_of(padding: int | str | Sequence[int], kernel: Sequence[int], what: str) -> tuple[int, int, int, int]:
    """Return (top, left, bottom, right) of one, two or four numbers, "VALID", or "SAME" (of windows of stride 1)."""
    if padding == "VALID":
        return 0, 0, 0, 0
    if padding == "SAME":
        rows, columns = kernel[0] - 1, kernel[1] - 1
        return (rows + 1) // 2, (columns + 1) // 2, rows // 2, columns // 2
    values = [int(padding)] * 4 if isinstance(padding, int) else [int(v) for v in padding]
    if len(values) == 2:
        values = [*values, *values]
    if len(values) != 4 or min(values) < 0:
        raise OperatorError(f"{what}: expected one, two or four pads, at least 0, got {padding!r}")
    return values[0], values[1], values[2], values[3]


def _number(extent: Expr, what: str) -> int:
    if not hasattr(extent, "value"):
        raise OperatorError(f"{what}: expected a number for this extent, got {extent}")
    return int(extent.value)


def _out(size: Expr, before: int, after: int, kernel: int, stride: int) -> Expr:
    return (size + (before + after - kernel)) // stride + 1


def conv2d_nchw(
    data: te.Tensor,
    kernel: te.Tensor,
    stride: int | Sequence[int],
    padding: int | str | Sequence[int],
    dilation: int | Sequence[int] = 1,
    out_dtype: str | None = None,
) -> te.Tensor:
    """Return the convolution of images (N, C, H, W) with filters (O, C, KH, KW)."""
    return group_conv2d_nchw(data, kernel, stride, padding, dilation, 1, out_dtype)


def group_conv2d_nchw(
    data: te.Tensor,
    kernel: te.Tensor,
    stride: int | Sequence[int],
    padding: int | str | Sequence[int],
    dilation: int | Sequence[int],
    groups: int,
    out_dtype: str | None = None,
) -> te.Tensor:
    """Return the convolution in ``groups`` of channels: images (N, C, H, W), filters (O, C / groups, KH, KW)."""
    what = "topi.nn.conv2d_nchw"
    n, channels, h, w = data.shape
    outputs, inner, kh, kw = (_number(e, what) for e in kernel.shape)
    if _number(channels, what) != inner * groups or outputs % groups:
        raise OperatorError(
            f"{what}: {channels} channels in {groups} groups do not go with filters of {inner} channels"
        )
    (sh, sw), (dh, dw) = _pair(stride, what), _pair(dilation, what)
    rows, columns = (kh - 1) * dh + 1, (kw - 1) * dw + 1
    top, left, bottom, right = pads_of(padding, (rows, columns), what)
    padded = pad(data, [0, 0, top, left], [0, 0, bottom, right], 0, name="pad_temp")
    kind = out_dtype or data.dtype
    rc, ry, rx = te.reduce_axis((0, inner), "rc"), te.reduce_axis((0, kh), "ry"), te.reduce_axis((0, kw), "rx")
    per_group = outputs // groups

    def element(b: Expr, f: Expr, y: Expr, x: Expr) -> Expr:
        channel = rc.var if groups == 1 else f // per_group * inner + rc
        value = padded(b, channel, y * sh + ry * dh, x * sw + rx * dw).astype(kind)
        return te.sum(value * kernel(f, rc, ry, rx).astype(kind), axis=[rc, ry, rx])

    shape = (n, outputs, _out(h, top, bottom, rows, sh), _out(w, left, right, columns, sw))
    return te.compute(shape, element, name="conv2d_nchw", tag="conv2d_nchw")


def conv2d_nhwc(
    data: te.Tensor,
    kernel: te.Tensor,
    stride: int | Sequence[int],
    padding: int | str | Sequence[int],
    dilation: int | Sequence[int] = 1,
    out_dtype: str | None = None,
) -> te.Tensor:
    """Return the convolution of images (N, H, W, C) with filters (KH, KW, C, O)."""
    what = "topi.nn.conv2d_nhwc"
    n, h, w, channels = data.shape
    kh, kw, inner, outputs = (_number(e, what) for e in kernel.shape)
    if _number(channels, what) != inner:
        raise OperatorError(f"{what}: {channels} channels do not go with filters of {inner} channels")
    (sh, sw), (dh, dw) = _pair(stride, what), _pair(dilation, what)
    rows, columns = (kh - 1) * dh + 1, (kw - 1) * dw + 1
    top, left, bottom, right = pads_of(padding, (rows, columns), what)
    padded = pad(data, [0, top, left, 0], [0, bottom, right, 0], 0, name="pad_temp")
    kind = out_dtype or data.dtype
    ry, rx, rc = te.reduce_axis((0, kh), "ry"), te.reduce_axis((0, kw), "rx"), te.reduce_axis((0, inner), "rc")

    def element(b: Expr, y: Expr, x: Expr, f: Expr) -> Expr:
        value = padded(b, y * sh + ry * dh, x * sw + rx * dw, rc).astype(kind)
        return te.sum(value * kernel(ry, rx, rc, f).astype(kind), axis=[ry, rx, rc])

    shape = (n, _out(h, top, bottom, rows, sh), _out(w, left, right, columns, sw), outputs)
    return te.compute(shape, element, name="conv2d_nhwc", tag="conv2d_nhwc")


def depthwise_conv2d_nchw(
    data: te.Tensor,
    kernel: te.Tensor,
    stride: int | Sequence[int],
    padding: int | str | Sequence[int],
    dilation: int | Sequence[int] = 1,
    out_dtype: str | None = None,
) -> te.Tensor:
    """Return each channel of (N, C, H, W) convolved with its own filters (C, M, KH, KW): C * M outputs."""
    what = "topi.nn.depthwise_conv2d_nchw"
    n, channels, h, w = data.shape
    count, times, kh, kw = (_number(e, what) for e in kernel.shape)
    if _number(channels, what) != count:
        raise OperatorError(f"{what}: {channels} channels do not go with filters for {count}")
    (sh, sw), (dh, dw) = _pair(stride, what), _pair(dilation, what)
    rows, columns = (kh - 1) * dh + 1, (kw - 1) * dw + 1
    top, left, bottom, right = pads_of(padding, (rows, columns), what)
    padded = pad(data, [0, 0, top, left], [0, 0, bottom, right], 0, name="pad_temp")
    kind = out_dtype or data.dtype
    ry, rx = te.reduce_axis((0, kh), "ry"), te.reduce_axis((0, kw), "rx")

    def element(b: Expr, f: Expr, y: Expr, x: Expr) -> Expr:
        value = padded(b, f // times, y * sh + ry * dh, x * sw + rx * dw).astype(kind)
        return te.sum(value * kernel(f // times, f % times, ry, rx).astype(kind), axis=[ry, rx])

    shape = (n, count * times, _out(h, top, bottom, rows, sh), _out(w, left, right, columns, sw))
    return te.compute(shape, element, name="depthwise_conv2d_nchw", tag="depthwise_conv2d_nchw")


def conv2d_transpose_nchw(
    data: te.Tensor,
    kernel: te.Tensor,
    strides: int | Sequence[int],
    padding: int | str | Sequence[int],
    out_dtype: str | None = None,
    output_padding: Sequence[int] = (0, 0),
) -> te.Tensor:
    """Return the transposed convolution of (N, C, H, W) with filters (C, O, KH, KW)."""
    what = "topi.nn.conv2d_transpose_nchw"
    n, channels, h, w = data.shape
    inner, outputs, kh, kw = (_number(e, what) for e in kernel.shape)
    if _number(channels, what) != inner:
        raise OperatorError(f"{what}: {channels} channels do not go with filters of {inner} channels")
    sh, sw = _pair(strides, what)
    top, left, bottom, right = pads_of(padding, (kh, kw), what)
    kind = out_dtype or data.dtype
    more_h, more_w = (int(v) for v in output_padding)
    before, after = (kh - 1 - top, kw - 1 - left), (kh - 1 - bottom + more_h, kw - 1 - right + more_w)
    if min(*before, *after) < 0:
        raise OperatorError(f"{what}: pads {padding!r} are larger than filters of {kh} by {kw} allow")
    spread = dilate(data, [1, 1, sh, sw])
    padded = pad(spread, [0, 0, *before], [0, 0, *after], 0, name="pad_temp")
    rc, ry, rx = te.reduce_axis((0, inner), "dc"), te.reduce_axis((0, kh), "dh"), te.reduce_axis((0, kw), "dw")
    shape = (n, outputs, (h - 1) * sh - top - bottom + kh + more_h, (w - 1) * sw - left - right + kw + more_w)

    def element(b: Expr, f: Expr, y: Expr, x: Expr) -> Expr:
        value = padded(b, rc, y + ry, x + rx).astype(kind)
        return te.sum(value * kernel(rc, f, kh - 1 - ry, kw - 1 - rx).astype(kind), axis=[rc, ry, rx])

    return te.compute(shape, element, name="conv2d_transpose_nchw", tag="conv2d_transpose_nchw")
