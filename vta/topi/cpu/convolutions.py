"""Convolutions in any number of dimensions and orders: ``topi.nn.conv1d_ncw``, ``conv3d_ncdhw``, ``conv2d_hwcn``, ...

Tests: tests/vta/topi/cpu/test_convolutions.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vta import te
from vta.tir.expr import Expr, ExprLike
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.rearrange import sizes_of
from vta.topi.nn.dilate import dilate
from vta.topi.nn.pad import pad

__all__ = [
    "conv1d", "conv1d_ncw", "conv1d_nwc", "conv1d_transpose_ncw", "conv2d_NCHWc", "conv2d_hwcn", "conv3d_ncdhw",
    "conv3d_ndhwc", "depthwise_conv2d_nhwc",
]  # fmt: skip

_Numbers = int | Sequence[int]


@dataclass(frozen=True, slots=True)
class _Window:
    """How filters of ``kernel`` elements in each dimension walk over an image."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    def outputs(self, sizes: Sequence[Expr]) -> list[Expr]:
        """Return how many places there are in each dimension."""
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]
        return [
            (size + (low + high - r)) // s + 1
            for size, low, high, r, s in zip(sizes, self.before, self.after, reach, self.strides, strict=True)
        ]

    def place(self, at: Sequence[Expr], walks: Sequence[ExprLike]) -> list[Expr]:
        """Return the element of the padded image that an output meets a filter's element at."""
        return [a * s + w * d for a, s, w, d in zip(at, self.strides, walks, self.dilation, strict=True)]  # type: ignore[operator]


def _window(
    what: str, kernel: Sequence[int], strides: _Numbers, padding: _Numbers | str, dilation: _Numbers = 1
) -> _Window:
    rank = len(kernel)

    def many(value: _Numbers, name: str) -> tuple[int, ...]:
        values = (int(value),) * rank if isinstance(value, int) else tuple(int(v) for v in value)
        if len(values) != rank or min(values) < 1:
            raise OperatorError(f"{what}: {name} has one number from 1, or {rank}, not {value!r}")
        return values

    steps, gaps = many(strides, "strides"), many(dilation, "dilation")
    return _Window(tuple(kernel), steps, gaps, *_pads(what, kernel, gaps, padding))


