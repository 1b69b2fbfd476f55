"""ALU in native code: bounds and the operations, one accumulator row after the other.

Operand 0 is ``acc[dst]``, operand 1 the sign-extended immediate or ``acc[src]``. Operations with an immediate touch one
element each, so they may run in any order; others may read what an earlier step wrote, so they keep the order of the
program. A shift by 32 or more gives what the mathematical shift gives. A fused step reads ``acc[src + 1]`` too, and
its immediate is what the result of both operations is shifted by. Tests: ``tests/runtime/sim/test_alu.py``.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, assert_never

from llvmlite import ir

from isa.instructions import FUSED, AluOpcode
from isa.layout import instruction_layouts
from runtime.sim.decode import Fields
from runtime.sim.emit import I32, Emitter, Num, vector
from runtime.sim.failures import Failing
from runtime.sim.geometry import Geometry
from runtime.sim.loops import Loops
from runtime.sim.record import Status, UopField
from runtime.sim.slices import Slices, emit_in_slices

__all__ = ["emit_alu"]

_SWEEP = ("arena", "opcode", "use_imm", "imm", "fused", "dst", "src", "dst_step", "src_step", "count")
_LANES = 16
_UNROLLED = 4


def emit_alu(module: Any, geometry: Geometry) -> Any:
    """Write ``alu(arena, index, low, high)``, which returns a ``Status``."""
    config = geometry.config
    sweep = _emit_sweep(module, geometry)
    emit = Emitter(module, "alu", ("arena", "index", "low", "high"), returns=True)
    failing = Failing(emit)
    halves = (emit.arguments["low"], emit.arguments["high"])
    loops = Loops(emit, geometry, Fields(instruction_layouts(config)["ALU"], halves))
    trips = loops.trips
    with emit.when(failing.get("inside").equals(0)):
        failing.count("alu", 1)
        failing.count("alu_counter", trips)
        failing.leave_if_skipping()
        with emit.when(trips.equals(0)):
            emit.give(Status.DONE)
        with emit.choose(loops.fields["use_imm"].differs(0)) as (immediate, tensor):
            with immediate:
                loops.check(failing, {UopField.DST: config.acc_depth})
            with tensor:
                depths = {UopField.DST: config.acc_depth, UopField.SRC: config.acc_depth}
                loops.check(failing, depths, more_sources=loops.fields["fused"] if config.fused_alu else 0)
    emit_in_slices(failing, trips, lambda slices: _emit_nest(loops, slices, sweep))
    return emit.finish(Status.DONE)


def _emit_nest(loops: Loops, slices: Slices, sweep: Any) -> None:
    """Run the loop nest as sweeps; indices are in range."""
    emit, fields = loops.emit, loops.fields
    # With an immediate or a single micro-op, it sweeps over the whole inner loop; else each sweep is one row.
    in_order = (fields["use_imm"].equals(0)) & (fields["uop_end"] - fields["uop_bgn"] > 1)
    turns = in_order.select(fields["iter_in"], 1)
    length = in_order.select(1, fields["iter_in"])
    fused = fields["fused"] if loops.geometry.config.fused_alu else 0
    operation = (fields["alu_opcode"], fields["use_imm"], fields.signed("imm"), fused)
    with slices.loops(fields["iter_out"], turns, fields["uop_end"] - fields["uop_bgn"]) as place:
        slices.spend(length, place)
        i, j, number = place
        micro_op = loops.micro_op(fields["uop_bgn"] + number)
        first, steps = [], []
        for operand in (UopField.DST, UopField.SRC):
            start = micro_op[operand.name.lower()]
            first.append(start + i * loops.factor(operand, "out") + j * loops.factor(operand, "in"))
            steps.append(loops.factor(operand, "in"))
        emit.call(sweep, emit.arguments["arena"], *operation, *first, *steps, length)


def _emit_sweep(module: Any, geometry: Geometry) -> Any:
    """Write ``alu_sweep``: one operation on ``count`` rows, in order, that start at ``dst`` and ``src``."""
    emit = Emitter(module, "alu_sweep", _SWEEP)
    values = geometry.acc_elem // 4
    kind = vector(min(_LANES, values), I32)
    arguments = emit.arguments
    start = arguments["arena"] + geometry.acc_at
    operation = _Operation(emit, kind)
    immediate = emit.splat(arguments["imm"].truncated(I32), kind)
    for form in _forms(fused=bool(geometry.config.fused_alu)):
        wanted = arguments["opcode"].equals(form.opcode) & arguments["use_imm"].equals(int(form.use_imm))
        wanted = wanted & arguments["fused"].equals(int(form.fused))
        with emit.when(wanted), emit.loop(arguments["count"]) as step:
            dst = start + (arguments["dst"] + step * arguments["dst_step"]) * geometry.acc_elem
            src = start + (arguments["src"] + step * arguments["src_step"]) * geometry.acc_elem
            for offset in _chunks(emit, geometry.acc_elem, kind.count * 4):
                left = emit.load(dst + offset, kind, 4)
                right = immediate if form.use_imm else emit.load(src + offset, kind, 4)
                result = operation.apply(form.opcode, left, right)
                if form.fused:
                    second = emit.load(src + geometry.acc_elem + offset, kind, 4)
                    both = operation.apply(FUSED[form.opcode], result, second)
                    result = operation.apply(AluOpcode.SHR, both, immediate)
                emit.store(dst + offset, result, 4)
    return emit.finish()


@dataclass(frozen=True, slots=True)
class _Form:
    """What decides how the steps of a sweep are done."""

    opcode: AluOpcode
    use_imm: bool
    fused: bool = False


def _forms(*, fused: bool) -> Iterator[_Form]:
    """Yield the forms that words of a configuration have."""
    yield from itertools.starmap(_Form, itertools.product(AluOpcode, (False, True)))
    if fused:
        yield from (_Form(opcode, use_imm=False, fused=True) for opcode in FUSED)


def _chunks(emit: Emitter, nbytes: int, chunk: int) -> Iterator[Num]:
    """Yield the offsets of the chunks of a row: one after the other, or as a loop if there are many."""
    if nbytes // chunk <= _UNROLLED:
        yield from map(emit.num, range(0, nbytes, chunk))
        return
    with emit.loop(nbytes, step=chunk) as offset:
        yield offset


@dataclass(frozen=True, slots=True)
class _Operation:
    """The operations on vectors of type ``kind``."""

    emit: Emitter
    kind: Any

    def apply(self, opcode: AluOpcode, left: Any, right: Any) -> Any:
        """Return ``opcode(left, right)`` lane by lane."""
        builder = self.emit.builder
        match opcode:
            case AluOpcode.MIN:
                return builder.select(builder.icmp_signed("<", left, right), left, right)
            case AluOpcode.MAX:
                return builder.select(builder.icmp_signed(">", left, right), left, right)
            case AluOpcode.ADD:
                return builder.add(left, right)
            case AluOpcode.MUL:
                return builder.mul(left, right)
            case AluOpcode.SHR:
                return self._shift(left, right)
            case _:
                assert_never(opcode)

    def _shift(self, left: Any, count: Any) -> Any:
        """Return ``left >> count``, or ``left << -count`` where ``count`` is negative."""
        builder = self.emit.builder
        zero, most = self._constant(0), self._constant(31)
        # Negating -2^31 gives 2^31, which counts as more than 31 unsigned: the mathematical result, zero.
        opposite = builder.sub(zero, count)
        right = builder.ashr(left, self._at_most(count, most))
        kept = builder.icmp_unsigned("<=", opposite, most)
        shifted = builder.shl(left, self._at_most(opposite, most))
        leftwards = builder.select(kept, shifted, zero)
        return builder.select(builder.icmp_signed("<", count, zero), leftwards, right)

    def _at_most(self, value: Any, limit: Any) -> Any:
        builder = self.emit.builder
        return builder.select(builder.icmp_unsigned("<", value, limit), value, limit)

    def _constant(self, value: int) -> Any:
        return ir.Constant(self.kind, [value] * self.kind.count)
