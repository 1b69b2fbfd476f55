"""This library's own computation and schedule of transposed convolutions.

A tile of the result stays in the accumulator. Its places are taken apart by their remainder modulo the strides, because
places of one remainder meet the same taps of the kernel: the loops over whole strides become an instruction's, the rest
micro-ops, of which those that would multiply a zero are left out.
Tests: tests/vta/topi/transposed/test_conv2d_transpose_operator.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple, Self

from vta import te
from vta.environment import Environment
from vta.tir import ops
from vta.tir.expr import Expr, IterVar
from vta.topi import nn
from vta.topi.conv.conv2d import Channel
from vta.topi.core.layer_schedule import LayerSchedule, use_in_turn
from vta.topi.core.layout import blocks
from vta.topi.core.resident import Resident
from vta.topi.core.sizes import sizes
from vta.topi.transposed.transposed_window import TransposedWindow

__all__ = ["ProductLoops", "TransposeTiles", "TransposedLayer", "schedule_transposed"]


@dataclass(frozen=True, slots=True)
class TransposeTiles:
    """One tile: places of the result (multiples of the strides), blocks of channels.

    ``run`` whole strides of a row follow each other in the micro-ops. ``rotate_tiles`` copies of the accumulators and
    ``rotate_steps`` of the operands are used in turn. What is ``resident`` is loaded once for all tiles that read it.
    """

    tile_h: int
    tile_w: int
    tile_ci: int = 1
    tile_co: int = 1
    run: int = 1
    rotate_tiles: int = 1
    rotate_steps: int = 1
    resident: Resident = Resident.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class TransposedLayer:
    """A transposed convolution in blocks: a block of output channels reads ``taken`` blocks of input channels."""

    images: int
    blocks_in: int
    blocks_out: int
    taken: int
    image: tuple[int, int]
    result: tuple[int, int]
    window: TransposedWindow

    def placeholders(self, env: Environment) -> tuple[te.Tensor, te.Tensor]:
        """Return the packed data and the packed, flipped kernel."""
        data = (self.images, self.blocks_in, *self.image, env.BATCH, env.BLOCK_IN)
        kernel = (self.blocks_out, self.taken, *self.window.kernel, env.BLOCK_OUT, env.BLOCK_IN)
        return te.placeholder(data, env.inp_dtype, "data"), te.placeholder(kernel, env.wgt_dtype, "kernel")

    def packed_result(self, env: Environment) -> tuple[int, ...]:
        """Return the shape of the packed result."""
        return (self.images, self.blocks_out, *self.result, env.BATCH, env.BLOCK_OUT)

    def sums(
        self, data: te.Tensor, kernel: te.Tensor, channel: Channel, tiles: TransposeTiles, env: Environment
    ) -> te.Tensor:
        """Return the sums for whole tiles, which may be more places than the result has."""
        vertical, horizontal = self.window.directions
        rows, columns = (
            blocks(size, tile) * tile for size, tile in zip(self.result, (tiles.tile_h, tiles.tile_w), strict=True)
        )
        padded = self._padded(data, (vertical.reads(rows), horizontal.reads(columns)))
        k_o, d_i, d_j, k_i = (
            te.reduce_axis((0, size), name)
            for size, name in zip(
                (self.taken, *self.window.kernel, env.BLOCK_IN), ("k_o", "d_i", "d_j", "k_i"), strict=True
            )
        )

        def element(b_o: Expr, c_o: Expr, i: Expr, j: Expr, b_i: Expr, c_i: Expr) -> Expr:
            row = i + d_i * vertical.dilation + vertical.shift
            column = j + d_j * horizontal.dilation + horizontal.shift
            places = ((row, vertical.stride), (column, horizontal.stride))
            meets = [(place % stride == 0).asexpr() for place, stride in places if stride > 1]
            y, x = (place // stride if stride > 1 else place for place, stride in places)
            value = padded(b_o, channel(c_o, k_o.var), y, x, b_i, k_i).astype(env.acc_dtype)
            weight = kernel(c_o, k_o, d_i, d_j, c_i, k_i).astype(env.acc_dtype)
            return te.sum(value * weight, axis=[k_o, d_i, d_j, k_i], where=ops.all(*meets) if meets else None)

        shape = (self.images, self.blocks_out, rows, columns, env.BATCH, env.BLOCK_OUT)
        return te.compute(shape, element, name="res", tag="conv2d_transpose")

    def _padded(self, data: te.Tensor, reads: tuple[int, int]) -> te.Tensor:
        """Return ``data`` with the zeros around it that the result reads."""
        befores = [direction.before for direction in self.window.directions]
        afters = [max(0, read - before - size) for read, before, size in zip(reads, befores, self.image, strict=True)]
        if not any((*befores, *afters)):
            return data
        return nn.pad(data, [0, 0, *befores, 0, 0], [0, 0, *afters, 0, 0], name="pad_data")


def schedule_transposed(
    outs: te.Tensor | Sequence[te.Tensor],
    tiles: TransposeTiles,
    strides: tuple[int, int],
    env: Environment | None = None,
) -> te.Schedule:
    """Return the schedule of ``TransposedLayer.sums`` with the epilogue after it."""
    made = LayerSchedule.of(outs, env)
    result = made.result
    b, co, i, j, b_i, c_i = result.leaf_iter_vars
    co0, co1 = result.split(co, factor=tiles.tile_co)
    i0, i1 = result.split(i, factor=tiles.tile_h)
    j0, j1 = result.split(j, factor=tiles.tile_w)
    match tiles.resident:
        case Resident.NONE:
            order, turning, outside = [b, i0, co0, j0], [j0, co0, i0, b], j0
        case Resident.DATA:
            order, turning, outside = [b, i0, j0, co0], [co0], j0
        case Resident.KERNEL:
            order, turning, outside = [co0, b, i0, j0], [j0, i0, b], co0
    result.reorder(*order, co1, i1, j1, b_i, c_i)
    extents = zip((b, co0, i0, j0), sizes(made.layer.output)[:4], _tile_sides(tiles), strict=True)
    counts = {axis: blocks(extent, side) for axis, extent, side in extents}
    tile = use_in_turn(result, order, {axis: counts[axis] for axis in turning}, tiles.rotate_tiles)
    made.compute_tile_in(tile)
    lanes = made.sums.leaf_iter_vars[4]
    k0 = _order_sums(made.sums, tiles, strides, sizes(made.layer.output)[2:4])
    steps = sizes(made.layer.reduction.op.input_tensors[1])[1] // tiles.tile_ci
    step = use_in_turn(made.sums, [k0], {k0: steps}, tiles.rotate_steps)
    made.load_operands_in(step, resident=tiles.resident, outside=outside)
    made.sums.tensorize(lanes, made.env.gemm)
    result.pragma(co1, made.env.dma_copy)
    return made.s


def _tile_sides(tiles: TransposeTiles) -> tuple[int, int, int, int]:
    """Return the extents of a tile: images, blocks of output channels, rows, columns."""
    return 1, tiles.tile_co, tiles.tile_h, tiles.tile_w


class ProductLoops(NamedTuple):
    """The loops of a tile's products that can be loops of an instruction, and what is left of whole strides.

    ``rows`` and ``columns`` (in runs) count whole strides. They stay in the micro-ops where a single tile ends within a
    stride: its last places are not computed, and an instruction's loops have no exceptions.
    """

    channels: int
    blocks_in: int
    rows: int
    columns: int
    ragged_rows: bool
    ragged_columns: bool

    @classmethod
    def of(cls, tiles: TransposeTiles, strides: tuple[int, int], result: Sequence[int]) -> Self:
        """Return the loops for a result of so many rows and columns."""
        ragged = [
            side >= extent and extent % stride != 0
            for side, extent, stride in zip((tiles.tile_h, tiles.tile_w), result, strides, strict=True)
        ]
        columns = tiles.tile_w // strides[1] // tiles.run
        return cls(tiles.tile_co, tiles.tile_ci, tiles.tile_h // strides[0], columns, *ragged)

    @property
    def micro_ops(self) -> int:
        """What the loops that no instruction takes multiply a kernel's micro-ops by."""
        left = (self.rows if self.ragged_rows else 1) * (self.columns if self.ragged_columns else 1)
        free = [self.channels, self.blocks_in]
        free += [] if self.ragged_rows else [self.rows]
        free += [] if self.ragged_columns else [self.columns]
        return left * prod(sorted(free)[:-2])


