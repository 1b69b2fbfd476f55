"""Convolutions of images (N, C, H, W) in blocks of registers: ``BlockedConv2d``.

A block is ``lanes * vectors`` outputs of ``rows * columns`` places, all of whose sums stay in registers over the whole
reduction: each step loads the weights of the block's outputs and multiplies them by one number of each place. So
filters come packed, the outputs of a block side by side, zeros where a group has fewer (``pack``, done once); images
and results are as they are. Places beyond the edge that fill a block are computed of zeros and not stored.
Tests: tests/vta/topi/cpu/test_blocked_convolution.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vta import te
from vta.processor import Processor
from vta.te.auto_inline import is_injective
from vta.tir.expr import Expr
from vta.topi.core.operator import OperatorError
from vta.topi.nn.pad import pad

__all__ = ["BlockedConv2d", "ConvBlock", "conv_block"]

_PLACES = {32: 14, 16: 5}
"""Places of a block with two vectors of outputs, by the registers that there are: what measures best."""

_VECTORS = 2


@dataclass(frozen=True, slots=True)
class ConvBlock:
    """``vectors`` of ``lanes`` outputs, at ``rows`` times ``columns`` places."""

    lanes: int
    vectors: int
    rows: int
    columns: int

    @property
    def outputs(self) -> int:
        """How many output channels a block has."""
        return self.lanes * self.vectors


def conv_block(processor: Processor, outputs: int, size: tuple[int, int]) -> ConvBlock:
    """Return the block for so many outputs of a group, on maps of ``size`` rows and columns."""
    height, width = size
    lanes = processor.lanes
    vectors = min(_VECTORS, -(-outputs // lanes))
    most = _PLACES[processor.registers] * _VECTORS // vectors
    if width <= most:
        return ConvBlock(lanes, vectors, max(1, min(most // width, height)), width)
    columns = min(range(most, most // 2, -1), key=lambda c: -(-width // c) * (c + vectors))
    return ConvBlock(lanes, vectors, 1, columns)


@dataclass(frozen=True, slots=True)
class BlockedConv2d:
    """One convolution: images ``(n, channels, h, w)``, filters ``(outputs, channels / groups, kh, kw)``.

    ``pads`` are (top, left, bottom, right).
    """

    images: tuple[int, int, int, int]
    filters: tuple[int, int, int, int]
    strides: tuple[int, int]
    pads: tuple[int, int, int, int]
    dilation: tuple[int, int]
    groups: int
    processor: Processor
    dtype: str = "float32"

    def __post_init__(self) -> None:
        """Raise ``OperatorError`` for sizes that do not go together."""
        outputs, inner = self.filters[:2]
        if min(*self.images, *self.filters, *self.strides, *self.dilation, self.groups) < 1 or min(self.pads) < 0:
            raise OperatorError("BlockedConv2d: expected sizes from 1 and pads from 0")
        if inner * self.groups != self.images[1] or outputs % self.groups:
            raise OperatorError(
                f"BlockedConv2d: {self.images[1]} channels in {self.groups} groups do not go with {outputs} filters "
                f"of {inner} channels"
            )
        if min(self.size) < 1:
            raise OperatorError("BlockedConv2d: the filters are larger than the padded images")

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the result."""
        (_, _, h, w), (_, _, kh, kw) = self.images, self.filters
        top, left, bottom, right = self.pads
        rows, columns = ((k - 1) * d + 1 for k, d in zip((kh, kw), self.dilation, strict=True))
        return (h + top + bottom - rows) // self.strides[0] + 1, (w + left + right - columns) // self.strides[1] + 1

    @property
    def per_group(self) -> int:
        """Outputs of a group."""
        return self.filters[0] // self.groups

    @property
    def block(self) -> ConvBlock:
        """What is computed at a time."""
        return conv_block(self.processor, self.per_group, self.size)

    @property
    def packed_shape(self) -> tuple[int, ...]:
        """Of the packed filters: block of outputs, input channel, row, column, output in its block."""
        return (self.groups * self._blocks, *self.filters[1:], self.block.outputs)

    @property
    def _blocks(self) -> int:
        return -(-self.per_group // self.block.outputs)

    def pack(self, filters: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return filters ``(outputs, channels / groups, kh, kw)`` as ``compute`` takes them."""
        if filters.shape != self.filters:
            raise OperatorError(f"BlockedConv2d: expected filters of {self.filters}, got {filters.shape}")
        room, inner = self.block.outputs, self.filters[1:]
        whole = np.zeros((self.groups, self._blocks * room, *inner), filters.dtype)
        whole[:, : self.per_group] = filters.reshape(self.groups, self.per_group, *inner)
        blocks = whole.reshape(self.groups * self._blocks, room, *inner)
        return np.ascontiguousarray(blocks.transpose(0, 2, 3, 4, 1))

    def placeholders(self) -> tuple[te.Tensor, te.Tensor]:
        """Return tensors for images and packed filters."""
        return (
            te.placeholder(self.images, self.dtype, name="data"),
            te.placeholder(self.packed_shape, self.dtype, name="filters"),
        )

    def compute(self, data: te.Tensor, filters: te.Tensor) -> te.Tensor:
        """Return the result (n, outputs, rows, columns) of images and packed filters."""
        (n, _, _, _), (outputs, inner, kh, kw), block = self.images, self.filters, self.block
        (height, width), (sh, sw), (dh, dw) = self.size, self.strides, self.dilation
        rows, columns = -(-height // block.rows) * block.rows, -(-width // block.columns) * block.columns
        source = self._padded(data, rows, columns)
        rc, ry, rx = (te.reduce_axis((0, e), name) for e, name in ((inner, "rc"), (kh, "ry"), (kw, "rx")))
        blocks, room, per_group = self._blocks, block.outputs, self.per_group

        def in_blocks(b: Expr, o: Expr, y: Expr, x: Expr, i: Expr) -> Expr:
            channel = rc.var if self.groups == 1 else o // blocks * inner + rc
            value = source(b, channel, y * sh + ry * dh, x * sw + rx * dw)
            return te.sum(value * filters(o, rc, ry, rx, i), axis=[rc, ry, rx])

        sums = te.compute((n, self.groups * blocks, rows, columns, room), in_blocks, name="conv2d_blocks")

        def element(b: Expr, o: Expr, y: Expr, x: Expr) -> Expr:
            group, own = o // per_group, o % per_group
            return sums(b, group * blocks + own // room, y, x, own % room)

        return te.compute((n, outputs, height, width), element, name="conv2d_blocked", tag="injective")

    def _padded(self, data: te.Tensor, rows: int, columns: int) -> te.Tensor:
        """Return the images with their pads, and zeros behind them as far as blocks of places read."""
        (_, _, h, w), (_, _, kh, kw), (top, left, bottom, right) = self.images, self.filters, self.pads
        below = max((rows - 1) * self.strides[0] + (kh - 1) * self.dilation[0] + 1 - h - top, bottom)
        beside = max((columns - 1) * self.strides[1] + (kw - 1) * self.dilation[1] + 1 - w - left, right)
        if not any((top, left, below, beside)):
            return data
        return pad(data, [0, 0, top, left], [0, 0, below, beside], 0, name="pad_temp")

    def schedule(self, out: te.Tensor) -> te.Schedule:
        """Return the schedule of ``out``: the result, or what is computed of its elements one by one."""
        s = te.create_schedule(out.op)
        for stage in s.stages:
            if not stage.is_output and is_injective(stage.op) and stage.op.name != "pad_temp":
                stage.compute_inline()
        [sums] = [stage.op.output(0) for stage in s.stages if stage.op.name == "conv2d_blocks"]
        block, (b, o, y, x) = self.block, s[out].op.axis
        g, own = s[out].split(o, self.per_group)
        outer, lane = s[out].split(own, block.outputs)
        yo, yi = s[out].split(y, block.rows)
        xo, xi = s[out].split(x, block.columns)
        s[out].reorder(b, g, outer, yo, xo, yi, lane, xi)
        s[out].unroll(xi)
        self._schedule_sums(s, sums)
        s[sums].compute_at(s[out], xo)
        s[out].parallel(s[out].fuse(b, g, outer, yo))
        self._schedule_pads(s)
        return s

    def _schedule_sums(self, s: te.Schedule, sums: te.Tensor) -> None:
        (b, o, y, x, i), (rc, ry, rx) = s[sums].op.axis, s[sums].op.reduce_axis
        vector, lane = s[sums].split(i, self.block.lanes)
        s[sums].reorder(b, o, rc, ry, rx, y, x, vector, lane)
        for axis in (y, x, vector):
            s[sums].unroll(axis)
        s[sums].vectorize(lane)

    def _schedule_pads(self, s: te.Schedule) -> None:
        for stage in s.stages:
            if stage.op.name == "pad_temp" and not stage.is_inlined:
                n, channel, _, _ = stage.op.axis
                stage.parallel(stage.fuse(n, channel))
