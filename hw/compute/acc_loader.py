"""LOAD of accumulators: tiles of 32-bit numbers, or of 8-bit numbers that are widened, with zeros around them.

Tests: ``tests/hw/compute/test_loaders.py``, ``tests/hw/compute/test_stage_order.py``,
``tests/hw/compute/test_stage_accounting.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hw.accumulator import bank_bits, bank_of_place, place_of
from hw.compute.jobs import TAG_WIDTH, done_layout, job_layout
from hw.dma.address import BurstWalker
from hw.dma.reader import Reader
from hw.dma.writer import TileWriter
from hw.interfaces import ReadClient
from hw.job_queue import queue_jobs
from hw.layouts import instruction_struct
from isa.config import VTAConfig
from isa.instructions import MemoryId
from isa.machine.hardware_config import HardwareConfig

__all__ = ["AccLoader"]

JOBS = 4
WIDE, NARROW = 0, 1  # kinds of elements: ACC and ACC_8BIT


class AccLoader(wiring.Component):
    """Copies tiles; the bursts of a job are asked for while an earlier job's beats arrive.

    A tile is collected beat by beat and written whole, in the cycle after its last beat or later, if GEMM or ALU need
    the bank.

    Parameters
    ----------
    config, hardware : VTAConfig, HardwareConfig
        Sizes.

    Members
    -------
    base : In(addr_width)
        Added to every address.
    job : In(stream of job_layout)
        LOAD instructions of memory ACC or ACC_8BIT with no size of zero.
    dma : Out(ReadClient)
        The memory.
    taken : In(1 << bank_bits(config.log_acc_depth))
        Banks of the accumulator to which nothing can be written in the next cycle.
    banks, tile_banks, address, data : Out
        The bank to which a tile, or a zero, is written, unless it was ``taken`` in the cycle before: then it waits; and
        that bank again if it is a tile, for ``data`` do not count otherwise. The address is a place of the accumulator.
    done : Out(done_layout)
        The last tile of a job is being written.
    working : Out(1)
        A beat is taken or a tile written.
    """

    def __init__(self, config: VTAConfig, hardware: HardwareConfig) -> None:
        self.config = config
        self.hardware = hardware
        # ACC_8BIT needs inputs of eight bits; without it there is one kind.
        sizes = (config.acc_elem_bytes, config.acc_elem_bytes // 4)
        self.element_bytes = sizes if config.inp_width == 8 else sizes[:1]
        super().__init__(
            {
                "base": In(hardware.addr_width),
                "job": In(stream.Signature(job_layout())),
                "dma": Out(ReadClient(addr_width=hardware.addr_width, data_width=hardware.data_width)),
                "taken": In(1 << bank_bits(config.log_acc_depth)),
                "banks": Out(1 << bank_bits(config.log_acc_depth)),
                "tile_banks": Out(1 << bank_bits(config.log_acc_depth)),
                "address": Out(config.log_acc_depth),
                "data": Out(config.acc_elem_bits),
                "done": Out(done_layout()),
                "working": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Join burst walker, reader, writer and the register in which a tile is collected."""
        m = Module()
        hardware = self.hardware
        m.submodules.walker = walker = BurstWalker(
            addr_width=hardware.addr_width,
            data_width=hardware.data_width,
            burst_beats=hardware.burst_beats,
            size_width=16 + exact_log2(max(self.element_bytes)),
            aligned=min(self.element_bytes) >= hardware.beat_bytes,
        )
        m.submodules.reader = reader = Reader(data_width=hardware.data_width, element_bytes=self.element_bytes)
        m.submodules.writer = writer = TileWriter(
            data_width=hardware.data_width,
            element_bytes=self.element_bytes,
            address_width=max(1, self.config.log_acc_depth),
            tag_width=TAG_WIDTH,
        )
        connect(m, walker.cmd, flipped(self.dma.cmd))
        connect(m, reader.beats, flipped(self.dma.data))
        connect(m, reader.parts, writer.parts)
        self._front(m, walker, reader, writer)
        self._collect(m, writer)
        m.d.comb += self.working.eq(writer.write.valid | self.banks.any())
        return m

    def _front(self, m: Module, walker: BurstWalker, reader: Reader, writer: TileWriter) -> None:
        """Decode a job and hand it to walker, reader and writer."""
        insn = data.View(instruction_struct(self.config, "LOAD"), self.job.p.insn)
        narrow = insn.memory == MemoryId.ACC_8BIT
        rows = Signal(walker.request.payload.shape())
        read = Signal(reader.job.payload.shape(), name="read_entry")
        write = Signal(writer.job.payload.shape(), name="write_entry")
        put = self.job.valid & self.job.ready
        # It has one place, so that nothing of the window depends on what the memory takes.
        room = queue_jobs(m, "request", job=rows, put=put, port=walker.request, depth=1)
        room &= queue_jobs(m, "read_jobs", job=read, put=put, port=reader.job, depth=JOBS)
        room &= queue_jobs(m, "write_jobs", job=write, put=put, port=writer.job, depth=JOBS, early="y_pad_0")

        def scaled(elements: Value) -> Value:
            """Return the bytes of ``elements``, chosen before anything is added, which takes one adder."""
            sizes = [elements << exact_log2(size) for size in self.element_bytes]
            return sizes[WIDE] if len(sizes) == 1 else Mux(narrow, sizes[NARROW], sizes[WIDE])

        m.d.comb += [
            self.job.ready.eq(room),
            rows.addr.eq(self.base + scaled(insn.dram_base)),
            rows.row_bytes.eq(scaled(insn.x_size)),
            rows.stride_bytes.eq(scaled(insn.x_stride)),
            rows.rows.eq(insn.y_size),
            read.kind.eq(narrow),
            read.offset.eq(rows.addr),
            read.stride.eq(rows.stride_bytes),
            write.kind.eq(narrow),
            write.tag.eq(self.job.p.tag),
        ]
        pads = ("sram_base", "x_pad_0", "x_pad_1", "y_pad_0", "y_pad_1")
        m.d.comb += [entry[name].eq(insn[name]) for entry in (read, write) for name in ("x_size", "y_size")]
        m.d.comb += [write[name].eq(insn[name]) for name in pads]

    def _collect(self, m: Module, writer: TileWriter) -> None:
        """Collect the parts of a tile. A whole tile or a zero goes on, and where its bank is taken all wait for it.

        Whether that is so is known when a cycle begins. Nothing of the next job is taken before the last tile of a job
        has gone.
        """
        write = writer.write.p
        pending = Signal()
        tag = Signal(TAG_WIDTH, reset_less=True)
        tile = Signal(self.config.acc_elem_bits, reset_less=True)
        address = Signal(self.config.log_acc_depth, reset_less=True)
        empties = Signal(init=1)  # nothing is left after this cycle
        place = Signal(self.config.log_acc_depth)
        bank = Signal(len(self.banks))
        ends = Signal()
        goes_on = Signal()
        m.d.comb += [
            writer.write.ready.eq(empties),
            ends.eq(Array(write.lane == self._lanes(size) - 1 for size in self.element_bytes)[write.kind]),
            goes_on.eq(writer.write.valid & (write.zero | ends)),
            place.eq(place_of(write.address)),
            bank.eq(Cat(bank_of_place(place) == index for index in range(len(self.banks)))),
            self.done.valid.eq(pending & empties),
            self.done.tag.eq(tag),
            self.data.eq(tile),
            self.address.eq(address),
        ]
        with m.If(self.done.valid):
            m.d.sync += pending.eq(0)
        with m.If(writer.done):
            m.d.sync += [pending.eq(1), tag.eq(writer.tag)]
        m.d.sync += empties.eq(Mux(empties, ~goes_on | self._is_free(place), self._is_free(address)))
        with m.If(empties):
            m.d.sync += [
                self.banks.eq(Mux(goes_on, bank, 0)),
                self.tile_banks.eq(Mux(writer.write.valid & ends & ~write.zero, bank, 0)),
                address.eq(place),
            ]
            # Where no part comes, this one's place is filled by what is wrong, until it does.
            self._take_part(m, tile, write)

    def _lanes(self, size: int) -> int:
        """Return how many parts an element of ``size`` bytes comes in."""
        return max(1, size * 8 // self.hardware.data_width)

    def _is_free(self, place: Value) -> Value:
        """Return whether the bank of ``place`` can be written to in the next cycle."""
        return ~self.taken.bit_select(bank_of_place(place), 1)

    def _take_part(self, m: Module, tile: Signal, write: Any) -> None:
        """Put a part into its place in the tile. What it is there is chosen once for all places, by its kind."""
        parts = [self._part(write.data, kind) for kind in range(len(self.element_bytes))]
        shortest, longest = min(map(len, parts)), max(map(len, parts))
        chosen = Array(part.replicate(longest // len(part)) for part in parts)[write.kind]
        for first in range(0, len(tile), shortest):
            with m.If(Array(write.lane == first // len(part) for part in parts)[write.kind]):
                m.d.sync += tile[first : first + shortest].eq(chosen[first % longest :][:shortest])

    def _part(self, beat: Value, kind: int) -> Value:
        """Return the bits of a tile that come in one part: numbers of eight bits are widened."""
        part = beat[: min(self.element_bytes[kind] * 8, self.hardware.data_width)]
        if kind == WIDE:
            return part
        numbers = [part.word_select(index, 8) for index in range(len(part) // 8)]
        return Cat(Cat(number, number[-1].replicate(24)) for number in numbers)
