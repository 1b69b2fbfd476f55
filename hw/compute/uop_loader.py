"""LOAD of micro-ops: a flat copy from DRAM to the micro-op memory.

Tests: ``tests/hw/compute/test_loaders.py``, ``tests/hw/compute/test_stage_order.py``,
``tests/hw/compute/test_stage_accounting.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.compute.jobs import TAG_WIDTH, done_layout, job_layout
from hw.compute.uop_memory import UOP_BITS
from hw.dma.address import BurstWalker
from hw.dma.reader import Reader
from hw.interfaces import ReadClient
from hw.job_queue import queue_jobs
from hw.layouts import instruction_struct
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

__all__ = ["UopLoader", "beats_may_wait"]

PAIR_BYTES = 2 * UOP_BITS // 8
JOBS = 4


def beats_may_wait(hardware: HardwareConfig) -> bool:
    """Return whether the loader lets beats wait: only those that hold more than it writes in a cycle.

    Otherwise the reader has its job before the first beat of it can come, since a job is queued for it in the cycle in
    which it is handed to the walker.
    """
    return hardware.beat_bytes > PAIR_BYTES


class UopLoader(wiring.Component):
    """Copies micro-ops, two a cycle; the bursts of a job are asked for while an earlier job's beats arrive.

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
        Write port of the micro-op memory: two micro-ops that are neighbours in a beat.
    done : Out(done_layout)
        The last micro-op of a job is being written.
    working : Out(1)
        Micro-ops are being written.
    """

    def __init__(self, config: VTAConfig, hardware: HardwareConfig) -> None:
        self.config = config
        self.hardware = hardware
        self.address_width = max(1, config.log_uop_depth)  # a bit tells the two of a pair apart
        super().__init__(
            {
                "base": In(hardware.addr_width),
                "job": In(stream.Signature(job_layout())),
                "dma": Out(ReadClient(addr_width=hardware.addr_width, data_width=hardware.data_width)),
                "write_enable": Out(2),
                "write_address": Out(self.address_width),
                "write_data": Out(data.ArrayLayout(UOP_BITS, 2)),
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
        m.submodules.reader = reader = Reader(data_width=hardware.data_width, element_bytes=(PAIR_BYTES,), y_width=1)
        place_layout = data.StructLayout(
            {"tag": TAG_WIDTH, "address": self.address_width, "skip_first": 1, "skip_last": 1}
        )
        queued = data.StructLayout({"read": reader.job.payload.shape(), "place": place_layout})
        m.submodules.places = places = SyncFIFO(width=queued.size, depth=JOBS)
        connect(m, walker.cmd, flipped(self.dma.cmd))
        connect(m, reader.beats, flipped(self.dma.data))
        self._front(m, walker, places, queued)
        head = data.View(queued, places.r_data)
        m.d.comb += [
            reader.job.valid.eq(places.r_rdy),
            places.r_en.eq(reader.job.ready),
            reader.job.p.eq(head.read),
            reader.parts.ready.eq(1),
        ]
        self._write(m, reader, head.place)
        return m

    def _front(self, m: Module, walker: BurstWalker, places: SyncFIFO, queued: data.StructLayout) -> None:
        """Ask for the beats of a job and queue where its micro-ops go, as pairs that begin where beats do."""
        insn = data.View(instruction_struct(self.config, "LOAD"), self.job.p.insn)
        entry = Signal(queued)
        rows = Signal(walker.request.payload.shape())
        put = self.job.valid & self.job.ready
        # It has one place, so that nothing of the window depends on what the memory takes.
        room = queue_jobs(m, "request", job=rows, put=put, port=walker.request, depth=1)
        odd = Signal()
        m.d.comb += [
            self.job.ready.eq(room & places.w_rdy),
            rows.addr.eq(self.base + (insn.dram_base << 2)),
            rows.row_bytes.eq(insn.x_size << 2),
            rows.rows.eq(1),
            places.w_en.eq(put),
            places.w_data.eq(entry),
            odd.eq(rows.addr[2]),
            entry.read.offset.eq(rows.addr & ~(PAIR_BYTES - 1)),
            entry.read.x_size.eq((insn.x_size + odd + 1) >> 1),
            entry.read.y_size.eq(1),
            entry.place.tag.eq(self.job.p.tag),
            entry.place.address.eq(insn.sram_base - odd),
            entry.place.skip_first.eq(odd),
            entry.place.skip_last.eq(odd ^ insn.x_size[0]),
        ]

    def _write(self, m: Module, reader: Reader, place: Any) -> None:
        """Write each pair, but for what is not of the job in the first and in the last one."""
        address = Signal(self.address_width, reset_less=True)
        tag = Signal(TAG_WIDTH, reset_less=True)
        skip_first = Signal(reset_less=True)
        skip_last = Signal(reset_less=True)
        taken = reader.parts.valid
        part = reader.parts.p
        m.d.comb += [
            self.write_enable.eq(Cat(taken & ~skip_first, taken & ~(skip_last & part.job_end))),
            self.write_address.eq(address),
            self.write_data.eq(part.data),
            self.working.eq(taken),
            self.done.valid.eq(taken & part.job_end),
            self.done.tag.eq(tag),
        ]
        with m.If(reader.job.ready):
            m.d.sync += [
                address.eq(place.address),
                tag.eq(place.tag),
                skip_first.eq(place.skip_first),
                skip_last.eq(place.skip_last),
            ]
        with m.Elif(taken):
            m.d.sync += [address.eq(address + 2), skip_first.eq(0)]
