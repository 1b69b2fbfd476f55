"""The load module: LOAD of INP and WGT with padding; it owns the two scratchpads.

Tests: ``tests/hw/test_load.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from hw.banked_scratchpad import BankedScratchpad
from hw.dma.address import BurstWalker
from hw.dma.reader import Reader, reader_job_layout
from hw.dma.writer import TileWriter
from hw.interfaces import ElementRead, ReadClient, inputs_read
from hw.job_queue import queue_jobs
from hw.layouts import instruction_struct
from hw.registered_fifo import RegisteredFIFO
from hw.scratchpad import Scratchpad
from isa.config import VTAConfig
from isa.instructions import MemoryId
from isa.machine.causes import Cause
from isa.machine.hardware_config import HardwareConfig

__all__ = ["LoadStage"]

INP, WGT = 0, 1  # kinds of elements, in the order of ``element_bytes``


class LoadStage(wiring.Component):
    """Executes LOAD instructions of INP and WGT in order, each overlapping the latency of those before.

    Each scratchpad has a writer of its own, so that the zeros of one load are written beside the data of another.

    An instruction starts (and pops) as soon as its token is there, ``load_jobs`` of them before the data of the first
    have come, but not in the first cycle in which it is offered: its address is added up in that one. Its first burst
    is asked for in the cycle after its start. Data is written in the cycle in which it comes, from the register of a
    ``ReadLink``, zeros in cycles without data for that scratchpad, and the push is sent in the cycle of the last write.

    Parameters
    ----------
    vta : VTAConfig
        Sizes of elements and scratchpads, layout of instructions.
    hardware : HardwareConfig
        Widths of the memory port, and how far to run ahead.

    Members
    -------
    insn : In(stream of 128 bits)
        Legal instructions, from the queue.
    g2l_available : In(1), g2l_pop : Out(1), l2g_push : Out(1)
        The token queues from and to the compute module.
    inp_base, wgt_base : In(addr_width)
        Byte addresses that DRAM addresses count from: multiples of the beat.
    mem : Out(ReadClient)
        Towards the memory engine.
    inp_read, wgt_read : In(ElementRead)
        The scratchpads' read ports.
    start : Out(1)
        An instruction starts in this cycle.
    cause : Out(Cause)
        What this cycle goes to.
    idle : Out(1)
        No instruction is in progress, and none is offered.
    """

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig) -> None:
        self.vta = vta
        self.hardware = hardware
        self.element_bytes = (vta.inp_elem_bytes, vta.wgt_elem_bytes)
        self.depth_logs = (vta.log_inp_depth, vta.log_wgt_depth)
        super().__init__(
            {
                "insn": In(stream.Signature(128)),
                "g2l_available": In(1),
                "g2l_pop": Out(1),
                "l2g_push": Out(1),
                "inp_base": In(hardware.addr_width),
                "wgt_base": In(hardware.addr_width),
                "mem": Out(ReadClient(addr_width=hardware.addr_width, data_width=hardware.data_width)),
                "inp_read": In(inputs_read(vta)),
                "wgt_read": In(ElementRead(address_width=vta.log_wgt_depth, element_width=vta.wgt_elem_bits)),
                "start": Out(1),
                "cause": Out(Cause),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Join front, walker, reader, the two writers and the two scratchpads."""
        m = Module()
        hardware = self.hardware
        m.submodules.walker = walker = BurstWalker(
            addr_width=hardware.addr_width,
            data_width=hardware.data_width,
            burst_beats=hardware.burst_beats,
            ahead=True,
            size_width=16 + exact_log2(max(self.element_bytes)),
            aligned=min(self.element_bytes) >= hardware.beat_bytes,
        )
        m.submodules.reader = reader = Reader(data_width=hardware.data_width, element_bytes=self.element_bytes)
        writers = []
        for kind, name in enumerate(("inp", "wgt")):
            writer = TileWriter(
                data_width=hardware.data_width,
                element_bytes=self.element_bytes,
                address_width=max(1, self.depth_logs[kind]),
            )
            m.submodules[f"{name}_writer"] = writer
            self._scratchpad(m, kind=kind, name=name, port=getattr(self, f"{name}_read"), write=writer.write)
            writers.append(writer)
        wiring.connect(m, walker.cmd, wiring.flipped(self.mem.cmd))
        wiring.connect(m, wiring.flipped(self.mem.data), reader.beats)
        self._route(m, reader.parts, writers)
        kind = Signal()
        empty = Signal()  # a statement each: Python 3.13 hides the names of signals that are made together
        self._known = Signal(name="known")  # what is added up of the instruction that is offered stands in registers
        room = self._ask(m, kind, empty, walker=walker, reader=reader)
        room &= self._hand_on(m, kind, empty, writers)
        ordered, waiting = self._complete(m, kind, writers)
        self._start(m, kind, empty, room=room & ordered)
        self._account(m, writes=Cat(writer.write.valid for writer in writers).any(), waiting=waiting)
        return m

    def _start(self, m: Module, kind: Signal, empty: Signal, *, room: Value) -> None:
        """Decode, and take instruction and token when there is room for its job everywhere."""
        insn = self._instruction
        m.d.sync += [
            self._known.eq(self.insn.valid & ~self.start),
            kind.eq(insn.memory == MemoryId.WGT),
            empty.eq((insn.x_size == 0) | (insn.y_size == 0)),
        ]
        m.d.comb += [
            self.start.eq(self._known & (~insn.pop_next | self.g2l_available) & room),
            self.insn.ready.eq(self.start),
            self.g2l_pop.eq(self.start & insn.pop_next),
        ]

    @property
    def _instruction(self) -> Any:
        """The instruction that is offered, as a record."""
        return data.View(instruction_struct(self.vta, "LOAD"), self.insn.payload)

    def _ask(self, m: Module, kind: Signal, empty: Signal, *, walker: BurstWalker, reader: Reader) -> Value:
        """Ask for the bursts of the instruction that starts, and queue what the beats are; return if there is room."""
        hardware = self.hardware
        insn = self._instruction
        request = walker.request.p
        beat_log = exact_log2(hardware.beat_bytes)
        # Of the instruction that is offered, if it is known.
        address = Signal(hardware.addr_width)
        row_bytes = Signal.like(request.row_bytes)
        bases = (self.inp_base, self.wgt_base)
        for index, (base, size) in enumerate(zip(bases, self.element_bytes, strict=True)):
            log = exact_log2(size)
            with m.If((insn.memory == MemoryId.WGT) == index):
                m.d.sync += [address.eq(base + (insn.dram_base << log)), row_bytes.eq(insn.x_size << log)]
            with m.If(kind == index):
                m.d.comb += request.stride_bytes.eq(insn.x_stride << log)
        job = Signal(reader_job_layout(data_width=hardware.data_width, kinds=2), name="reader_job")
        m.d.comb += [
            walker.request.valid.eq(self.start & ~empty),
            request.addr.eq(address),
            request.row_bytes.eq(row_bytes),
            request.rows.eq(insn.y_size),
            job.kind.eq(kind),
            job.offset.eq(request.addr[:beat_log]),
            job.stride.eq(request.stride_bytes[:beat_log]),
            job.x_size.eq(insn.x_size),
            job.y_size.eq(insn.y_size),
        ]
        put = self.start & ~empty
        room = queue_jobs(m, "reader_jobs", job=job, put=put, port=reader.job, depth=hardware.load_jobs)
        return room & walker.request.ready

    def _hand_on(self, m: Module, kind: Signal, empty: Signal, writers: list[TileWriter]) -> Value:
        """Queue the job of the instruction that starts for its writer; return whether both have room."""
        insn = self._instruction
        room: Value = Const(1)
        for index, writer in enumerate(writers):
            job = Signal(writer.job.payload.shape(), name=f"writer_job_{index}")
            m.d.comb += [job.kind.eq(index), job.empty.eq(empty)]
            sizes = ("sram_base", "x_size", "y_size", "x_pad_0", "x_pad_1", "y_pad_0", "y_pad_1")
            m.d.comb += [job[name].eq(insn[name]) for name in sizes]
            put = self.start & (kind == index)
            room &= queue_jobs(
                m,
                f"writer_jobs_{index}",
                job=job,
                put=put,
                port=writer.job,
                depth=self.hardware.load_jobs,
                early="y_pad_0",
            )
        return room

    def _route(self, m: Module, parts: Any, writers: list[TileWriter]) -> None:
        """Give each part to the writer of its kind."""
        for index, writer in enumerate(writers):
            here = parts.p.kind == index
            m.d.comb += [
                writer.parts.p.eq(parts.p),
                writer.parts.valid.eq(parts.valid & here),
                writer.write.ready.eq(1),
            ]
            with m.If(here):
                m.d.comb += parts.ready.eq(writer.parts.ready)

    def _complete(self, m: Module, kind: Signal, writers: list[TileWriter]) -> tuple[Value, Value]:
        """Send the pushes in program order; return whether there is room for an instruction, and whether one is left.

        A writer may be done with an instruction before the other one is with an earlier one.
        """
        depth = self.hardware.load_jobs
        entry = Signal(data.StructLayout({"kind": 1, "push": 1}))
        head = Signal.like(entry)
        m.submodules.order = order = RegisteredFIFO(width=entry.shape().size, depth=depth)
        completes = Signal()
        m.d.comb += [
            entry.kind.eq(kind),
            entry.push.eq(self._instruction.push_next),
            order.w_data.eq(entry),
            order.w_en.eq(self.start),
            head.eq(order.r_data),
            order.r_en.eq(completes),
            self.l2g_push.eq(completes & head.push),
        ]
        for index, writer in enumerate(writers):
            ahead = Signal(bits_for(depth), name=f"ahead_{index}")
            is_ahead = Signal(name=f"is_ahead_{index}")  # ``ahead`` is not zero
            here = order.r_rdy & (head.kind == index)
            with m.If(here & (writer.done | is_ahead)):
                m.d.comb += completes.eq(1)
            with m.If(writer.done & ~here):
                m.d.sync += [ahead.eq(ahead + 1), is_ahead.eq(1)]
            with m.Elif(~writer.done & here & is_ahead):
                m.d.sync += [ahead.eq(ahead - 1), is_ahead.eq(ahead != 1)]
        return order.w_rdy, order.r_rdy

    def _account(self, m: Module, *, writes: Value, waiting: Value) -> None:
        """Say what the cycle goes to."""
        m.d.comb += self.idle.eq(~waiting & ~self.insn.valid)
        with m.If(writes):
            m.d.comb += self.cause.eq(Cause.WORK)
        with m.Elif(waiting):
            m.d.comb += self.cause.eq(Cause.MEMORY)
        with m.Elif(self.start):
            m.d.comb += self.cause.eq(Cause.WORK)
        with m.Elif(self._known):
            m.d.comb += self.cause.eq(Cause.TOKEN_NEXT)
        with m.Else():
            m.d.comb += self.cause.eq(Cause.INSTRUCTION)

    def _scratchpad(self, m: Module, *, kind: int, name: str, port: Any, write: Any) -> None:
        """Build one scratchpad; its lanes are as wide as a beat, or as an element that is narrower."""
        width = self.element_bytes[kind] * 8
        granularity = min(width, self.hardware.data_width)
        lanes = width // granularity
        depth, taps = 1 << self.depth_logs[kind], self.vta.depthwise_taps
        scratchpad: Scratchpad | BankedScratchpad
        # Tokens order writes and reads of an element: without them a program is not valid, so that no collisions count.
        if kind == INP and taps:
            scratchpad = BankedScratchpad(depth=depth, width=width, write_granularity=granularity, reads=taps)
        else:
            scratchpad = Scratchpad(depth=depth, width=width, write_granularity=granularity, collisions=False)
        m.submodules[name] = scratchpad
        part = write.p.data[:granularity]
        enables = Cat(write.p.zero | (write.p.lane == lane) for lane in range(lanes))
        m.d.comb += [
            scratchpad.read_address.eq(port.address),
            scratchpad.read_enable.eq(port.enable),
            port.data.eq(scratchpad.read_data),
            scratchpad.write_address.eq(write.p.address),
            scratchpad.write_data.eq(Cat(Mux(write.p.zero, 0, part) for _ in range(lanes))),
        ]
        with m.If(write.valid):
            m.d.comb += scratchpad.write_enable.eq(enables)
