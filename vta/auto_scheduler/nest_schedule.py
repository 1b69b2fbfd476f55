"""The schedule of a definition in some tiles.

Tests: tests/vta/auto_scheduler/test_nest_schedule.py.

A tile of the result is computed at a time, in the accumulator: the products that it needs in steps, each of which loads
its operands, then what the ALU does; so a tile's operations run beside the next one's products.
"""

from vta import te
from vta.auto_scheduler.nest import Level, Load, Nest
from vta.auto_scheduler.nest_tiles import NestTiles
from vta.tir.expr import IterVar
from vta.topi.alu.alu_schedule import load_first, reduce_tap_by_tap
from vta.topi.core.layer_schedule import use_in_turn

__all__ = ["schedule_nest"]


def schedule_nest(nest: Nest, tiles: NestTiles) -> te.Schedule:
    """Return the schedule of what ``nest`` has, in ``tiles``."""
    parts, env = nest.parts, nest.env
    s = te.create_schedule(parts.output.op)
    loads = [(load, _cached(s, nest, load)) for load in nest.loads(tiles)]
    direct = [_cached_for_the_alu(s, nest, tensor) for tensor in parts.direct]
    for tensor in parts.inlined:
        s[tensor].compute_inline()
    if not parts.products:
        load_first(s, [*direct, *parts.loads])
    tile, resident = _tiled(s, nest, tiles)
    for tensor in (*(product.tensor for product in parts.products), *direct, *parts.loads, *parts.stages):
        s[tensor].set_scope(env.acc_scope)
        s[tensor].compute_at(s[parts.output], tile)
    for tensor in (*direct, *parts.loads):
        s[tensor].pragma(s[tensor].leaf_iter_vars[0], env.dma_copy)
    for tensor in parts.stages:
        op = s[tensor].compute_op("an operation of the ALU")
        if op.reduce_axis:
            reduce_tap_by_tap(s[tensor], env, in_place=tensor in nest.in_place)
        else:
            s[tensor].pragma(op.axis[0], env.alu)
    steps = [_steps(s, nest, tiles, number) for number in range(len(parts.products))]
    for load, tensor in loads:
        s[tensor].set_scope(env.inp_scope if load.is_data else env.wgt_scope)
        match load.level:
            case Level.STEP:
                [reader] = load.readers
                s[tensor].compute_at(s[parts.products[reader].tensor], steps[reader])
            case Level.TILE:
                s[tensor].compute_at(s[parts.output], tile)
            case Level.RESIDENT:
                s[tensor].compute_at(s[parts.output], resident)
        s[tensor].pragma(s[tensor].leaf_iter_vars[0], env.dma_copy)
    return s


def _cached(s: te.Schedule, nest: Nest, load: Load) -> te.Tensor:
    scope = nest.env.inp_scope if load.is_data else nest.env.wgt_scope
    return s.cache_read(load.tensor, scope, [nest.parts.products[reader].tensor for reader in load.readers])


def _cached_for_the_alu(s: te.Schedule, nest: Nest, tensor: te.Tensor) -> te.Tensor:
    readers = [stage for stage in nest.parts.stages if tensor in stage.op.input_tensors]
    if tensor in nest.parts.output.op.input_tensors:
        readers.append(nest.parts.output)
    return s.cache_read(tensor, nest.env.acc_scope, readers)


def _tiled(s: te.Schedule, nest: Nest, tiles: NestTiles) -> tuple[IterVar, IterVar]:
    """Tile the result; return the loop in which a tile is computed, and that of what is resident."""
    output = s[nest.parts.output]
    axes = output.compute_op("tiles").axis
    halves = [output.split(axis, factor=side) for axis, side in zip(axes[:-2], tiles.sides, strict=True)]
    outer, inner = [half[0] for half in halves], [half[1] for half in halves]
    order = [outer[place] for place in nest.order(tiles)]
    output.reorder(*order, *inner, *axes[-2:])
    output.pragma(inner[0], nest.env.dma_copy)
    trips = nest.trips(tiles)
    turning = {outer[place]: trips[place] for place in nest.turning(tiles)}
    resident = order[len(tiles.resident) - 1]
    return use_in_turn(output, order, turning, tiles.rotate_tiles), resident


def _steps(s: te.Schedule, nest: Nest, tiles: NestTiles, number: int) -> IterVar:
    """Order the loops of a product; return the loop of its steps."""
    product, env = nest.parts.products[number], nest.env
    stage = s[product.tensor]
    op = stage.compute_op("sums of products")
    axes = list(op.axis)
    places, (row, lane) = axes[:-2], axes[-2:]
    *sums, inner = op.reduce_axis
    outer: list[IterVar] = []
    rest: list[IterVar] = []
    for axis, size in zip(sums, tiles.steps[number], strict=True):
        before, after = stage.split(axis, factor=size)
        outer.append(before)
        rest.append(after)
    kernel = nest.kernel(number, tiles)
    loops = [*places, *rest]
    before, run = stage.split(loops[kernel.along], factor=kernel.run)
    loops[kernel.along] = before
    stage.reorder(
        *outer,
        *(loops[place] for place in kernel.outer),
        *(loops[place] for place in kernel.taps),
        run,
        row,
        lane,
        inner,
    )
    stage.tensorize(row, env.depthwise_gemm if product.taps else env.gemm)
    if not outer:  # all of it is one step, and its operands are loaded with the tile
        return run
    trips = dict(zip(outer, nest.step_trips(number, tiles), strict=True))
    return use_in_turn(stage, outer, trips, tiles.rotate_steps[number])
