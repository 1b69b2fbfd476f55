"""The schedule of operators that the tensor ALU does alone: loads into the accumulator, ALU stages, one store a tile.

The output is cut into tiles (``AluTiles``); everything before it is computed for one tile at a time. With virtual
threads, which take turns, the loads of one tile run beside the ALU's work on another and the store of a third.
Tests: tests/vta/topi/alu/test_alu_schedule.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from isa.errors import VTAError
from vta import te
from vta.environment import Environment
from vta.passes.alu.reduce_in_place import IN_PLACE_PRAGMA
from vta.tir.expr import IterVar
from vta.topi.core.sizes import sizes

__all__ = ["AluStages", "AluTiles", "AluTilesError", "alu_schedule", "load_first", "reduce_tap_by_tap"]


MOST_THREADS = 4
"""Virtual threads that are of use: one tile is loaded, one computed, one stored, and one is ready."""


class AluTilesError(VTAError, ValueError):
    """Tiles that do not go with an output."""


@dataclass(frozen=True, slots=True)
class AluTiles:
    """What one tile of a packed output (N/batch, C/block, H, W, batch, block) has along the first four dimensions.

    ``threads`` virtual threads take turns with the tiles along ``thread_axis`` (0 to 3); their number must divide that
    of the tiles there. The names are those of the template's knobs.
    """

    tile_b: int
    tile_co: int
    tile_h: int
    tile_w: int
    threads: int = 1
    thread_axis: int = 1

    @property
    def inner(self) -> tuple[int, int, int, int]:
        """The sizes in the order of the output's dimensions."""
        return (self.tile_b, self.tile_co, self.tile_h, self.tile_w)


@dataclass(frozen=True, slots=True, eq=False)
class AluStages:
    """What is computed before a packed result, by how it is done.

    ``loads`` copy from DRAM (and convert int8 on the way), ``inlined`` are part of one of them, ``reductions`` and
    ``elementwise`` are done by the ALU, ``direct`` are int32 inputs that they read through a copy. ``pieces`` is a
    reduction (or none) whose first two axes are parts of it, each with loads of its own. ``tiled`` are the result's
    dimensions that tiles cut, ``repeated`` those for each of whose indices the tile is stored once more.
    """

    loads: tuple[te.Tensor, ...] = ()
    elementwise: tuple[te.Tensor, ...] = ()
    reductions: tuple[te.Tensor, ...] = ()
    direct: tuple[te.Tensor, ...] = ()
    inlined: tuple[te.Tensor, ...] = ()
    pieces: tuple[te.Tensor, ...] = ()
    tiled: tuple[int, int, int, int] = (0, 1, 2, 3)
    repeated: tuple[int, ...] = ()


def alu_schedule(env: Environment, result: te.Tensor, stages: AluStages, tiles: AluTiles) -> te.Schedule:
    """Return the schedule of ``result`` in ``tiles``; raises ``AluTilesError`` if these do not go with it."""
    shape = sizes(result)
    _check(tiles, [shape[i] for i in stages.tiled])
    s = te.create_schedule(result.op)
    for tensor in stages.inlined:
        s[tensor].compute_inline()
    loads = [*stages.loads, *(_copied(s, env, tensor) for tensor in stages.direct)]
    load_first(s, loads)
    axes = s[result].compute_op("tiles").axis
    halves = [s[result].split(axes[i], factor=size) for i, size in zip(stages.tiled, tiles.inner, strict=True)]
    outer = [half[0] for half in halves]
    inner = [*(axes[i] for i in stages.repeated), *(half[1] for half in halves)]
    whole = [axis for i, axis in enumerate(axes) if i not in (*stages.tiled, *stages.repeated)]
    order = [outer[0], outer[2], outer[1], outer[3]]
    if tiles.threads > 1:
        rest, thread = s[result].split(outer[tiles.thread_axis], factor=tiles.threads)
        order[order.index(outer[tiles.thread_axis])] = rest
        order.insert(0, thread)
        s[result].bind(thread, te.thread_axis("cthread"))
    s[result].reorder(*order, *inner, *whole)
    for tensor in (*loads, *stages.pieces, *stages.reductions, *stages.elementwise):
        s[tensor].set_scope(env.acc_scope)
        s[tensor].compute_at(s[result], order[-1])
    for tensor in loads:
        s[tensor].pragma(_outermost(s[tensor]), env.dma_copy)
    for tensor in stages.elementwise:
        s[tensor].pragma(_outermost(s[tensor]), env.alu)
    for tensor in stages.reductions:
        reduce_tap_by_tap(s[tensor], env)
    for tensor in stages.pieces:
        parts = s[tensor].compute_op("pieces").axis[:2]
        reduce_tap_by_tap(s[tensor], env, loops=parts)
        for load in loads:
            if s.consumes(s[tensor], s[load]):
                s[load].compute_at(s[tensor], parts[1])
    s[result].pragma(inner[0], env.dma_copy)
    return s


def load_first(s: te.Schedule, loads: Sequence[te.Tensor]) -> None:
    """Move loads before all that computes: they get memory of their own, and do not wait for what was there before."""
    inputs = [stage for stage in s.stages if isinstance(stage.op, te.PlaceholderOp) or stage.is_inlined]
    order = dict.fromkeys([*inputs, *(s[tensor] for tensor in loads), *s.stages])
    s.stages[:] = order


def _copied(s: te.Schedule, env: Environment, tensor: te.Tensor) -> te.Tensor:
    readers = [stage.op for stage in s.stages if tensor in stage.op.input_tensors]
    return s.cache_read(tensor, env.acc_scope, readers)


def _outermost(stage: te.Stage) -> IterVar:
    return stage.compute_op("pragma").axis[0]


def reduce_tap_by_tap(
    stage: te.Stage, env: Environment, *, loops: Sequence[IterVar] = (), in_place: bool = False
) -> None:
    """Run the taps of a reduction one after the other, each over all of the tile, after the initial values.

    ``loops`` of it go around all that. With ``in_place``, windows that do not overlap are reduced where they lie
    (``vta.passes.alu.reduce_in_place``).
    """
    op = stage.compute_op("a reduction")
    start = stage.fuse()
    stage.reorder(*loops, start, *op.reduce_axis, *op.axis[len(loops) :])
    stage.pragma(start, IN_PLACE_PRAGMA if in_place and not env.mock_mode else env.alu)


def _check(tiles: AluTiles, extents: Sequence[int]) -> None:
    for name, size, extent in zip(("tile_b", "tile_co", "tile_h", "tile_w"), tiles.inner, extents, strict=True):
        if not 1 <= size <= extent:
            raise AluTilesError(f"{name} is from 1 to {extent}, the output's blocks there, not {size}")
    if not 1 <= tiles.threads <= MOST_THREADS:
        raise AluTilesError(f"threads is from 1 to {MOST_THREADS}, not {tiles.threads}")
    if tiles.threads > 1:
        axis = tiles.thread_axis
        if axis not in range(4):
            raise AluTilesError(f"thread_axis is a dimension from 0 to 3, not {axis}")
        count = -(-extents[axis] // tiles.inner[axis])
        if count % tiles.threads:
            raise AluTilesError(
                f"{tiles.threads} threads share the tiles along dimension {axis}, whose number must be a multiple of "
                f"{tiles.threads}, not {count}; choose other tiles, or one thread"
            )
