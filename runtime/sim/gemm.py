"""GEMM in native code: bounds, reset, and the choice of blocks.

Inputs and weights are only read and additions commute modulo 2^32, so the steps of the loop nest may run in any
order. Of the two loops one becomes the *step* loop of a block (it must move the accumulator) and the other one the
reduction (if it leaves the accumulator alone) or an outer loop. A step loop that leaves the weights alone is best:
they are loaded once a block. Tests: ``tests/runtime/sim/test_gemm.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from isa.instructions import MemoryId
from isa.layout import instruction_layouts
from runtime.sim.decode import Fields
from runtime.sim.emit import Emitter, Flag, Num
from runtime.sim.failures import Failing
from runtime.sim.gemm_block import Block, block_shapes, emit_block
from runtime.sim.gemm_depthwise import emit_depthwise_step
from runtime.sim.geometry import Geometry
from runtime.sim.loops import Loops
from runtime.sim.record import Status, UopField
from runtime.sim.slices import Slices, emit_in_slices, emit_whole_or_sliced

__all__ = ["emit_gemm"]

_LOG_STEPS = 6
_STEPS = 1 << _LOG_STEPS
"""Steps of a slice; each has up to 2^14 trips."""

_Blocks: TypeAlias = list[tuple[Block, Any]]
"""Shapes of blocks, and the function of each."""

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
        with emit.when(failing.get("inside").equals(0)):
            failing.count("gemm_reset", 1)
            failing.leave_if_skipping()
            with emit.when(trips.equals(0)):
                emit.give(Status.DONE)
            loops.check(failing, {_DST: config.acc_depth})
        emit_in_slices(failing, trips, lambda slices: _emit_reset(loops, slices))
        emit.give(Status.DONE)
    with emit.when(failing.get("inside").equals(0)):
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
        loops.check(failing, depths, more_sources=_more_inputs(loops))
    _emit_boxes(loops, failing, products)
    return emit.finish(Status.DONE)


def _more_inputs(loops: Loops) -> Num | int:
    """Return how many inputs a step reads beside the one that its index says."""
    taps = loops.geometry.config.depthwise_taps
    return loops.fields["depthwise"] * (taps - 1) if taps else 0


def _emit_boxes(loops: Loops, failing: Failing, products: Any) -> None:
    """Do the whole nest in one call of ``products``; or, where that takes long, some steps in each."""
    emit, nest = loops.emit, _Nest.of(loops)
    words = [emit.arguments[name] for name in ("arena", "low", "high")]

    def whole() -> None:
        emit.call(products, *words, 0, nest.uops, 0, nest.around, 0, nest.step.count)

    def sliced(slices: Slices) -> None:
        parts = (nest.step.count + _STEPS - 1) >> _LOG_STEPS
        with slices.loops(nest.uops, nest.around, parts) as place:
            slices.spend(nest.trips * _STEPS, place)
            uop, turn, part = place
            begin = part << _LOG_STEPS
            end = (begin + _STEPS).minimum(nest.step.count)
            emit.call(products, *words, uop, uop + 1, turn, turn + 1, begin, end)

    emit_whole_or_sliced(failing, loops.trips, whole, sliced)


def _emit_reset(loops: Loops, slices: Slices) -> None:
    """Zero every accumulator element that the loops reach; a loop that stays in place runs once."""
    emit, geometry = loops.emit, loops.geometry
    start = emit.arguments["arena"] + geometry.acc_at
    turns, length = (
        loops.factor(_DST, loop).equals(0).select(1, loops.fields[f"iter_{loop}"]) for loop in ("out", "in")
    )
    with slices.loops(loops.fields["uop_end"] - loops.fields["uop_bgn"], turns) as (number, outer):
        slices.spend(length, [number, outer])
        dst = loops.micro_op(loops.fields["uop_bgn"] + number)["dst"]
        with emit.loop(length) as inner:
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


@dataclass(frozen=True, slots=True)
class _Nest:
    """How the steps of an instruction are done: micro-ops, turns ``around``, steps, and ``trips`` of each step.

    The loop that is not the step loop is the reduction, or runs around everything if it moves the accumulator too.
    """

    uops: Num
    around: Num
    step: _Loop
    rest: _Loop
    trips: Num

    @staticmethod
    def of(loops: Loops) -> "_Nest":
        """Return the nest of the instruction whose ``loops`` are given."""
        outer, inner = _Loop.of(loops, "out"), _Loop.of(loops, "in")
        steps_outside = _step_loop_is_outer(outer, inner)
        step, rest = outer.or_other(steps_outside, inner), inner.or_other(steps_outside, outer)
        in_place = rest.dst.equals(0)
        uops = loops.fields["uop_end"] - loops.fields["uop_bgn"]
        return _Nest(uops, in_place.select(1, rest.count), step, rest, in_place.select(rest.count, 1))


_BOX = ("uop", "uops", "turn", "turns", "step", "steps")
"""Where a call of ``gemm_products`` begins in each loop of the nest, and where it ends."""


def _emit_products(module: Any, geometry: Geometry) -> Any:
    """Write ``gemm_products(arena, low, high, ...)``: a box of a nest whose bounds hold."""
    shapes = block_shapes(geometry)
    functions = {block: emit_block(module, geometry, block) for block in dict.fromkeys((*shapes[0], *shapes[1]))}
    shared, own = ([(block, functions[block]) for block in blocks] for blocks in shapes)
    emit = Emitter(module, "gemm_products", ("arena", "low", "high", *_BOX))
    arguments = emit.arguments
    fields = Fields(instruction_layouts(geometry.config)["GEMM"], (arguments["low"], arguments["high"]))
    loops = Loops(emit, geometry, fields)
    nest = _Nest.of(loops)
    if geometry.config.depthwise_taps:
        step = emit_depthwise_step(module, geometry)
        with emit.choose(fields["depthwise"].differs(0)) as (lane_by_lane, matrix):
            with lane_by_lane:
                _emit_box(loops, nest, lambda first: _emit_depthwise(emit, step, first, nest))
            with matrix:
                _emit_box(loops, nest, lambda first: _emit_matrix(emit, shared, own, first, nest))
    else:
        _emit_box(loops, nest, lambda first: _emit_matrix(emit, shared, own, first, nest))
    return emit.finish()


def _emit_box(loops: Loops, nest: _Nest, steps: Callable[[list[Num]], None]) -> None:
    """Run ``steps`` for each micro-op and turn of the box, with the indices that they begin at."""
    emit, arguments = loops.emit, loops.emit.arguments
    with emit.loop(arguments["uops"], begin=arguments["uop"]) as number:
        micro_op = loops.micro_op(loops.fields["uop_bgn"] + number)
        with emit.loop(arguments["turns"], begin=arguments["turn"]) as turn:
            factors = (nest.rest.dst, nest.rest.src, nest.rest.wgt)
            steps([micro_op[name] + turn * factor for name, factor in zip(("dst", "src", "wgt"), factors, strict=True)])


def _emit_matrix(emit: Emitter, shared: _Blocks, own: _Blocks, first: list[Num], nest: _Nest) -> None:
    """Run the steps of the box as products of a vector and a matrix."""
    with emit.choose(nest.step.shares) as (with_shared, without):
        with with_shared:
            _emit_steps(emit, shared, first, nest)
        with without:
            _emit_steps(emit, own, first, nest)


def _emit_depthwise(emit: Emitter, function: Any, first: list[Num], nest: _Nest) -> None:
    """Run the steps of the box lane by lane."""
    step, rest = nest.step, nest.rest
    with emit.loop(emit.arguments["steps"], begin=emit.arguments["step"]) as done:
        indices = [start + done * factor for start, factor in zip(first, (step.dst, step.src, step.wgt), strict=True)]
        emit.call(function, emit.arguments["arena"], *indices, nest.trips, rest.src, rest.wgt)


def _step_loop_is_outer(outer: _Loop, inner: _Loop) -> Flag:
    """Return whether the outer loop is the better step loop.

    It should share weights; failing that, move the accumulator; and leave the other loop as a reduction. The inner
    loop wins where both are equally good.
    """

    def rank(loop: _Loop, other: _Loop) -> Num:
        return loop.shares.as_num() * 4 + loop.moves.as_num() * 2 + other.reduces.as_num()

    return rank(outer, inner) > rank(inner, outer)


def _emit_steps(emit: Emitter, blocks: _Blocks, first: list[Num], nest: _Nest) -> None:
    """Run the steps of the box in the largest blocks that still fit, or one by one if they share an accumulator."""
    step, rest = nest.step, nest.rest
    position = emit.variable(emit.arguments["step"])
    for block, function in blocks:
        with emit.repeat() as loop:
            done = position.num
            loop.stop_unless(done + block.steps <= emit.arguments["steps"])
            if block.steps > 1:
                loop.stop_unless(step.dst.differs(0))
            indices = [
                start + done * factor for start, factor in zip(first, (step.dst, step.src, step.wgt), strict=True)
            ]
            factors = (step.dst, step.src, step.wgt, nest.trips, rest.src, rest.wgt)
            emit.call(function, emit.arguments["arena"], *indices, *factors)
            position.assign(done + block.steps)
