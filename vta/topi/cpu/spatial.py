"""Elements between space, channels and batch: ``topi.nn.space_to_depth``, ``mirror_pad``, ``sequence_mask``, ...

Tests: tests/vta/topi/cpu/test_spatial.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta import te
from vta.tir import ops
from vta.tir.expr import Expr, const
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.rearrange import reshape, sizes_of, strided_slice, transpose
from vta.topi.cpu.reductions import axes_of
from vta.topi.nn.pad import pad

__all__ = [
    "batch_to_space_nd", "depth_to_space", "fifo_buffer", "mirror_pad", "reverse_sequence", "sequence_mask",
    "space_to_batch_nd", "space_to_depth",
]  # fmt: skip


def _channels_first(name: str, data: te.Tensor, layout: str) -> te.Tensor:
    if layout not in ("NCHW", "NHWC") or data.ndim != 4:
        raise OperatorError(f"topi.nn.{name}: expected images NCHW or NHWC, got {data.ndim} dimensions, {layout!r}")
    return data if layout == "NCHW" else transpose(data, (0, 3, 1, 2))


def space_to_depth(data: te.Tensor, block_size: int, layout: str = "NCHW") -> te.Tensor:
    """Return images whose pixels are blocks of ``block_size`` squared, each with all its channels, block by block."""
    image = _channels_first("space_to_depth", data, layout)
    n, c, h, w = sizes_of(image, "nn.space_to_depth")
    b = block_size
    if b < 1 or h % b or w % b:
        raise OperatorError(f"topi.nn.space_to_depth: images of {h} by {w} have no whole blocks of {b}")
    parts = transpose(reshape(image, (n, c, h // b, b, w // b, b)), (0, 3, 5, 1, 2, 4))
    result = reshape(parts, (n, c * b * b, h // b, w // b))
    return result if layout == "NCHW" else transpose(result, (0, 2, 3, 1))


def depth_to_space(data: te.Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> te.Tensor:
    """Return images with blocks made of channels: block by block ("DCR"), or channel by channel ("CRD")."""
    image = _channels_first("depth_to_space", data, layout)
    n, c, h, w = sizes_of(image, "nn.depth_to_space")
    b = block_size
    if mode not in ("DCR", "CRD"):
        raise OperatorError(f"topi.nn.depth_to_space: mode is 'DCR' or 'CRD', not {mode!r}")
    if b < 1 or c % (b * b):
        raise OperatorError(f"topi.nn.depth_to_space: {c} channels make no blocks of {b} by {b}")
    less = c // (b * b)
    if mode == "DCR":
        parts = transpose(reshape(image, (n, b, b, less, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        parts = transpose(reshape(image, (n, less, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    result = reshape(parts, (n, less, h * b, w * b))
    return result if layout == "NCHW" else transpose(result, (0, 2, 3, 1))


def space_to_batch_nd(
    data: te.Tensor,
    block_shape: Sequence[int],
    pad_before: Sequence[int],
    pad_after: Sequence[int],
    pad_value: float = 0.0,
) -> te.Tensor:
    """Return the padded data with blocks of the dimensions after the first one moved into the first one."""
    blocks = [int(b) for b in block_shape]
    rest = data.ndim - 1 - len(blocks)
    if rest < 0 or len(pad_before) != len(blocks) or len(pad_after) != len(blocks):
        raise OperatorError(f"topi.nn.space_to_batch_nd: {len(blocks)} blocks and their pads do not go with {data!r}")
    padded = pad(data, [0, *pad_before, *[0] * rest], [0, *pad_after, *[0] * rest], pad_value)
    batch, *sizes = sizes_of(padded, "nn.space_to_batch_nd")
    if any(size % b for size, b in zip(sizes, blocks, strict=False)):
        raise OperatorError(f"topi.nn.space_to_batch_nd: {sizes[: len(blocks)]} elements have no whole blocks {blocks}")
    split = [part for size, b in zip(sizes, blocks, strict=False) for part in (size // b, b)]
    tail = sizes[len(blocks) :]
    count = len(blocks)
    order = [2 * d + 2 for d in range(count)] + [0] + [2 * d + 1 for d in range(count)]
    order += range(2 * count + 1, 2 * count + 1 + rest)
    moved = transpose(reshape(padded, (batch, *split, *tail)), order)
    times = 1
    for b in blocks:
        times *= b
    return reshape(moved, (batch * times, *(size // b for size, b in zip(sizes, blocks, strict=False)), *tail))


def batch_to_space_nd(
    data: te.Tensor, block_shape: Sequence[int], crop_begin_list: Sequence[int], crop_end_list: Sequence[int]
) -> te.Tensor:
    """Return the data with blocks of the first dimension moved into those after it, and these cropped."""
    blocks = [int(b) for b in block_shape]
    batch, *sizes = sizes_of(data, "nn.batch_to_space_nd")
    times = 1
    for b in blocks:
        times *= b
    count = len(blocks)
    if batch % times or count > len(sizes) or len(crop_begin_list) != count or len(crop_end_list) != count:
        raise OperatorError(f"topi.nn.batch_to_space_nd: blocks {blocks} and their crops do not go with {data!r}")
    order = [count]
    for d in range(count):
        order += [count + 1 + d, d]
    order += range(2 * count + 1, count + 1 + len(sizes))
    parts = transpose(reshape(data, (*blocks, batch // times, *sizes)), order)
    whole = [size * b for size, b in zip(sizes, blocks, strict=False)]
    spread = reshape(parts, (batch // times, *whole, *sizes[count:]))
    begin = [0, *map(int, crop_begin_list)]
    end = [batch // times, *(size - int(crop) for size, crop in zip(whole, crop_end_list, strict=True))]
    return strided_slice(spread, begin, end)


def mirror_pad(
    data: te.Tensor, pad_before: Sequence[int], pad_after: Sequence[int] | None = None, mode: str = "SYMMETRIC"
) -> te.Tensor:
    """Return the data with what is beyond its edges mirrored, the edge itself too ("SYMMETRIC") or not ("REFLECT")."""
    before = [int(p) for p in pad_before]
    after = before if pad_after is None else [int(p) for p in pad_after]
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise OperatorError(f"topi.nn.mirror_pad: mode is 'SYMMETRIC' or 'REFLECT', not {mode!r}")
    edge = 1 if mode == "SYMMETRIC" else 0
    sizes = sizes_of(data, "nn.mirror_pad")
    if len(before) != data.ndim or len(after) != data.ndim:
        raise OperatorError(f"topi.nn.mirror_pad: expected {data.ndim} pads on each side, got {before} and {after}")
    if any(not 0 <= p <= size - 1 + edge for p, size in zip((*before, *after), (*sizes, *sizes), strict=True)):
        raise OperatorError(f"topi.nn.mirror_pad: pads {before} and {after} are more than there is to mirror: {sizes}")

    def element(*i: Expr) -> Expr:
        places = []
        for index, low, size in zip(i, before, sizes, strict=True):
            place = index - low
            place = ops.max(place, -place - edge)
            places.append(ops.min(place, 2 * size - 2 + edge - place))
        return data(*places)

    shape = [size + low + high for size, low, high in zip(sizes, before, after, strict=True)]
    return te.compute(shape, element, name="T_mirror_pad", tag="injective")


def sequence_mask(data: te.Tensor, valid_length: te.Tensor, mask_value: float = 0, axis: int = 0) -> te.Tensor:
    """Return ``data`` with ``mask_value`` from ``valid_length`` of its batch on along ``axis`` (0 or 1; the other one
    is the batch)."""
    if axis not in (0, 1) or data.ndim < 2:
        raise OperatorError(f"topi.sequence_mask: expected axis 0 or 1 of two dimensions at least, got axis {axis}")

    def element(*i: Expr) -> Expr:
        length = valid_length(i[1 - axis])
        return ops.select(i[axis].astype(length.dtype) < length, data(*i), const(mask_value, data.dtype))

    return te.compute(data.shape, element, name="T_sequence_mask", tag="injective")


def reverse_sequence(a: te.Tensor, seq_lengths: te.Tensor, seq_axis: int = 1, batch_axis: int = 0) -> te.Tensor:
    """Return ``a`` with the first ``seq_lengths`` elements of each batch turned round along ``seq_axis``."""
    [along] = axes_of("reverse_sequence", a.ndim, seq_axis)
    [batch] = axes_of("reverse_sequence", a.ndim, batch_axis)
    size = sizes_of(a, "reverse_sequence")[along]

    def element(*i: Expr) -> Expr:
        length = ops.min(ops.max(seq_lengths(i[batch]).astype("int32"), 0), size)
        place = ops.select(i[along] < length, length - 1 - i[along], i[along])
        return a(*i[:along], place, *i[along + 1 :])

    return te.compute(a.shape, element, name="T_reverse_sequence", tag="injective")


def fifo_buffer(data: te.Tensor, buffer: te.Tensor, axis: int) -> te.Tensor:
    """Return ``buffer`` with ``data`` at its end along ``axis``, and so many of its first elements gone."""
    [dim] = axes_of("nn.fifo_buffer", buffer.ndim, axis)
    new, size = sizes_of(data, "nn.fifo_buffer")[dim], sizes_of(buffer, "nn.fifo_buffer")[dim]
    if new > size:
        raise OperatorError(f"topi.nn.fifo_buffer: {new} new elements do not fit a buffer of {size}")

    def element(*i: Expr) -> Expr:
        old = buffer(*i[:dim], i[dim] + new, *i[dim + 1 :])
        return ops.if_then_else(i[dim] < size - new, old, data(*i[:dim], i[dim] - (size - new), *i[dim + 1 :]))

    return te.compute(buffer.shape, element, name="T_fifo_buffer", tag="injective")
