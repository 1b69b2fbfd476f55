"""LOAD of micro-ops: a flat copy from DRAM to the micro-op memory.

Imports ``isa.config``, ``hw.config``, ``hw.dma``, ``hw.layouts``. Tests: ``tests/hw/compute/test_loaders.py``.
"""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.compute.jobs import TAG_WIDTH, done_layout, job_layout
from hw.config import HardwareConfig
from hw.dma.address import BurstWalker
from hw.dma.reader import Reader
from hw.interfaces import ReadClient
from hw.layouts import instruction_struct
from isa.config import VTAConfig

__all__ = ["UopLoader"]

UOP_BYTES = 4
JOBS = 4


class UopLoader(wiring.Component):
    """Copies micro-ops, one a cycle; the bursts of a job are asked for while an earlier job's beats arrive.

    Parameters
    ----------
    config, hardware : VTAConfig, HardwareConfig
        Sizes.

    Members
    -------
    base : In(addr_width)
        Added to every address.
    job : In(stream of job_layout)
        LOAD instructions of memory UOP with x_size above zero.
    dma : Out(ReadClient)
        The memory.
    write_enable, write_address, write_data : Out
        Write port of the micro-op memory.
    done : Out(done_layout)
        The last micro-op of a job is being written.
    working : Out(1)
        A micro-op is being written.
    """

    def __init__(self, config: VTAConfig, hardware: HardwareConfig) -> None:
        self.config = config
        self.hardware = hardware
        super().__init__(
            {
                "base": In(hardware.addr_width),
                "job": In(stream.Signature(job_layout())),
                "dma": Out(ReadClient(addr_width=hardware.addr_width, data_width=hardware.data_width)),
                "write_enable": Out(1),
                "write_address": Out(config.log_uop_depth),
                "write_data": Out(32),
                "done": Out(done_layout()),
                "working": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the burst walker, a queue of what is on its way, and the reader."""
        m = Module()
        hardware = self.hardware
        m.submodules.walker = walker = BurstWalker(
            addr_width=hardware.addr_width,
            data_width=hardware.data_width,
            burst_beats=hardware.burst_beats,
            size_width=18,
            rows_width=1,
        )
        m.submodules.reader = reader = Reader(data_width=hardware.data_width, element_bytes=(UOP_BYTES,), y_width=1)
        place_layout = data.StructLayout({"tag": TAG_WIDTH, "address": self.config.log_uop_depth})
        read_job = reader.job.payload.shape()
        m.submodules.places = places = SyncFIFO(width=read_job.size + place_layout.size, depth=JOBS)
        insn = data.View(instruction_struct(self.config, "LOAD"), self.job.p.insn)
        queued = data.StructLayout({"read": read_job, "place": place_layout})
        entry = Signal(queued)
        request = walker.request.p
        m.d.comb += [
            walker.request.valid.eq(self.job.valid & places.w_rdy),
            self.job.ready.eq(walker.request.ready & places.w_rdy),
            request.addr.eq(self.base + (insn.dram_base << 2)),
            request.row_bytes.eq(insn.x_size << 2),
            request.rows.eq(1),
            places.w_en.eq(self.job.valid & self.job.ready),
            places.w_data.eq(entry),
            entry.read.offset.eq(request.addr),
            entry.read.x_size.eq(insn.x_size),
            entry.read.y_size.eq(1),
            entry.place.tag.eq(self.job.p.tag),
            entry.place.address.eq(insn.sram_base),
        ]
        connect(m, walker.cmd, flipped(self.dma.cmd))
        connect(m, reader.beats, flipped(self.dma.data))
        head = data.View(queued, places.r_data)
        address = Signal(self.config.log_uop_depth, reset_less=True)
        tag = Signal(TAG_WIDTH, reset_less=True)
        part = reader.parts.p
        m.d.comb += [
            reader.job.valid.eq(places.r_rdy),
            places.r_en.eq(reader.job.ready),
            reader.job.p.eq(head.read),
            reader.parts.ready.eq(1),
            self.write_enable.eq(reader.parts.valid),
            self.write_address.eq(address),
            self.write_data.eq(part.data),
            self.working.eq(reader.parts.valid),
            self.done.valid.eq(reader.parts.valid & part.job_end),
            self.done.tag.eq(tag),
        ]
        with m.If(reader.job.ready):
            m.d.sync += [address.eq(head.place.address), tag.eq(head.place.tag)]
        with m.Elif(reader.parts.valid):
            m.d.sync += address.eq(address + 1)
        return m
