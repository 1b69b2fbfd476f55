"""Instruction fetch: reads ahead, refuses illegal words, and hands instructions to the queues of the three modules.

Tests: ``tests/hw/test_fetch.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from hw.dma.address import BurstWalker
from hw.dma.reader import Reader
from hw.instruction_check import InstructionCheck
from hw.interfaces import ReadClient, burst_layout
from hw.layouts import INSTRUCTION_WIDTH
from hw.registered_fifo import RegisteredFIFO
from hw.skid import Skid
from hw.stream_register import StreamRegister
from isa.config import VTAConfig
from isa.encoding import INSTRUCTION_BYTES
from isa.machine.causes import Cause
from isa.machine.counters import COUNT_WIDTH
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig

__all__ = ["InstructionFetch"]

_BURSTS = 8
"""Bursts that fill the buffer."""

_FLAGS = ("to_load", "to_compute", "to_store", "finish")
"""What the check says of a legal word."""


def _checked_layout() -> data.StructLayout:
    """Return the layout of a word that was looked at."""
    return data.StructLayout({"word": INSTRUCTION_WIDTH, "error": ErrorCode, **dict.fromkeys(_FLAGS, 1)})


class InstructionFetch(wiring.Component):
    """Reads the instructions of a launch as long as there is room for them, and dispatches one a cycle.

    The first burst is asked for two cycles after ``start``. An instruction is offered to its queue three cycles after
    its last beat came: it is looked at in a cycle of its own. After FINISH nothing more is dispatched.

    Parameters
    ----------
    vta : VTAConfig
        Which words are legal.
    hardware : HardwareConfig
        Widths of the memory port, and how many instructions to read ahead.

    Members
    -------
    start : In(1)
        Begin with the instruction at ``address``; the block has been reset since the last launch.
    address : In(addr_width)
        Byte address of the first instruction, a multiple of 16.
    count : In(COUNT_WIDTH)
        Number of instructions.
    mem : Out(ReadClient)
        Towards the memory engine.
    load, compute, store : Out(stream of 128 bits)
        Towards the instruction queues.
    dispatched : Out(COUNT_WIDTH)
        Instructions handed to the queues: the index of the one at hand.
    error : Out(ErrorCode)
        The instruction at hand cannot be dispatched: nothing moves on.
    cause : Out(Cause)
        What this cycle goes to; HAZARD is a queue that is full.
    """

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig) -> None:
        self.vta = vta
        self.hardware = hardware
        super().__init__(
            {
                "start": In(1),
                "address": In(hardware.addr_width),
                "count": In(COUNT_WIDTH),
                "mem": Out(ReadClient(addr_width=hardware.addr_width, data_width=hardware.data_width)),
                "load": Out(stream.Signature(128)),
                "compute": Out(stream.Signature(128)),
                "store": Out(stream.Signature(128)),
                "dispatched": Out(COUNT_WIDTH),
                "error": Out(ErrorCode),
                "cause": Out(Cause),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Join prefetch, assembly of words, check and dispatch."""
        m = Module()
        m.submodules.reader = reader = Reader(
            data_width=self.hardware.data_width,
            element_bytes=(INSTRUCTION_BYTES,),
            x_width=COUNT_WIDTH,
            y_width=1,
        )
        m.d.comb += [
            reader.job.valid.eq(self.start & (self.count != 0)),
            reader.job.p.offset.eq(self.address),
            reader.job.p.x_size.eq(self.count),
            reader.job.p.y_size.eq(1),
        ]
        self._elaborate_prefetch(m, reader.beats)
        word = Signal(128)
        valid = Signal()
        taken = Signal()
        # A place for a part, so that no word's way to its queue ends at the reader.
        m.submodules.part = part = Skid(reader.parts.payload.shape())
        wiring.connect(m, reader.parts, part.source)
        self._assemble(m, part.sink, word=word, valid=valid, free=~valid | taken)
        checked = self._check(m, word=word, valid=valid, taken=taken)
        self._dispatch(m, checked)
        return m

    def _elaborate_prefetch(self, m: Module, beats: Any) -> None:
        """Ask for a burst only while the buffer has room for all of its beats."""
        hardware = self.hardware
        depth = hardware.fetch_buffer_depth * INSTRUCTION_BYTES // hardware.beat_bytes
        m.submodules.walker = walker = BurstWalker(
            addr_width=hardware.addr_width,
            data_width=hardware.data_width,
            burst_beats=max(1, min(hardware.burst_beats, depth // _BURSTS)),
            size_width=COUNT_WIDTH + exact_log2(INSTRUCTION_BYTES),
            rows_width=1,
            aligned=hardware.beat_bytes <= INSTRUCTION_BYTES,
        )
        m.submodules.buffer = buffer = SyncFIFO(width=hardware.data_width, depth=depth)
        room = Signal(bits_for(depth), init=depth)
        has_room = Signal(init=1)
        command = self.mem.cmd.valid & self.mem.cmd.ready
        may_ask = self._pace(m, command=command, arrived=self.mem.data.valid & self.mem.data.p.last)
        # A place that is filled only while it is empty: what asks for a burst moves no walker on.
        command_layout = burst_layout(hardware.addr_width)
        m.submodules.command = asked = RegisteredFIFO(width=command_layout.size, depth=1)
        burst = data.View(command_layout, asked.r_data)
        m.d.comb += [
            walker.request.valid.eq(self.start & (self.count != 0)),
            walker.request.p.addr.eq(self.address),
            walker.request.p.row_bytes.eq(self.count << exact_log2(INSTRUCTION_BYTES)),
            walker.request.p.rows.eq(1),
            asked.w_data.eq(walker.cmd.payload),
            asked.w_en.eq(walker.cmd.valid),
            walker.cmd.ready.eq(asked.w_rdy),
            self.mem.cmd.payload.eq(burst),
            self.mem.cmd.valid.eq(asked.r_rdy & has_room & may_ask),
            asked.r_en.eq(command),
            buffer.w_data.eq(self.mem.data.p.data),
            buffer.w_en.eq(self.mem.data.valid),
            self.mem.data.ready.eq(1),
            beats.valid.eq(buffer.r_rdy),
            beats.p.data.eq(buffer.r_data),
            buffer.r_en.eq(beats.ready),
        ]
        m.d.sync += [
            room.eq(room + (beats.valid & beats.ready) - Mux(command, burst.beats, 0)),
            # A cycle late, so that what decides stands in a register; in between there is more room, not less, but for
            # the burst that is asked for now.
            has_room.eq(Mux(command, room >= 2 * walker.burst_beats, room >= walker.burst_beats)),
        ]

    def _pace(self, m: Module, *, command: Value, arrived: Value) -> Value:
        """Return whether one more burst may be on its way: one at first, and one more for each that has come.

        The first instructions ask for data, too, and those data would wait behind a whole buffer.
        """
        allowed = Signal(_BURSTS, init=1)  # a one for each burst that may be on its way
        more = Signal(bits_for(_BURSTS), init=1)  # bursts that may be asked for now
        may_ask = Signal(init=1)  # ``more`` is not zero
        m.d.sync += more.eq(more - command + arrived + (arrived & ~allowed[-1]))
        m.d.sync += may_ask.eq(arrived | Mux(command, more > 1, may_ask))
        with m.If(arrived):
            m.d.sync += allowed.eq(Cat(1, allowed))
        return may_ask

    def _assemble(self, m: Module, parts: Any, *, word: Any, valid: Any, free: Any) -> None:
        """Gather the parts of an instruction in ``word``."""
        width = min(128, self.hardware.data_width)
        m.d.comb += parts.ready.eq(free)
        with m.If(free):
            m.d.sync += valid.eq(parts.valid & parts.p.element_end)
        with m.If(free & parts.valid):
            if width == 128:
                m.d.sync += word.eq(parts.p.data)
            else:
                m.d.sync += word.eq(Cat(word[width:], parts.p.data[:width]))

    def _check(self, m: Module, *, word: Any, valid: Any, taken: Any) -> Any:
        """Check the word, and take it into a register with what was found; return that stream."""
        m.submodules.check = check = InstructionCheck(self.vta)
        m.submodules.checked = checked = StreamRegister(_checked_layout())
        found = checked.source.p
        m.d.comb += [
            check.word.eq(word),
            found.word.eq(word),
            found.error.eq(check.error),
            *(found[name].eq(getattr(check, name)) for name in _FLAGS),
            checked.source.valid.eq(valid),
            taken.eq(checked.source.ready),
        ]
        return checked.sink

    def _dispatch(self, m: Module, checked: Any) -> None:
        """Offer the word to the queue of its module."""
        active = Signal()
        finished = Signal()
        ended = Signal()
        offered = Signal()
        taken = Signal(name="dispatches")
        found = checked.p
        legal = found.error == ErrorCode.NONE
        queues = ((self.load, found.to_load), (self.compute, found.to_compute), (self.store, found.to_store))
        goes = Cat(chosen & queue.ready for queue, chosen in queues).any()
        m.d.comb += [
            ended.eq(active & ~finished & (self.dispatched == self.count)),
            offered.eq(checked.valid & ~finished & legal),
            taken.eq(offered & goes),
            # Without a word it does not matter: the way to the register of the next word is a long one.
            checked.ready.eq(finished | (legal & goes)),
        ]
        with m.If(checked.valid & ~finished):
            m.d.comb += self.error.eq(found.error)
        with m.Elif(ended):
            m.d.comb += self.error.eq(ErrorCode.NO_FINISH)
        for queue, chosen in queues:
            m.d.comb += [queue.payload.eq(found.word), queue.valid.eq(offered & chosen)]
        with m.If(taken):
            m.d.sync += self.dispatched.eq(self.dispatched + 1)
            with m.If(found.finish):
                m.d.sync += finished.eq(1)
        with m.If(self.start):
            m.d.sync += active.eq(1)
        with m.If(finished | ~active):
            m.d.comb += self.cause.eq(Cause.IDLE)
        with m.Elif(taken):
            m.d.comb += self.cause.eq(Cause.WORK)
        with m.Elif(checked.valid):
            m.d.comb += self.cause.eq(Cause.HAZARD)
        with m.Else():
            m.d.comb += self.cause.eq(Cause.MEMORY)
