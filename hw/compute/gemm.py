"""The GEMM core: one micro-op a cycle, exact at every distance between two uses of one accumulator.

Tests: ``tests/hw/compute/test_stage_gemm.py``, ``tests/hw/compute/test_stage_order.py``,
``tests/hw/compute/test_stage_accounting.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.accumulator import half_place_of, whole_place
from hw.compute.depthwise_lanes import DepthwiseLanes
from hw.compute.jobs import TAG_WIDTH, done_layout, job_layout
from hw.compute.loop_nest import LoopNest
from hw.compute.mac_row import MacRow, dot_latency
from hw.copies import copies_of, parts_of
from hw.errors import ComponentError
from hw.layouts import instruction_struct, uop_struct
from isa.config import VTAConfig

__all__ = ["WRITE_DELAY", "GemmCore"]

WRITE_DELAY = 3
"""Cycles from the read of a destination to its write."""


@dataclass(frozen=True, slots=True)
class _Stage:
    """What is known of the operation in one pipeline stage."""

    valid: Signal
    dst: Signal
    reset: Signal
    last: Signal
    tag: Signal


class GemmCore(wiring.Component):
    """Multiplies, or clears, for every step of an instruction's loops.

    A job's first micro-op is read one cycle after the job was taken and every step follows the one before it by one
    cycle, across jobs, too; a depthwise step takes no longer than others. With D the latency of the dot product, the
    accumulator is read D + 2 + ``lead`` cycles after the micro-op and written ``WRITE_DELAY`` cycles later. The
    pipeline never stalls; ``bubble`` leaves out one step.

    Parameters
    ----------
    config : VTAConfig
        Sizes.
    share_multipliers : bool
        Two weight rows share their multipliers.
    multipliers : int
        Multipliers that there are, spread evenly over the rows; None: as many as there is use for.
    ahead : int
        How many cycles before its read an operation shows at ``ahead``.
    lead : int
        Cycles that addresses wait, so that a destination is known that much further ahead.

    Members
    -------
    job : In(stream of job_layout)
        GEMM instructions, none of them with a zero extent.
    bubble : In(1)
        Begin no step in this cycle.
    uop_enable, uop_address, uop_data : Out, Out, In
        Read port of the micro-op memory (data in the next cycle).
    operand_enable, inp_address, inp_data, wgt_address, wgt_data : Out, Out, In, Out, In
        Read ports of the scratchpads (data in the next cycle); inputs are those of all taps, the addressed one first.
    acc_read, acc_address, acc_data : Out, Out, In
        Read of the destination (data in the next cycle); the address, as all of the accumulator, is a place of it.
    acc_next, acc_next_address : Out
        The destination that will be read in the next cycle.
    acc_ahead, acc_ahead_address : Out
        The destination that will be read ``ahead`` cycles from now.
    acc_write, acc_write_address, acc_write_data : Out
        Write of the result: the data come in the cycle after the address.
    done : Out(done_layout)
        The last result of a job is being written.
    working : Out(1)
        A step begins.
    """

    def __init__(
        self,
        config: VTAConfig,
        *,
        ahead: int,
        lead: int = 0,
        share_multipliers: bool = False,
        multipliers: int | None = None,
    ) -> None:
        self.config = config
        self.share_multipliers = share_multipliers
        self.multipliers = multipliers
        self.latency = dot_latency(config.block_in)
        most = self.latency + 1 + lead
        if not 0 <= ahead <= most:
            raise ComponentError(f"GemmCore knows a destination up to {most} cycles ahead, not {ahead}")
        self.ahead = ahead
        self.lead = lead
        self.rows = 2 if share_multipliers and config.block_out > 1 else 1
        if config.depthwise_taps * self.rows > config.block_in:
            raise ComponentError(
                f"GemmCore with shared multipliers has lanes for {config.block_in // 2} depthwise taps, not "
                f"{config.depthwise_taps}; set DEPTHWISE_TAPS or share_multipliers to less"
            )
        acc = config.log_acc_depth
        super().__init__(
            {
                "job": In(stream.Signature(job_layout())),
                "bubble": In(1),
                "uop_enable": Out(1),
                "uop_address": Out(config.log_uop_depth),
                "uop_data": In(32),
                "operand_enable": Out(1),
                "inp_address": Out(config.log_inp_depth),
                "inp_data": In(max(1, config.depthwise_taps) * config.inp_elem_bits),
                "wgt_address": Out(config.log_wgt_depth),
                "wgt_data": In(config.wgt_elem_bits),
                "acc_read": Out(1),
                "acc_address": Out(acc),
                "acc_data": In(config.acc_elem_bits),
                "acc_next": Out(1),
                "acc_next_address": Out(acc),
                "acc_ahead": Out(1),
                "acc_ahead_address": Out(acc),
                "acc_write": Out(1),
                "acc_write_address": Out(acc),
                "acc_write_data": Out(config.acc_elem_bits),
                "done": Out(done_layout()),
                "working": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the pipeline: micro-op, addresses, operands, dot product, accumulator."""
        m = Module()
        fetched, half, lane_by_lane = self._front(m)
        stages = [fetched]
        for index in range(2, self.latency + 6 + self.lead):
            stages.append(self._next_stage(m, stages[-1], index, half=half if index == 2 else None))
        read = self.latency + 1 + self.lead
        at_read, at_pick, at_sum, at_write = stages[read:]
        early = stages[read - self.ahead]
        m.d.comb += [
            self.acc_read.eq(at_read.valid),
            self.acc_address.eq(at_read.dst),
            self.acc_next.eq(stages[read - 1].valid),
            self.acc_next_address.eq(stages[read - 1].dst),
            self.acc_ahead.eq(early.valid),
            self.acc_ahead_address.eq(early.dst),
            self.acc_write.eq(at_sum.valid),
            self.acc_write_address.eq(at_sum.dst),
            self.done.valid.eq(at_write.valid & at_write.last),
            self.done.tag.eq(at_write.tag),
        ]
        self._accumulate(m, self._dots(m, lane_by_lane), at_read, at_pick, at_sum, at_write)
        return m

    def _front(self, m: Module) -> tuple[_Stage, Value, Value]:
        """Walk the loops, fetch the micro-op and add the offsets; return the stage in which its index is known.

        And half the place of its destination, and whether the operation in this stage is a depthwise one.
        """
        config = self.config
        operands = {"dst": config.log_acc_depth, "src": config.log_inp_depth, "wgt": config.log_wgt_depth}
        flags = 2 if config.depthwise_taps else 1
        nest = LoopNest(uop_width=config.log_uop_depth, operands=operands, meta_width=TAG_WIDTH + flags)
        m.submodules.nest = nest
        insn = data.View(instruction_struct(config, "GEMM"), self.job.p.insn)
        m.d.comb += [
            nest.job.valid.eq(self.job.valid),
            self.job.ready.eq(nest.job.ready),
            nest.job.p.meta.eq(Cat(self.job.p.tag, insn.reset, *([insn.depthwise] if config.depthwise_taps else []))),
        ]
        for name in nest.job.payload.shape().members:
            if name != "meta":
                m.d.comb += nest.job.p[name].eq(insn[name])
        step = nest.steps.p
        m.d.comb += [
            nest.steps.ready.eq(~self.bubble),
            self.working.eq(nest.steps.valid & ~self.bubble),
            self.uop_enable.eq(self.working),
            self.uop_address.eq(step.uop),
        ]
        valid = Signal(name="valid_1")
        offsets = Signal(step.offsets.shape(), reset_less=True)
        meta = Signal(TAG_WIDTH + flags, name="meta_1", reset_less=True)
        last = Signal(name="last_1", reset_less=True)
        m.d.sync += [valid.eq(self.working), offsets.eq(step.offsets), meta.eq(step.meta), last.eq(step.last)]
        uop = data.View(uop_struct(config), self.uop_data)
        dst = Signal(config.log_acc_depth, name="dst_1")
        address = Signal(config.log_acc_depth, name="address_1")
        half = half_place_of(address)
        m.d.comb += [address.eq(uop.dst + offsets.dst), dst.eq(whole_place(half))]
        # What comes from a memory waits where it comes, and is added up in a cycle of its own then.
        terms = [term for name in ("src", "wgt") for term in (uop[name], offsets[name])]
        enable, lane_by_lane, src, inp_offset, row, wgt_offset = self._waiting(m, valid, meta[TAG_WIDTH + 1 :], *terms)
        # A register of its own, without a reset as that of the next stage has one: it leads to every scratchpad.
        operands = Signal(name="operands", reset_less=True)
        m.d.sync += [
            operands.eq(enable),
            self.inp_address.eq(src + inp_offset),
            self.wgt_address.eq(row + wgt_offset),
        ]
        m.d.comb += self.operand_enable.eq(operands)
        stage = _Stage(valid=valid, dst=dst, reset=meta[TAG_WIDTH], last=last, tag=meta[:TAG_WIDTH])
        return stage, half, lane_by_lane

    def _waiting(self, m: Module, *values: Value) -> list[Value]:
        """Return the values ``lead`` cycles later."""
        found = list(values)
        for cycle in range(self.lead):
            for index, value in enumerate(found):
                found[index] = Signal(len(value), name=f"waiting_{index}_{cycle}", reset_less=index > 0)
                m.d.sync += found[index].eq(value)
        return found

    def _next_stage(self, m: Module, before: _Stage, index: int, *, half: Value | None) -> _Stage:
        """Return the stage after ``before``; with ``half`` its place was not whole yet, and becomes so in this one."""
        stage = _Stage(
            valid=Signal(name=f"valid_{index}"),
            dst=Signal(self.config.log_acc_depth, name=f"dst_{index}", reset_less=True),
            reset=Signal(name=f"reset_{index}", reset_less=True),
            last=Signal(name=f"last_{index}", reset_less=True),
            tag=Signal(TAG_WIDTH, name=f"tag_{index}", reset_less=True),
        )
        m.d.sync += [
            stage.valid.eq(before.valid),
            stage.reset.eq(before.reset),
            stage.last.eq(before.last),
            stage.tag.eq(before.tag),
        ]
        if half is None:
            m.d.sync += stage.dst.eq(before.dst)
            return stage
        kept = Signal(len(half), name=f"half_{index}", reset_less=True)
        m.d.sync += kept.eq(half)
        m.d.comb += stage.dst.eq(whole_place(kept))
        return stage

    def _depthwise_lanes(self, m: Module, fetched: Value) -> DepthwiseLanes | None:
        """Delay the flag until the operands come, and register the inputs of all taps; None without such steps."""
        if not self.config.depthwise_taps:
            return None
        addressed = Signal(name="depthwise_2", reset_less=True)
        starting = Signal(name="depthwise_3", reset_less=True)
        active = Signal(name="depthwise_4", reset_less=True)
        window = Signal(len(self.inp_data), name="window", reset_less=True)
        m.d.sync += [
            addressed.eq(fetched),
            starting.eq(addressed),
            active.eq(starting),
            window.eq(self.inp_data),
        ]
        return DepthwiseLanes(self.config, self.rows, starting, active, window)

    def _dots(self, m: Module, lane_by_lane: Value) -> list[list[Value]]:
        """Register the operands and return the dot product of each batch row and weight row."""
        config = self.config
        lanes = self._depthwise_lanes(m, lane_by_lane)
        inp = Signal(config.inp_elem_bits, reset_less=True)
        wgt = Signal(config.wgt_elem_bits, reset_less=True)
        inp_data = self.inp_data if lanes is None else lanes.kept_inputs(self.inp_data[: config.inp_elem_bits])
        m.d.sync += [inp.eq(inp_data), wgt.eq(self.wgt_data if lanes is None else lanes.kept_weights(self.wgt_data))]
        inp_bits = config.block_in * config.inp_width
        wgt_bits = config.block_in * config.wgt_width
        dots: list[list[Value]] = []
        rows = self.rows
        count = config.batch * config.block_out // rows
        most = config.block_in * count if self.multipliers is None else self.multipliers
        shares = iter((index + 1) * most // count - index * most // count for index in range(count))
        for batch in range(config.batch):
            dots.append([])
            for lane in range(0, config.block_out, rows):
                row = MacRow(
                    lanes=config.block_in,
                    inp_width=config.inp_width,
                    wgt_width=config.wgt_width,
                    rows=rows,
                    multipliers=next(shares),
                )
                m.submodules[f"row_{batch}_{lane}"] = row
                inputs: Value = inp.word_select(batch, inp_bits)
                if lanes is not None:
                    inputs = lanes.row_inputs(inputs, batch=batch, row=lane)
                m.d.comb += [
                    row.inp.eq(inputs),
                    row.wgt.eq(wgt[lane * wgt_bits : (lane + rows) * wgt_bits]),
                ]
                dots[-1] += [row.dots[index] for index in range(rows)]
        return dots

    def _accumulate(
        self,
        m: Module,
        dots: list[list[Value]],
        at_read: _Stage,
        at_pick: _Stage,
        at_sum: _Stage,
        at_write: _Stage,
    ) -> None:
        """Add to the newest value of the destination: in flight one to three steps before, or read.

        What was read, or the sum of two or three steps before, stands in a register when the sum is made.
        """
        config = self.config
        lanes = config.batch * config.block_out
        copies = {
            name: copies_of(m, earlier.valid & (earlier.dst == later.dst), lanes=lanes, name=name)
            for name, earlier, later in (
                ("near", at_sum, at_pick),
                ("middle", at_sum, at_read),
                ("far", at_write, at_read),
            )
        }
        result = Signal(config.acc_elem_bits, reset_less=True)
        older = Signal(config.acc_elem_bits, reset_less=True)
        picked = Signal(config.acc_elem_bits, reset_less=True)
        words = zip(*(parts_of(word, lanes) for word in (result, older, self.acc_data)), strict=True)
        chosen = [
            Mux(middle, one_before, Mux(far, two_before, read))
            for middle, far, (one_before, two_before, read) in zip(copies["middle"], copies["far"], words, strict=True)
        ]
        m.d.sync += [older.eq(result), picked.eq(Cat(chosen))]
        m.d.comb += self.acc_write_data.eq(result)
        newest = Cat(
            Mux(near, *both)
            for near, *both in zip(copies["near"], parts_of(result, lanes), parts_of(picked, lanes), strict=True)
        )
        width = config.acc_width
        for index, dot in enumerate(dot for row in dots for dot in row):
            lane = slice(index * width, (index + 1) * width)
            total = Signal(signed(width), name=f"total_{index}")
            m.d.comb += total.eq(newest[lane] + dot)
            m.d.sync += result[lane].eq(Mux(at_sum.reset, 0, total))
