"""This library's own schedule of transposed convolutions, and the tiles that suit a layer best.

A tile of the result stays in the accumulator. Its places are taken apart by their remainder modulo the strides, because
places of one remainder meet the same taps of the kernel: the loops over whole strides become an instruction's, the rest
micro-ops, of which those that would multiply a zero are left out.
May import ``vta.te``, ``vta.environment``, ``vta.topi``. Tests: tests/vta/topi/test_conv2d_transpose_operator.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from vta import te
from vta.environment import Environment
from vta.tir import ops
from vta.tir.expr import Expr, IterVar
from vta.topi import epilogue, nn
from vta.topi.conv2d import Channel
from vta.topi.conv2d_grouped import ChannelBlocks
from vta.topi.epilogue import Epilogue, Residual
from vta.topi.layer_schedule import LayerSchedule
from vta.topi.layout import blocks
from vta.topi.operator import OperatorError
from vta.topi.sizes import divisors, parts
from vta.topi.tile_cost import TileCost
from vta.topi.transposed_window import TransposedWindow

__all__ = ["TransposeTiles", "TransposedLayer", "choose_tiles", "schedule_transposed"]


@dataclass(frozen=True, slots=True)
class TransposeTiles:
    """One tile: places of the result (multiples of the strides), blocks of channels; tiles that take turns (1 or 2)."""

    tile_h: int
    tile_w: int
    tile_ci: int = 1
    tile_co: int = 1
    oc_nthread: int = 1
    h_nthread: int = 1


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
    """Return the schedule of ``TransposedLayer.sums`` with the epilogue behind it."""
    made = LayerSchedule.of(outs, env)
    result = made.result
    b, co, i, j, b_i, c_i = result.leaf_iter_vars
    co0, co1 = result.split(co, factor=tiles.tile_co)
    i0, i1 = result.split(i, factor=tiles.tile_h)
    j0, j1 = result.split(j, factor=tiles.tile_w)
    result.reorder(b, i0, co0, j0, co1, i1, j1, b_i, c_i)
    made.take_turns(co0, tiles.oc_nthread)
    made.take_turns(i0, tiles.h_nthread)
    made.compute_tile_in(j0)
    lanes = made.sums.leaf_iter_vars[4]
    made.load_operands_in(_order_sums(made.sums, tiles, strides))
    made.sums.tensorize(lanes, made.env.gemm)
    result.pragma(co1, made.env.dma_copy)
    return made.s


def _order_sums(sums: te.Stage, tiles: TransposeTiles, strides: tuple[int, int]) -> IterVar:
    """Order the loops of the products, the longest of those that any place allows outermost; return the step's loop."""
    b, co, i, j, b_i, c_i, k_o, d_i, d_j, k_i = sums.leaf_iter_vars
    step, k1 = sums.split(k_o, factor=tiles.tile_ci)
    i_whole, i_rest = sums.split(i, factor=strides[0])
    j_whole, j_rest = sums.split(j, factor=strides[1])
    whole = {
        co: tiles.tile_co,
        i_whole: tiles.tile_h // strides[0],
        j_whole: tiles.tile_w // strides[1],
        k1: tiles.tile_ci,
    }
    longest = sorted(whole, key=lambda axis: -whole[axis])
    sums.reorder(step, b, *longest, i_rest, j_rest, d_i, d_j, b_i, c_i, k_i)
    return step


def choose_tiles(layer: TransposedLayer, found: ChannelBlocks, steps: Epilogue, env: Environment) -> TransposeTiles:
    """Return the tiles that take the fewest cycles, as far as the estimate knows."""
    behind = epilogue.append(te.placeholder((1, 1, 1, 1, env.BATCH, env.BLOCK_OUT), env.acc_dtype), steps, env)
    residuals = sum(isinstance(step, Residual) for step in steps)
    search = _Search(layer, found, len(behind.stages), residuals, len(behind.inputs) - residuals)
    costs = {tiles: search.cost(tiles) for tiles in search.candidates()}
    fitting = {tiles: cost for tiles, cost in costs.items() if not cost.excess(env.config)}
    if not fitting:
        least = min(costs.values(), key=lambda cost: (cost.wgt, cost.inp, cost.outputs))
        raise OperatorError(f"Conv2dTranspose: {least.excess(env.config)}")
    return min(fitting, key=lambda tiles: (fitting[tiles].cycles(env.config), fitting[tiles].steps))


@dataclass(frozen=True, slots=True)
class _Search:
    """The tiles of a layer and what they take; ``alu`` operations and so many tensors follow the sums."""

    layer: TransposedLayer
    found: ChannelBlocks
    alu: int
    residuals: int
    channel_values: int

    def candidates(self) -> Iterator[TransposeTiles]:
        """Yield tiles that divide the channels; places may reach beyond the result."""
        layer, strides = self.layer, self.layer.window.strides
        heights, widths = (
            [stride * whole for whole in parts(blocks(size, stride))]
            for size, stride in zip(layer.result, strides, strict=True)
        )
        channels = [co for co in divisors(layer.blocks_out) if self.found.allows(co)]
        for h, w, ci, co in product(heights, widths, divisors(layer.taken), channels):
            yield TransposeTiles(h, w, ci, co)
            if layer.blocks_out // co % 2 == 0:
                yield TransposeTiles(h, w, ci, co, oc_nthread=2)
            if blocks(layer.result[0], h) % 2 == 0:
                yield TransposeTiles(h, w, ci, co, h_nthread=2)

    def cost(self, tiles: TransposeTiles) -> TileCost:
        """Return what ``tiles`` take."""
        layer, window = self.layer, self.layer.window
        sides = (tiles.tile_h, tiles.tile_w)
        reads = [d.reads(side) - d.shift // d.stride for d, side in zip(window.directions, sides, strict=True)]
        whole = [side // stride for side, stride in zip(sides, window.strides, strict=True)]
        met = prod(
            sum(
                (rest + tap * d.dilation + d.shift) % d.stride == 0
                for rest in range(d.stride)
                for tap in range(d.kernel)
            )
            for d in window.directions
        )
        products = tiles.tile_co * tiles.tile_ci * prod(whole) * met
        first, second, *_ = sorted((tiles.tile_co, tiles.tile_ci, *whole), reverse=True)
        outputs = tiles.tile_co * prod(sides)
        taken = tiles.tile_ci + (self.found.step or 0) * (tiles.tile_co - 1)
        counts = [blocks(size, side) for size, side in zip(layer.result, sides, strict=True)]
        return TileCost(
            tiles=layer.images * (layer.blocks_out // tiles.tile_co) * prod(counts),
            steps=layer.taken // tiles.tile_ci,
            inp=taken * prod(reads),
            wgt=tiles.tile_co * tiles.tile_ci * prod(window.kernel),
            rows=taken * reads[0] + tiles.tile_co,
            products=products,
            uops=products // (first * second) + outputs // (first * second),
            outputs=outputs,
            extra=self.residuals * outputs + self.channel_values * tiles.tile_co,
            alu=self.alu,
            threads=tiles.oc_nthread * tiles.h_nthread,
        )
