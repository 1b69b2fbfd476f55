"""The tensor ALU: one tile a cycle with an immediate or with two accumulator operands.

Tests: ``tests/hw/compute/test_stage_alu.py``, ``tests/hw/compute/test_stage_order.py``,
``tests/hw/compute/test_stage_accounting.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from hw.accumulator import bank_of_place, half_place_of, place_of, whole_place
from hw.compute.alu_conflicts import AluConflicts, AluMoves, unless
from hw.compute.alu_lane import LANE_LATENCY, LANE_MULTIPLIERS, AluLane, LanePart, is_done_by
from hw.compute.fused_lane import FUSED_LATENCY, FusedLane
from hw.compute.gemm import WRITE_DELAY
from hw.compute.jobs import TAG_WIDTH, done_layout, job_layout
from hw.compute.loop_nest import LoopNest
from hw.compute.pair_steps import PairSteps, pair_step_layout
from hw.copies import copies_of, parts_of
from hw.layouts import instruction_struct, uop_struct
from hw.skid import Skid
from hw.stream_register import StreamRegister
from isa.config import VTAConfig
from isa.layout import ALU_OPCODE, IMMEDIATE

__all__ = ["TensorAlu", "alu_write_delay"]

_PATIENCE = 16
"""Cycles of waiting for a bank after which GEMM is asked to leave out a step."""


def alu_write_delay(config: VTAConfig) -> int:
    """Return the cycles from the read of a destination to the write of its result.

    They are an even number more than GEMM's: then a step of GEMM that reads beside the ALU and the one that writes
    beside its result use banks of the same parity (``hw.accumulator.place_of``), and the other two banks are free.
    """
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
        Read port of the micro-op memory (data in the next cycle, held until the next read), also without a step.
    dst_read, dst_address, dst_data : Out, Out, In
        Read of a destination, data in the next cycle: GEMM never reads in its bank. Not every one is used.
    src_read, src_address, src_data : Out, Out, In
        Read of a source, the same; never in the bank of a destination's.
    gemm_next, gemm_next_address : In
        GEMM will read this tile in the next cycle.
    gemm_ahead, gemm_ahead_address : In
        GEMM will write this tile in the cycle in which the result of a destination read now will be written.
    write, write_address, write_data : Out
        Write of a result, never refused: the data come in the cycle after the address.
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
                "dst_data": In(tile),
                "src_read": Out(1),
                "src_address": Out(acc),
                "src_data": In(tile),
                "gemm_next": In(1),
                "gemm_next_address": In(acc),
                "gemm_ahead": In(1),
                "gemm_ahead_address": In(acc),
                "write": Out(1),
                "write_address": Out(acc),
                "write_data": Out(tile),
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
        x_loads = Signal()
        following, valid, second = self._front(m, x, src, x_loads)
        conflicts = AluConflicts(delay)
        known = conflicts.known
        fresh = Signal()
        held = self._source_register(m, fresh, "held")

        at_once = Signal()
        y_leaves = Signal()
        x_leaves = Signal()
        to_y = Signal()
        reads_source = Signal()
        # That GEMM will write to the bank of a result is known in the cycle of the read, not before it.
        m.d.comb += [
            self.dst_address.eq(Mux(y.valid, y.dst, x.dst)),
            self.dst_read.eq(Mux(y.valid, conflicts.y_dst, conflicts.x_source & conflicts.x_dst)),
            self.src_address.eq(src),
            self.src_read.eq(conflicts.x_source & ~known & (~y.valid | (conflicts.y_dst & conflicts.x_beside_y))),
            y_leaves.eq(conflicts.y_dst & ~self._ahead(y.dst)),
            x_leaves.eq(conflicts.x_source & (~y.valid | (y_leaves & conflicts.x_beside_y))),
            at_once.eq(conflicts.x_source & conflicts.x_dst & ~y.valid & ~self._ahead(x.dst)),
            to_y.eq(unless(second, x_leaves & ~at_once)),
            x_loads.eq(~x.valid | x_leaves),
            reads_source.eq(x_leaves & ~known),
            self.working.eq(y_leaves | at_once if second is None else y_leaves | at_once | (x_leaves & second)),
        ]
        conflicts.update(
            m,
            AluMoves(x_loads=x_loads, at_once=at_once, to_y=to_y, y_leaves=y_leaves),
            following=following,
            valid=valid,
            x=x,
            src=src,
            second=second,
            y=y,
            flight=flight,
            gemm_next=self.gemm_next,
            gemm_next_address=self.gemm_next_address,
        )
        with m.If(~y.valid | y_leaves):
            m.d.sync += [y.valid.eq(to_y), y.dst.eq(x.dst), y.meta.eq(x.meta), y.last.eq(x.last)]
        self._patience(m, waits=x.valid | y.valid, moves=y_leaves | x_leaves)
        m.d.sync += fresh.eq(reads_source)
        first = flight[0]
        takes_fresh = self._copies(m, reads_source & ~y.valid, "takes_fresh")
        m.d.sync += [
            first.valid.eq(y_leaves | at_once),
            first.dst.eq(self.dst_address),
            first.meta.eq(Mux(y.valid, y.meta.as_value(), x.meta.as_value())),
            first.last.eq(Mux(y.valid, y.last, x.last)),
        ]
        takes_imm = self._copies(m, Mux(y.valid, y.meta.use_imm, x.meta.use_imm), "takes_imm")
        pair: Value = Const(0)
        if second is not None:
            fresh_second = Signal()
            m.d.sync += fresh_second.eq(reads_source & second)
            pair = self._source_register(m, fresh_second, "held_second")
        lanes = len(self.multipliers)
        read = zip(takes_fresh, parts_of(self.src_data, lanes), parts_of(held, lanes), strict=True)
        self._compute(m, flight, Cat(Mux(*each) for each in read), takes_imm, pair)
        return m

    def _copies(self, m: Module, value: Value, name: str) -> list[Value]:
        """Return registers of ``value``, each for some of the lanes."""
        return copies_of(m, value, lanes=len(self.multipliers), name=name)

    def _ahead(self, place: Value) -> Value:
        """Return whether GEMM will write to the bank of ``place`` when a result would be written that is begun now."""
        return self.gemm_ahead & (bank_of_place(self.gemm_ahead_address) == bank_of_place(place))

    def _front(self, m: Module, x: _Operation, src: Signal, x_loads: Signal) -> tuple[Any, Value, Value | None]:
        """Walk the loops, fetch micro-ops, and fill X in cycles with ``x_loads``.

        Return what X takes next, whether that is a step, and whether what is in X only reads a second operand, None if
        nothing ever does.
        """
        # Keeps one while X is taken, so that what reads the micro-ops waits for nothing of the same cycle.
        addressed = self._addressed(m, self._steps(m))
        m.submodules.known = known = Skid(addressed.payload.shape())
        connect(m, addressed, known.source)
        steps = known.sink
        meta = _meta_layout(self.config)
        following: Any = Signal(pair_step_layout(address_width=len(x.dst), meta=meta), name="following")
        second: Value | None = None
        place_in_step: Callable[[Value], Value] = whole_place
        if self.config.fused_alu:
            place_in_step = place_of
            m.submodules.pairs = pairs = PairSteps(address_width=len(x.dst), meta=meta)
            connect(m, known.sink, pairs.steps)
            steps = pairs.sink
            second = Signal(name="x_second", reset_less=True)
            m.d.comb += following.second.eq(steps.p.second)
            with m.If(x_loads):
                m.d.sync += second.eq(following.second)
        m.d.comb += [following[name].eq(place_in_step(steps.p[name])) for name in ("dst", "src")]
        m.d.comb += [steps.ready.eq(x_loads), following.meta.eq(steps.p.meta), following.last.eq(steps.p.last)]
        with m.If(x_loads):
            m.d.sync += [
                x.valid.eq(steps.valid),
                x.dst.eq(following.dst),
                src.eq(following.src),
                x.meta.eq(following.meta),
                x.last.eq(following.last),
            ]
        return following, steps.valid, second

    def _steps(self, m: Module) -> Any:
        """Return the stream of the steps of the loops of every job."""
        config = self.config
        acc = config.log_acc_depth
        m.submodules.nest = nest = LoopNest(
            uop_width=config.log_uop_depth,
            operands={"dst": acc, "src": acc},
            meta_width=_meta_layout(config).size,
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
        # Keeps a step while X is taken, so that the loops wait for nothing of the same cycle.
        m.submodules.steps = place = Skid(nest.steps.payload.shape())
        connect(m, nest.steps, place.source)
        return place.sink

    def _addressed(self, m: Module, steps: Any) -> Any:
        """Fetch the micro-op of each step; return the stream of what it does where.

        The addresses come from a memory and an adder: they are compared in a cycle of their own, in which they become
        places as well.
        """
        config = self.config
        acc = config.log_acc_depth
        valid = Signal(name="fetched_valid")
        fetched = Signal(steps.payload.shape(), reset_less=True)
        half = acc + 1
        shape = data.StructLayout({"dst": half, "src": half, "meta": _meta_layout(config), "last": 1})
        if config.fused_alu:
            shape = pair_step_layout(address_width=acc, meta=_meta_layout(config))
        m.submodules.fetched = register = StreamRegister(shape)
        m.d.comb += [
            steps.ready.eq(~valid | register.source.ready),
            self.uop_enable.eq(steps.ready),
            self.uop_address.eq(steps.p.uop),
            register.source.valid.eq(valid),
            register.source.p.meta.eq(fetched.meta),
            register.source.p.last.eq(fetched.last),
        ]
        with m.If(steps.ready):
            m.d.sync += [valid.eq(steps.valid), fetched.eq(steps.p)]
        uop = data.View(uop_struct(config), self.uop_data)
        for name in ("dst", "src"):
            address = Signal(acc, name=f"{name}_address")
            m.d.comb += [
                address.eq(uop[name] + fetched.offsets[name]),
                register.source.p[name].eq(address if config.fused_alu else half_place_of(address)),
            ]
        return register.sink

    def _source_register(self, m: Module, fresh: Signal, name: str) -> Signal:
        """Return the register that keeps what was read in the cycle before the last one with ``fresh``."""
        held = Signal(self.config.acc_elem_bits, name=name, reset_less=True)
        with m.If(fresh):
            m.d.sync += held.eq(self.src_data)
        return held

    def _patience(self, m: Module, *, waits: Value, moves: Value) -> None:
        """Ask GEMM for a step after a while without progress."""
        cycles = Signal(5)
        moved = Signal()
        # One step for the read, one for the write. It shows two cycles later that nothing has moved.
        first = _PATIENCE - 2
        second = first + alu_write_delay(self.config) - WRITE_DELAY
        m.d.sync += [
            moved.eq(moves),
            cycles.eq(Mux(moved | ~waits, 0, cycles + 1)),
            self.bubble.eq(~moved & ((cycles == first) | (cycles == second))),
        ]

    def _compute(self, m: Module, flight: list[_Operation], source: Value, takes_imm: list[Value], pair: Value) -> None:
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
        opcode = flight[0].meta.opcode
        is_shift = is_done_by(LanePart.SHIFTER, opcode)
        adds = self._copies(m, is_done_by(LanePart.SUM, opcode) | is_shift, "adds")
        shifts = self._copies(m, is_shift, "shifts")
        for index, multipliers in enumerate(self.multipliers):
            lane = self._lane(m, flight, pair, index, multipliers)
            copy = index * len(takes_imm) // len(self.multipliers)
            m.submodules[f"lane_{index}"] = lane
            operand_x = Signal(width, name=f"x_{index}", reset_less=True)
            operand_y = Signal(signed(width), name=f"y_{index}", reset_less=True)
            with m.If(flight[0].valid):  # lanes without work stand still: less power, and a faster simulation
                m.d.sync += [
                    operand_x.eq(self.dst_data.word_select(index, width)),
                    operand_y.eq(Mux(takes_imm[copy], imm, source.word_select(index, width).as_signed())),
                ]
            m.d.comb += [lane.x.eq(operand_x), lane.y.eq(operand_y), lane.opcode.eq(flight[1].meta.opcode)]
            if isinstance(lane, AluLane):
                m.d.comb += [lane.adds.eq(adds[copy]), lane.shifts.eq(shifts[copy])]
            results.append(lane.result)
        self._write(m, flight[-2], flight[-1], results)

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

    def _write(self, m: Module, before: _Operation, end: _Operation, results: list[Value]) -> None:
        """Write what comes out of the lanes."""
        m.d.comb += [
            self.write.eq(before.valid),
            self.write_address.eq(before.dst),
            self.write_data.eq(Cat(results)),
            self.done.valid.eq(end.valid & end.last),
            self.done.tag.eq(end.meta.tag),
        ]