def _order_sums(sums: te.Stage, tiles: TransposeTiles, strides: tuple[int, int], result: Sequence[int]) -> IterVar:
    """Order the loops of the products; return the loop of the steps.

    The longest of the loops that any place allows are outermost. In the micro-ops, places of a row follow each other,
    each with the one tap of a stride's taps that it meets.
    """
    b, co, i, j, b_i, c_i, k_o, d_i, d_j, k_i = sums.leaf_iter_vars
    step, k1 = sums.split(k_o, factor=tiles.tile_ci)
    i_whole, i_rest = sums.split(i, factor=strides[0])
    j_whole, j_rest = sums.split(j, factor=strides[1])
    j_outer, j_run = sums.split(j_whole, factor=tiles.run)
    d_outer, d_met = sums.split(d_j, factor=strides[1])
    loops = ProductLoops.of(tiles, strides, result)
    whole = {
        co: (False, -loops.channels),
        k1: (False, -loops.blocks_in),
        i_whole: (loops.ragged_rows, -loops.rows),
        j_outer: (loops.ragged_columns, -loops.columns),
    }
    longest = sorted(whole, key=whole.__getitem__)
    sums.reorder(step, b, *longest, i_rest, d_i, d_outer, j_run, j_rest, d_met, b_i, c_i, k_i)
    return step
