"""The load module: LOAD of INP and WGT with padding; it owns the two scratchpads.

Imports ``isa``, ``hw.config``, ``hw.dma``, ``hw.interfaces``, ``hw.layouts``, ``hw.scratchpad``.
Tests: ``tests/hw/test_load.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.accounting import Cause
from hw.config import HardwareConfig
from hw.dma.address import BurstWalker
from hw.dma.reader import Reader, part_layout, reader_job_layout
from hw.dma.writer import TileWriter, writer_job_layout
from hw.interfaces import ElementRead, ReadClient
from hw.layouts import instruction_struct
from hw.scratchpad import Scratchpad
from hw.stream_register import StreamRegister
from isa.config import VTAConfig
from isa.instructions import MemoryId

__all__ = ["LoadStage"]

INP, WGT = 0, 1  # kinds of elements, in the order of ``element_bytes``


class LoadStage(wiring.Component):
    """Executes LOAD instructions of INP and WGT in order, each overlapping the latency of those before.

    An instruction starts (and pops) as soon as its token is there, ``load_jobs`` of them before the data of the first
    have come; its first burst is asked for in the next cycle. Data is written in the cycle after it comes, zeros in
    cycles without data, and the push is sent in the cycle of the last write.

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
                "inp_read": In(ElementRead(address_width=vta.log_inp_depth, element_width=vta.inp_elem_bits)),
                "wgt_read": In(ElementRead(address_width=vta.log_wgt_depth, element_width=vta.wgt_elem_bits)),
                "start": Out(1),
                "cause": Out(Cause),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Join front, walker, reader, writer and the two scratchpads."""
        m = Module()
        hardware = self.hardware
        size_width = 16 + exact_log2(max(self.element_bytes))
        aligned = min(self.element_bytes) >= hardware.beat_bytes
        m.submodules.walker = walker = BurstWalker(
            addr_width=hardware.addr_width,
            data_width=hardware.data_width,
            burst_beats=hardware.burst_beats,
            size_width=size_width,
            aligned=aligned,
        )
        m.submodules.reader = reader = Reader(data_width=hardware.data_width, element_bytes=self.element_bytes)
        parts = part_layout(data_width=hardware.data_width, element_bytes=self.element_bytes)
        m.submodules.part_register = part_register = StreamRegister(parts)
        m.submodules.writer = writer = TileWriter(
            data_width=hardware.data_width,
            element_bytes=self.element_bytes,
            address_width=max(1, *self.depth_logs),
        )
        wiring.connect(m, walker.cmd, wiring.flipped(self.mem.cmd))
        wiring.connect(m, wiring.flipped(self.mem.data), reader.beats)
        wiring.connect(m, reader.parts, part_register.source)
        wiring.connect(m, part_register.sink, writer.parts)
        waiting = Signal()
        jobs_empty = self._elaborate_front(m, walker=walker, reader=reader, writer=writer)
        for kind, (name, port) in enumerate((("inp", self.inp_read), ("wgt", self.wgt_read))):
            self._elaborate_scratchpad(m, kind=kind, name=name, port=port, write=writer.write)
        m.d.comb += [
            writer.write.ready.eq(1),
            self.l2g_push.eq(writer.done & writer.tag[0]),
            waiting.eq(writer.active | ~jobs_empty),
            self.idle.eq(~waiting & ~self.insn.valid),
        ]
        with m.If(writer.write.valid):
            m.d.comb += self.cause.eq(Cause.WORK)
        with m.Elif(waiting):
            m.d.comb += self.cause.eq(Cause.MEMORY)
        with m.Elif(self.start):
            m.d.comb += self.cause.eq(Cause.WORK)
        with m.Elif(self.insn.valid):
            m.d.comb += self.cause.eq(Cause.TOKEN_NEXT)
        with m.Else():
            m.d.comb += self.cause.eq(Cause.INSTRUCTION)
        return m

    def _elaborate_front(self, m: Module, *, walker: Any, reader: Any, writer: Any) -> Any:
        """Decode and start instructions; return whether no job waits for the writer."""
        hardware = self.hardware
        insn = data.View(instruction_struct(self.vta, "LOAD"), self.insn.payload)
        kind = Signal()
        empty = Signal()
        addr = Signal(hardware.addr_width)
        stride = Signal.like(walker.request.p.stride_bytes)
        offset_log = exact_log2(hardware.beat_bytes)
        logs = [exact_log2(size) for size in self.element_bytes]
        bases = (self.inp_base, self.wgt_base)
        m.d.comb += [kind.eq(insn.memory == MemoryId.WGT), empty.eq((insn.x_size == 0) | (insn.y_size == 0))]
        for index, (base, log) in enumerate(zip(bases, logs, strict=True)):
            with m.If(kind == index):
                m.d.comb += [
                    addr.eq(base + (insn.dram_base << log)),
                    walker.request.p.row_bytes.eq(insn.x_size << log),
                    stride.eq(insn.x_stride << log),
                ]
        reader_job = Signal(reader_job_layout(data_width=hardware.data_width, kinds=2))
        writer_job = Signal(writer_job_layout(kinds=2, address_width=writer.address_width, tag_width=1))
        m.submodules.reader_jobs = reader_jobs = SyncFIFO(width=reader_job.shape().size, depth=hardware.load_jobs)
        m.submodules.writer_jobs = writer_jobs = SyncFIFO(width=writer_job.shape().size, depth=hardware.load_jobs)
        m.d.comb += [
            self.start.eq(
                self.insn.valid
                & (~insn.pop_next | self.g2l_available)
                & reader_jobs.w_rdy
                & writer_jobs.w_rdy
                & walker.request.ready
            ),
            self.insn.ready.eq(self.start),
            self.g2l_pop.eq(self.start & insn.pop_next),
            walker.request.valid.eq(self.start & ~empty),
            walker.request.p.addr.eq(addr),
            walker.request.p.stride_bytes.eq(stride),
            walker.request.p.rows.eq(insn.y_size),
            reader_jobs.w_en.eq(self.start & ~empty),
            reader_job.kind.eq(kind),
            reader_job.offset.eq(addr[:offset_log]),
            reader_job.stride.eq(stride[:offset_log]),
            reader_job.x_size.eq(insn.x_size),
            reader_job.y_size.eq(insn.y_size),
            writer_jobs.w_en.eq(self.start),
            writer_job.kind.eq(kind),
            writer_job.empty.eq(empty),
            writer_job.tag.eq(insn.push_next),
            writer_job.sram_base.eq(insn.sram_base),
            *(
                getattr(writer_job, name).eq(getattr(insn, name))
                for name in ("x_size", "y_size", "x_pad_0", "x_pad_1", "y_pad_0", "y_pad_1")
            ),
        ]
        for fifo, job, port in ((reader_jobs, reader_job, reader.job), (writer_jobs, writer_job, writer.job)):
            m.d.comb += [
                fifo.w_data.eq(job),
                port.valid.eq(fifo.r_rdy),
                port.payload.eq(fifo.r_data),
                fifo.r_en.eq(port.ready),
            ]
        return ~writer_jobs.r_rdy

    def _elaborate_scratchpad(self, m: Module, *, kind: int, name: str, port: Any, write: Any) -> None:
        """Build one scratchpad; its lanes are as wide as a beat, or as an element that is narrower."""
        width = self.element_bytes[kind] * 8
        granularity = min(width, self.hardware.data_width)
        lanes = width // granularity
        m.submodules[name] = scratchpad = Scratchpad(
            depth=1 << self.depth_logs[kind], width=width, write_granularity=granularity
        )
        part = write.p.data[:granularity]
        enables = Cat(write.p.zero | (write.p.lane == lane) for lane in range(lanes))
        m.d.comb += [
            scratchpad.read_address.eq(port.address),
            scratchpad.read_enable.eq(port.enable),
            port.data.eq(scratchpad.read_data),
            scratchpad.write_address.eq(write.p.address),
            scratchpad.write_data.eq(Cat(Mux(write.p.zero, 0, part) for _ in range(lanes))),
        ]
        with m.If(write.valid & (write.p.kind == kind)):
            m.d.comb += scratchpad.write_enable.eq(enables)