def _pads(
    what: str, kernel: Sequence[int], dilation: Sequence[int], padding: _Numbers | str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the pads before and after: of "SAME", for windows of stride 1."""
    rank = len(kernel)
    if isinstance(padding, str):
        if padding not in ("SAME", "VALID"):
            raise OperatorError(f"{what}: padding is numbers, 'SAME' or 'VALID', not {padding!r}")
        more = [(k - 1) * d if padding == "SAME" else 0 for k, d in zip(kernel, dilation, strict=True)]
        return tuple((m + 1) // 2 for m in more), tuple(m // 2 for m in more)
    values = [int(padding)] * (2 * rank) if isinstance(padding, int) else [int(v) for v in padding]
    values = values * 2 if len(values) == rank else values
    if len(values) != 2 * rank or min(values) < 0:
        raise OperatorError(f"{what}: padding has one number from 0, {rank}, or {2 * rank}, not {padding!r}")
    return tuple(values[:rank]), tuple(values[rank:])


def _convolved(
    name: str,
    data: te.Tensor,
    kernel: te.Tensor,
    layouts: tuple[str, str],
    strides: _Numbers,
    padding: _Numbers | str,
    dilation: _Numbers,
    out_dtype: str | None,
) -> te.Tensor:
    """Return the convolution of images and filters whose dimensions the letters of ``layouts`` name."""
    what = f"topi.nn.{name}"
    image, filters = layouts
    if data.ndim != len(image) or kernel.ndim != len(filters):
        raise OperatorError(f"{what}: expected images {image} and filters {filters}, got {data!r} and {kernel!r}")
    space = [c for c in image if c not in "NC"]
    extents = dict(zip(filters, sizes_of(kernel, f"nn.{name}"), strict=True))
    if str(data.shape[image.index("C")]) != str(extents["I"]):
        raise OperatorError(
            f"{what}: {data.shape[image.index('C')]} channels do not go with filters of {extents['I']} channels"
        )
    window = _window(what, [extents[c] for c in space], strides, padding, dilation)
    low, high = dict(zip(space, window.before, strict=True)), dict(zip(space, window.after, strict=True))
    padded = pad(data, [low.get(c, 0) for c in image], [high.get(c, 0) for c in image], 0, name="pad_temp")
    walks = {c: te.reduce_axis((0, extents[c]), f"r{c.lower()}") for c in ("I", *space)}
    kind = out_dtype or data.dtype
    places = dict(zip(space, window.outputs([data.shape[image.index(c)] for c in space]), strict=True))
    shape = [places.get(c, extents["O"] if c == "C" else data.shape[image.index(c)]) for c in image]

    def element(*i: Expr) -> Expr:
        at = dict(zip(image, i, strict=True))
        inside = dict(zip(space, window.place([at[c] for c in space], [walks[c] for c in space]), strict=True))
        value = padded(*(at[c] if c == "N" else walks["I"] if c == "C" else inside[c] for c in image))
        weight = kernel(*(at["C"] if c == "O" else walks[c] for c in filters))
        return te.sum(value.astype(kind) * weight.astype(kind), axis=list(walks.values()))

    return te.compute(shape, element, name=name, tag=name)


def conv1d_ncw(
    data: te.Tensor, kernel: te.Tensor, strides: _Numbers = 1, padding: _Numbers | str = "VALID",
    dilation: _Numbers = 1, out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """Return the convolution of rows (N, C, W) with filters (O, C, KW)."""
    return _convolved("conv1d_ncw", data, kernel, ("NCW", "OIW"), strides, padding, dilation, out_dtype)


def conv1d_nwc(
    data: te.Tensor, kernel: te.Tensor, strides: _Numbers = 1, padding: _Numbers | str = "VALID",
    dilation: _Numbers = 1, out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """Return the convolution of rows (N, W, C) with filters (KW, C, O)."""
    return _convolved("conv1d_nwc", data, kernel, ("NWC", "WIO"), strides, padding, dilation, out_dtype)


def conv1d(
    data: te.Tensor, kernel: te.Tensor, strides: _Numbers = 1, padding: _Numbers | str = "VALID",
    dilation: _Numbers = 1, data_layout: str = "NCW", kernel_layout: str = "", out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """Return the convolution of rows in a layout, "NCW" or "NWC"."""
    layouts = {"NCW": "OIW", "NWC": "WIO"}
    if data_layout not in layouts or (kernel_layout or layouts[data_layout]) != layouts[data_layout]:
        raise OperatorError(f"topi.nn.conv1d: layouts are NCW with OIW, or NWC with WIO, not {data_layout!r}")
    pair = (data_layout, layouts[data_layout])
    return _convolved(f"conv1d_{data_layout.lower()}", data, kernel, pair, strides, padding, dilation, out_dtype)


def conv2d_hwcn(
    Input: te.Tensor, Filter: te.Tensor, stride: _Numbers, padding: _Numbers | str,  # noqa: N803  # TVM's names
    dilation: _Numbers = 1, out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """Return the convolution of images (H, W, C, N) with filters (KH, KW, C, O)."""
    return _convolved("conv2d_hwcn", Input, Filter, ("HWCN", "HWIO"), stride, padding, dilation, out_dtype)


def conv3d_ncdhw(
    Input: te.Tensor, Filter: te.Tensor, stride: _Numbers, padding: _Numbers | str,  # noqa: N803  # TVM's names
    dilation: _Numbers = 1, out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """Return the convolution of volumes (N, C, D, H, W) with filters (O, C, KD, KH, KW)."""
    return _convolved("conv3d_ncdhw", Input, Filter, ("NCDHW", "OIDHW"), stride, padding, dilation, out_dtype)


def conv3d_ndhwc(
    Input: te.Tensor, Filter: te.Tensor, stride: _Numbers, padding: _Numbers | str,  # noqa: N803  # TVM's names
    dilation: _Numbers = 1, out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """Return the convolution of volumes (N, D, H, W, C) with filters (KD, KH, KW, C, O)."""
    return _convolved("conv3d_ndhwc", Input, Filter, ("NDHWC", "DHWIO"), stride, padding, dilation, out_dtype)


def depthwise_conv2d_nhwc(
    Input: te.Tensor, Filter: te.Tensor, stride: _Numbers, padding: _Numbers | str,  # noqa: N803  # TVM's names
    dilation: _Numbers = 1, out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """Return each channel of (N, H, W, C) convolved with its own filters (KH, KW, C, M): C * M outputs."""
    what = "topi.nn.depthwise_conv2d_nhwc"
    n, h, w, channels = Input.shape
    kh, kw, count, times = sizes_of(Filter, "nn.depthwise_conv2d_nhwc")
    if str(channels) != str(count):
        raise OperatorError(f"{what}: {channels} channels do not go with filters for {count}")
    window = _window(what, [kh, kw], stride, padding, dilation)
    padded = pad(Input, [0, *window.before, 0], [0, *window.after, 0], 0, name="pad_temp")
    walks = [te.reduce_axis((0, kh), "ry"), te.reduce_axis((0, kw), "rx")]
    kind = out_dtype or Input.dtype

    def element(b: Expr, y: Expr, x: Expr, c: Expr) -> Expr:
        value = padded(b, *window.place([y, x], walks), c // times).astype(kind)
        return te.sum(value * Filter(*walks, c // times, c % times).astype(kind), axis=walks)

    shape = (n, *window.outputs([h, w]), count * times)
    return te.compute(shape, element, name="depthwise_conv2d_nhwc", tag="depthwise_conv2d_nhwc")


def conv1d_transpose_ncw(
    data: te.Tensor, kernel: te.Tensor, stride: _Numbers, padding: _Numbers | str,
    out_dtype: str | None = None, output_padding: _Numbers = 0,
) -> te.Tensor:  # fmt: skip
    """Return the transposed convolution of rows (N, C, W) with filters (C, O, KW)."""
    what = "topi.nn.conv1d_transpose_ncw"
    n, channels, w = data.shape
    inner, outputs, kw = sizes_of(kernel, "nn.conv1d_transpose_ncw")
    if str(channels) != str(inner):
        raise OperatorError(f"{what}: {channels} channels do not go with filters of {inner} channels")
    window = _window(what, [kw], stride, padding)
    more = int(output_padding) if isinstance(output_padding, int) else int(output_padding[0])
    before, after = kw - 1 - window.before[0], kw - 1 - window.after[0] + more
    if min(before, after) < 0:
        raise OperatorError(f"{what}: pads {padding!r} are larger than filters of {kw} allow")
    step = window.strides[0]
    padded = pad(dilate(data, [1, 1, step]), [0, 0, before], [0, 0, after], 0, name="pad_temp")
    rc, rx = te.reduce_axis((0, inner), "dc"), te.reduce_axis((0, kw), "dw")
    kind = out_dtype or data.dtype

    def element(b: Expr, f: Expr, x: Expr) -> Expr:
        return te.sum(padded(b, rc, x + rx).astype(kind) * kernel(rc, f, kw - 1 - rx).astype(kind), axis=[rc, rx])

    shape = (n, outputs, (w - 1) * step + before + after - kw + 2)
    return te.compute(shape, element, name="conv1d_transpose_ncw", tag="conv1d_transpose_ncw")


def conv2d_NCHWc(  # noqa: N802  # TVM's name
    data: te.Tensor, kernel: te.Tensor, stride: _Numbers, padding: _Numbers | str, dilation: _Numbers,
    layout: str = "NCHWc", out_layout: str = "NCHWc",  # noqa: ARG001  # TVM's: the sizes say it
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """Return the convolution of images (N, C, H, W, c) with filters (O, C, KH, KW, c, o): (N, O, H, W, o)."""
    what = "topi.nn.conv2d_NCHWc"
    if data.ndim != 5 or kernel.ndim != 6:
        raise OperatorError(f"{what}: expected images NCHWc and filters OIHWio, got {data!r} and {kernel!r}")
    blocks, lanes = sizes_of(data, "nn.conv2d_NCHWc")[1::3]
    outputs, inner, kh, kw, own, made = sizes_of(kernel, "nn.conv2d_NCHWc")
    if (blocks, lanes) != (inner, own):
        raise OperatorError(f"{what}: {blocks} blocks of {lanes} channels do not go with filters of {inner} of {own}")
    window = _window(what, [kh, kw], stride, padding, dilation)
    padded = pad(data, [0, 0, *window.before, 0], [0, 0, *window.after, 0], 0, name="pad_temp")
    rc, ri = te.reduce_axis((0, inner), "rc"), te.reduce_axis((0, own), "ri")
    walks = [te.reduce_axis((0, kh), "ry"), te.reduce_axis((0, kw), "rx")]
    kind = out_dtype or data.dtype

    def element(b: Expr, f: Expr, y: Expr, x: Expr, o: Expr) -> Expr:
        value = padded(b, rc, *window.place([y, x], walks), ri).astype(kind)
        return te.sum(value * kernel(f, rc, *walks, ri, o).astype(kind), axis=[rc, *walks, ri])

    shape = (data.shape[0], outputs, *window.outputs(data.shape[2:4]), made)
    return te.compute(shape, element, name="conv2d_NCHWc", tag="conv2d_NCHWc")
