"""GEMM in native code: bounds, reset, and the choice of blocks.

Inputs and weights are only read and additions commute modulo 2^32, so the steps of the loop nest may run in any
order. Of the two loops one becomes the *step* loop of a block (it must move the accumulator) and the other one the
reduction (if it leaves the accumulator alone) or an outer loop. A step loop that leaves the weights alone is best:
they are loaded once a block. Tests: ``tests/runtime/sim/test_gemm.py``.
"""

from dataclasses import dataclass
from typing import Any

from isa.instructions import MemoryId
from isa.layout import instruction_layouts
from runtime.sim.decode import Fields
from runtime.sim.emit import Emitter, Flag, Num
from runtime.sim.failures import Failing
from runtime.sim.gemm_block import Block, block_shapes, emit_block
from runtime.sim.geometry import Geometry
from runtime.sim.loops import Loops
from runtime.sim.record import Status, UopField

__all__ = ["emit_gemm"]

_DST, _SRC, _WGT = UopField.DST, UopField.SRC, UopField.WGT


def emit_gemm(module: Any, geometry: Geometry) -> Any:
    """Write ``gemm(arena, index, low, high)``, which returns a ``Status``."""
    config = geometry.config
    products = _emit_products(module, geometry)
    emit = Emitter(module, "gemm", ("arena", "index", "low", "high"), returns=True)
    failing = Failing(emit)
    halves = (emit.arguments["low"], emit.arguments["high"])
    loops = Loops(emit, geometry, Fields(instruction_layouts(config)["GEMM"], halves))
    trips = loops.trips
    with emit.when(loops.fields["reset"].differs(0)):
        failing.count("gemm_reset", 1)
        failing.leave_if_skipping()
        with emit.when(trips.equals(0)):
            emit.give(Status.DONE)
        loops.check(failing, {_DST: config.acc_depth})
        _emit_reset(loops)
        emit.give(Status.DONE)
    failing.count("gemm", 1)
    failing.count("gemm_counter", trips)
    failing.leave_if_skipping()
    with emit.when(trips.equals(0)):
        emit.give(Status.DONE)
    depths = {
        _DST: config.depth(MemoryId.ACC),
        _SRC: config.depth(MemoryId.INP),
        _WGT: config.depth(MemoryId.WGT),
    }
    loops.check(failing, depths)
    emit.call(products, *(emit.arguments[name] for name in ("arena", "low", "high")))
    return emit.finish(Status.DONE)


def _emit_reset(loops: Loops) -> None:
    """Zero every accumulator element that the loops reach; a loop that stays in place runs once."""
    emit, geometry = loops.emit, loops.geometry
    start = emit.arguments["arena"] + geometry.acc_at
    counts = {
        loop: loops.factor(_DST, loop).equals(0).select(1, loops.fields[f"iter_{loop}"]) for loop in ("out", "in")
    }
    with emit.loop(loops.fields["uop_end"], begin=loops.fields["uop_bgn"]) as index:
        dst = loops.micro_op(index)["dst"]
        with emit.loop(counts["out"]) as outer, emit.loop(counts["in"]) as inner:
            element = dst + outer * loops.factor(_DST, "out") + inner * loops.factor(_DST, "in")
            emit.fill(start + element * geometry.acc_elem, 0, emit.num(geometry.acc_elem))


@dataclass(frozen=True, slots=True)
class _Loop:
    """One loop of the nest: its trip count and what a step adds to each operand."""

    count: Num
    dst: Num
    src: Num
    wgt: Num

    @staticmethod
    def of(loops: Loops, name: str) -> "_Loop":
        """Return loop ``name`` (``out`` or ``in``) of the nest."""
        factors = [loops.factor(operand, name) for operand in (_DST, _SRC, _WGT)]
        return _Loop(loops.fields[f"iter_{name}"], *factors)

    def or_other(self, condition: Flag, other: "_Loop") -> "_Loop":
        """Return this loop where ``condition`` holds, else ``other``."""
        pairs = zip(self._parts(), other._parts(), strict=True)
        return _Loop(*(condition.select(mine, theirs) for mine, theirs in pairs))

    def _parts(self) -> tuple[Num, ...]:
        return self.count, self.dst, self.src, self.wgt

    @property
    def moves(self) -> Flag:
        """Whether each step has an accumulator element of its own."""
        return self.dst.differs(0) & (self.count > 1)

    @property
    def reduces(self) -> Flag:
        """Whether several steps add to one accumulator element."""
        return self.dst.equals(0) & (self.count > 1)

    @property
    def shares(self) -> Flag:
        """Whether the steps move the accumulator and share their weights."""
        return self.moves & self.wgt.equals(0)


def _emit_products(module: Any, geometry: Geometry) -> Any:
    """Write ``gemm_products(arena, low, high)`` for a GEMM whose bounds hold and that has something to do."""
    shapes = block_shapes(geometry)
    functions = {block: emit_block(module, geometry, block) for block in dict.fromkeys((*shapes[0], *shapes[1]))}
    shared, own = ([(block, functions[block]) for block in blocks] for blocks in shapes)
    emit = Emitter(module, "gemm_products", ("arena", "low", "high"))
    halves = (emit.arguments["low"], emit.arguments["high"])
    loops = Loops(emit, geometry, Fields(instruction_layouts(geometry.config)["GEMM"], halves))
    outer, inner = _Loop.of(loops, "out"), _Loop.of(loops, "in")
    steps_outside = _step_loop_is_outer(outer, inner)
    step, rest = outer.or_other(steps_outside, inner), inner.or_other(steps_outside, outer)
    # The other loop is the reduction, or runs around everything if it moves the accumulator too.
    in_place = rest.dst.equals(0)
    around = in_place.select(1, rest.count)
    trips = in_place.select(rest.count, 1)
    with emit.loop(loops.fields["uop_end"], begin=loops.fields["uop_bgn"]) as index:
        micro_op = loops.micro_op(index)
        with emit.loop(around) as turn:
            first = [
                micro_op[name] + turn * factor
                for name, factor in zip(("dst", "src", "wgt"), (rest.dst, rest.src, rest.wgt), strict=True)
            ]
            with emit.choose(step.shares) as (with_shared, without):
                with with_shared:
                    _emit_steps(emit, shared, first, step, rest, trips)
                with without:
                    _emit_steps(emit, own, first, step, rest, trips)
    return emit.finish()


def _step_loop_is_outer(outer: _Loop, inner: _Loop) -> Flag:
    """Return whether the outer loop is the better step loop.

    It should share weights; failing that, move the accumulator; and leave the other loop as a reduction. The inner
    loop wins where both are equally good.
    """

    def rank(loop: _Loop, other: _Loop) -> Num:
        return loop.shares.as_num() * 4 + loop.moves.as_num() * 2 + other.reduces.as_num()

    return rank(outer, inner) > rank(inner, outer)


def _emit_steps(
    emit: Emitter, blocks: list[tuple[Block, Any]], first: list[Num], step: _Loop, rest: _Loop, trips: Num
) -> None:
    """Run all steps in the largest blocks that still fit, or one by one if they share an accumulator element."""
    position = emit.variable()
    for block, function in blocks:
        with emit.repeat() as loop:
            done = position.num
            loop.stop_unless(done + block.steps <= step.count)
            if block.steps > 1:
                loop.stop_unless(step.dst.differs(0))
            indices = [
                start + done * factor for start, factor in zip(first, (step.dst, step.src, step.wgt), strict=True)
            ]
            emit.call(
                function, emit.arguments["arena"], *indices, step.dst, step.src, step.wgt, trips, rest.src, rest.wgt
            )
            position.assign(done + block.steps)
