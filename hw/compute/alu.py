"""The tensor ALU: one tile a cycle with an immediate or with two accumulator operands.

Tests: ``tests/hw/compute/test_stage_alu.py``, ``tests/hw/compute/test_stage_order.py``,
``tests/hw/compute/test_stage_accounting.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from hw.accumulator import place_of, tile_write_layout
from hw.compute.alu_conflicts import AluConflicts, AluMoves, unless
from hw.compute.alu_lane import LANE_LATENCY, LANE_MULTIPLIERS, AluLane
from hw.compute.fused_lane import FUSED_LATENCY, FusedLane
from hw.compute.gemm import WRITE_DELAY
from hw.compute.jobs import TAG_WIDTH, done_layout, job_layout
from hw.compute.loop_nest import LoopNest
from hw.compute.pair_steps import PairSteps, pair_step_layout
from hw.layouts import instruction_struct, uop_struct
from hw.skid import Skid
from hw.stream_register import StreamRegister
from isa.config import VTAConfig
from isa.layout import ALU_OPCODE, IMMEDIATE

__all__ = ["TensorAlu", "alu_write_delay"]

_PATIENCE = 16
"""Cycles of waiting for a bank after which GEMM is asked to leave out a step."""


def alu_write_delay(config: VTAConfig) -> int:
    """Return the cycles from the read of a destination to the write of its result."""
    return 2 + (FUSED_LATENCY if config.fused_alu else LANE_LATENCY)


def _meta_layout(config: VTAConfig) -> data.StructLayout:
    """Return what goes along with every step."""
    opcode, immediate = ALU_OPCODE.width, signed(IMMEDIATE.width)
    flags = {"fused": 1} if config.fused_alu else {}
    return data.StructLayout({"tag": TAG_WIDTH, "opcode": opcode, "use_imm": 1, "imm": immediate, **flags})


@dataclass(frozen=True, slots=True)
class _Operation:
    """A step whose addresses are known, in one stage of the pipeline."""

    valid: Signal
    dst: Signal
    meta: Any
    last: Signal


class TensorAlu(wiring.Component):
    """Applies an operation for every step of an instruction's loops.

    A destination's read is followed by its write ``alu_write_delay`` cycles later; nothing stalls in between. Before
    it, a step waits in one of two places: X, where its source is read, and Y, where its source is known. From X it goes
    on at once if both operands can be read in one cycle. So one of the two ways always keeps source and destination of
    a long run out of each other's bank, and a run takes one cycle a tile. A source that equals the source before it is
    not read again. A step that reads what an earlier one has not written yet waits.

    With fused steps, a step that reads the second operand of those behind it (``PairSteps``) goes to X and no further.

    Parameters
    ----------
    config : VTAConfig
        Sizes.
    multipliers : tuple of int
        Multipliers of each lane; None: as many as it has use for.
    wide_multipliers : bool
        They have 25 by 18 bits, and not 18 by 18.

    Members
    -------
    job : In(stream of job_layout)
        ALU instructions, none of them with a zero extent.
    uop_enable, uop_address, uop_data : Out, Out, In
        Read port of the micro-op memory (data in the next cycle, held until the next read).
    dst_read, dst_address, dst_grant, dst_data : Out, Out, In, In
        Read of a destination, granted in the same cycle, data in the next one.
    src_read, src_address, src_grant, src_data : Out, Out, In, In
        Read of a source; never granted in a bank that ``dst_read`` asks for.
    write, write_tile : Out
        Write of a result; never refused.
    bubble : Out(1)
        GEMM should leave out a step: a read has waited long.
    done : Out(done_layout)
        The last result of a job is being written.
    working : Out(1)
        A destination is being read.
    """

    def __init__(
        self, config: VTAConfig, *, multipliers: tuple[int, ...] | None = None, wide_multipliers: bool = False
    ) -> None:
        self.config = config
        every = (LANE_MULTIPLIERS,) * (config.batch * config.block_out)
        self.multipliers = every if multipliers is None else multipliers
        self.wide_multipliers = wide_multipliers
        acc = config.log_acc_depth
        tile = config.acc_elem_bits
        super().__init__(
            {
                "job": In(stream.Signature(job_layout())),
                "uop_enable": Out(1),
                "uop_address": Out(config.log_uop_depth),
                "uop_data": In(32),
                "dst_read": Out(1),
                "dst_address": Out(acc),
                "dst_grant": In(1),
                "dst_data": In(tile),
                "src_read": Out(1),
                "src_address": Out(acc),
                "src_grant": In(1),
                "src_data": In(tile),
                "write": Out(1),
                "write_tile": Out(tile_write_layout(address_width=acc, tile_width=tile)),
                "bubble": Out(1),
                "done": Out(done_layout()),
                "working": Out(1),
            }
        )

    def _operation(self, name: str) -> _Operation:
        """Return the registers of a stage."""
        return _Operation(
            valid=Signal(name=f"{name}_valid"),
            dst=Signal(self.config.log_acc_depth, name=f"{name}_dst", reset_less=True),
            meta=Signal(_meta_layout(self.config), name=f"{name}_meta", reset_less=True),
            last=Signal(name=f"{name}_last", reset_less=True),
        )

    def elaborate(self, platform: Any) -> Module:
        """Build fetch, the two waiting places and the pipeline that follows them."""
        m = Module()
        x = self._operation("x")
        y = self._operation("y")
        delay = alu_write_delay(self.config)
        flight = [self._operation(f"flight_{index}") for index in range(1, delay + 1)]
        src = Signal(self.config.log_acc_depth, reset_less=True)
        x_leaves = Signal()
        following, second = self._front(m, x, src, x_leaves)
        conflicts = AluConflicts(delay)
        known = conflicts.known
        fresh = Signal()
        held = self._source_register(m, fresh, "held")

        at_once = Signal()
        y_leaves = Signal()
        moves = Signal()
        clash = Signal()
        src_clash = Signal()
        m.d.comb += [
            self.dst_address.eq(Mux(y.valid, y.dst, x.dst)),
            self.src_address.eq(src),
            clash.eq(Mux(y.valid, conflicts.y_dst_waits, conflicts.x_dst_waits)),
            src_clash.eq(conflicts.x_src_waits | conflicts.src_in_y),
            self.dst_read.eq(~clash & (y.valid | (unless(second, x.valid) & (known | (~src_clash & conflicts.apart))))),
            self.src_read.eq(x.valid & ~known & ~src_clash & (~y.valid | self.dst_grant)),
            y_leaves.eq(y.valid & self.dst_grant),
            at_once.eq(x.valid & ~y.valid & self.dst_grant & (known | self.src_grant)),
            moves.eq(y_leaves | at_once),
            x_leaves.eq(x.valid & (~y.valid | y_leaves) & (known | self.src_grant)),
            self.working.eq(moves if second is None else moves | (x_leaves & second)),
        ]
        to_y = unless(second, x_leaves & ~at_once)
        moved = AluMoves(x_loads=~x.valid | x_leaves, x_leaves=x_leaves, at_once=at_once, to_y=to_y, y_leaves=y_leaves)
        conflicts.update(m, moved, following=following, x=x, src=src, second=second, y=y, flight=flight)
        with m.If(~y.valid | y_leaves):
            m.d.sync += [y.valid.eq(to_y), y.dst.eq(x.dst), y.meta.eq(x.meta), y.last.eq(x.last)]
        denied = (self.dst_read & ~self.dst_grant) | (self.src_read & ~self.src_grant)
        self._patience(m, waits=denied, moves=moves | x_leaves)
        m.d.sync += fresh.eq(self.src_grant)
        first = flight[0]
        takes_fresh = Signal(reset_less=True)
        m.d.sync += [
            first.valid.eq(moves),
            first.dst.eq(self.dst_address),
            first.meta.eq(Mux(y.valid, y.meta.as_value(), x.meta.as_value())),
            first.last.eq(Mux(y.valid, y.last, x.last)),
            takes_fresh.eq(self.src_grant & ~y.valid),
        ]
        pair: Value = Const(0)
        if second is not None:
            fresh_second = Signal()
            m.d.sync += fresh_second.eq(self.src_grant & second)
            pair = self._source_register(m, fresh_second, "held_second")
        self._compute(m, flight, Mux(takes_fresh, self.src_data, held), pair)
        return m

    def _front(self, m: Module, x: _Operation, src: Signal, x_leaves: Signal) -> tuple[Any, Value | None]:
        """Walk the loops, fetch micro-ops, and fill X.

        Return what X takes next, and whether what is in X only reads a second operand, None if nothing ever does.
        """
        config = self.config
        acc = config.log_acc_depth
        meta_width = _meta_layout(config).size
        m.submodules.nest = nest = LoopNest(
            uop_width=config.log_uop_depth, operands={"dst": acc, "src": acc}, meta_width=meta_width
        )
        insn = data.View(instruction_struct(config, "ALU"), self.job.p.insn)
        fused = [insn.fused] if config.fused_alu else []
        meta = Cat(self.job.p.tag, insn.alu_opcode, insn.use_imm, insn.imm, *fused)
        m.d.comb += [
            nest.job.valid.eq(self.job.valid),
            self.job.ready.eq(nest.job.ready),
            nest.job.p.meta.eq(meta),
        ]
        for name in nest.job.payload.shape().members:
            if name != "meta":
                m.d.comb += nest.job.p[name].eq(insn[name])
        step = nest.steps.p
        valid = Signal(name="fetched_valid")
        fetched = Signal(nest.steps.payload.shape(), reset_less=True)
        leaves = Signal(name="fetched_leaves")
        m.d.comb += [
            nest.steps.ready.eq(~valid | leaves),
            self.uop_enable.eq(nest.steps.valid & nest.steps.ready),
            self.uop_address.eq(step.uop),
        ]
        with m.If(nest.steps.ready):
            m.d.sync += [valid.eq(nest.steps.valid), fetched.eq(step)]
        uop = data.View(uop_struct(config), self.uop_data)
        shape = data.StructLayout({"dst": acc, "src": acc, "meta": _meta_layout(config), "last": 1})
        if config.fused_alu:
            shape = pair_step_layout(address_width=acc, meta=_meta_layout(config))
        # The addresses come from a memory and an adder: they are compared in a cycle of their own.
        m.submodules.fetched = register = StreamRegister(shape)
        # Keeps a step while X is taken, so that nothing before it waits for a grant of the same cycle.
        m.submodules.following = place = Skid(shape)
        for name in ("dst", "src"):
            address = Signal(acc, name=f"{name}_address")
            m.d.comb += [
                address.eq(uop[name] + fetched.offsets[name]),
                register.source.p[name].eq(address if config.fused_alu else place_of(address)),
            ]
        m.d.comb += [
            register.source.valid.eq(valid),
            leaves.eq(register.source.ready),
            register.source.p.meta.eq(fetched.meta),
            register.source.p.last.eq(fetched.last),
        ]
        second: Value | None = None
        if config.fused_alu:
            second = Signal(name="x_second", reset_less=True)
            m.submodules.pairs = pairs = PairSteps(address_width=acc, meta=_meta_layout(config))
            connect(m, register.sink, pairs.steps)
            connect(m, pairs.sink, place.source)
            m.d.comb += [place.source.p[name].eq(place_of(pairs.sink.p[name])) for name in ("dst", "src")]
            with m.If(place.sink.ready):
                m.d.sync += second.eq(place.sink.p.second)
        else:
            connect(m, register.sink, place.source)
        following = place.sink.p
        m.d.comb += place.sink.ready.eq(~x.valid | x_leaves)
        with m.If(place.sink.ready):
            m.d.sync += [
                x.valid.eq(place.sink.valid),
                x.dst.eq(following.dst),
                src.eq(following.src),
                x.meta.eq(following.meta),
                x.last.eq(following.last),
            ]
        return following, second

    def _source_register(self, m: Module, fresh: Signal, name: str) -> Signal:
        """Return the register that keeps what was read in the cycle before the last one with ``fresh``."""
        held = Signal(self.config.acc_elem_bits, name=name, reset_less=True)
        with m.If(fresh):
            m.d.sync += held.eq(self.src_data)
        return held

    def _patience(self, m: Module, *, waits: Value, moves: Value) -> None:
        """Ask GEMM for a step after a while without progress."""
        cycles = Signal(5)
        # One step for the read, one for the write.
        second = _PATIENCE + alu_write_delay(self.config) - WRITE_DELAY
        m.d.comb += self.bubble.eq((cycles == _PATIENCE) | (cycles == second))
        with m.If(moves | ~waits):
            m.d.sync += cycles.eq(0)
        with m.Else():
            m.d.sync += cycles.eq(cycles + 1)

    def _compute(self, m: Module, flight: list[_Operation], source: Value, pair: Value) -> None:
        """Register the operands, compute, and write; ``pair`` is the second operand of fused steps."""
        config = self.config
        for before, after in pairwise(flight):
            m.d.sync += [
                after.valid.eq(before.valid),
                after.dst.eq(before.dst),
                after.meta.eq(before.meta),
                after.last.eq(before.last),
            ]
        width = config.acc_width
        results = []
        imm = flight[0].meta.imm
        for index, multipliers in enumerate(self.multipliers):
            lane = self._lane(m, flight, pair, index, multipliers)
            m.submodules[f"lane_{index}"] = lane
            operand_x = Signal(width, name=f"x_{index}", reset_less=True)
            operand_y = Signal(signed(width), name=f"y_{index}", reset_less=True)
            with m.If(flight[0].valid):  # lanes without work stand still: less power, and a faster simulation
                m.d.sync += [
                    operand_x.eq(self.dst_data.word_select(index, width)),
                    operand_y.eq(Mux(flight[0].meta.use_imm, imm, source.word_select(index, width).as_signed())),
                ]
            m.d.comb += [lane.x.eq(operand_x), lane.y.eq(operand_y), lane.opcode.eq(flight[1].meta.opcode)]
            results.append(lane.result)
        self._write(m, flight[-1], results)

    def _lane(
        self, m: Module, flight: list[_Operation], pair: Value, index: int, multipliers: int
    ) -> AluLane | FusedLane:
        """Return a lane; one that has fused steps gets what these need besides."""
        if not self.config.fused_alu:
            return AluLane(multipliers=multipliers, wide=self.wide_multipliers)
        lane = FusedLane(multipliers=multipliers, wide=self.wide_multipliers)
        width = self.config.acc_width
        operand_z = Signal(width, name=f"z_{index}", reset_less=True)
        with m.If(flight[0].valid & flight[0].meta.fused):
            m.d.sync += operand_z.eq(pair.word_select(index, width))
        now = flight[1].meta
        m.d.comb += [lane.fused.eq(now.fused), lane.z.eq(operand_z), lane.count.eq(now.imm)]
        return lane

    def _write(self, m: Module, end: _Operation, results: list[Value]) -> None:
        """Write what comes out of the lanes."""
        m.d.comb += [
            self.write.eq(end.valid),
            self.write_tile.address.eq(end.dst),
            self.write_tile.data.eq(Cat(results)),
            self.done.valid.eq(end.valid & end.last),
            self.done.tag.eq(end.meta.tag),
        ]
