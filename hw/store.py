"""The store module: STORE, which truncates accumulator tiles and writes them to DRAM.

Tests: ``tests/hw/test_store.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from hw.dma.address import BurstWalker
from hw.dma.packer import Packer, packer_job_layout
from hw.interfaces import ElementStream, WriteClient
from hw.job_queue import queue_jobs
from hw.layouts import instruction_struct
from hw.registered_fifo import RegisteredFIFO
from isa.config import VTAConfig
from isa.machine.causes import Cause
from isa.machine.hardware_config import HardwareConfig

__all__ = ["StoreStage"]


class StoreStage(wiring.Component):
    """Executes STORE instructions in order; each begins while the responses of those before are on their way.

    An instruction starts (and pops) as soon as its token is there, but not in the first cycle in which it is offered:
    its address is added up in that one. Its first burst is asked for and its first tile is read in the cycle after its
    start. The push is sent in the cycle of its last write response.

    Parameters
    ----------
    vta : VTAConfig
        Size of an output element, layout of instructions.
    hardware : HardwareConfig
        Widths of the memory port, and how far to run ahead.

    Members
    -------
    insn : In(stream of 128 bits)
        Legal instructions, from the queue.
    g2s_available : In(1), g2s_pop : Out(1), s2g_push : Out(1)
        The token queues from and to the compute module.
    out_base : In(addr_width)
        Byte address that DRAM addresses count from: a multiple of the beat.
    mem : Out(WriteClient)
        Towards the memory engine.
    tiles : Out(ElementStream)
        Output elements: accumulator elements cut to the low bits of each lane.
    start : Out(1)
        An instruction starts in this cycle.
    completed : Out(1)
        The oldest instruction completes in this cycle.
    cause : Out(Cause)
        What this cycle goes to.
    idle : Out(1)
        No instruction is in progress, and none is offered.
    """

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig) -> None:
        self.vta = vta
        self.hardware = hardware
        tiles = ElementStream(address_width=vta.log_acc_depth, element_width=vta.out_elem_bits)
        super().__init__(
            {
                "insn": In(stream.Signature(128)),
                "g2s_available": In(1),
                "g2s_pop": Out(1),
                "s2g_push": Out(1),
                "out_base": In(hardware.addr_width),
                "mem": Out(WriteClient(addr_width=hardware.addr_width, data_width=hardware.data_width)),
                "tiles": Out(tiles),
                "start": Out(1),
                "completed": Out(1),
                "cause": Out(Cause),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Join front, walker, tile addresses, packer and the list of bursts without a response."""
        m = Module()
        hardware = self.hardware
        element_bytes = self.vta.out_elem_bytes
        m.submodules.walker = walker = BurstWalker(
            addr_width=hardware.addr_width,
            data_width=hardware.data_width,
            burst_beats=hardware.burst_beats,
            size_width=16 + exact_log2(element_bytes),
            aligned=element_bytes >= hardware.beat_bytes,
        )
        m.submodules.packer = packer = Packer(data_width=hardware.data_width, element_bytes=element_bytes)
        wiring.connect(m, packer.beats, wiring.flipped(self.mem.data))
        wiring.connect(m, wiring.flipped(self.tiles.data), packer.elements)
        insn = data.View(instruction_struct(self.vta, "STORE"), self.insn.payload)
        begins = Signal()
        nothing = Signal()
        address = Signal(hardware.addr_width)
        empty = Signal()
        known = Signal()  # these two are those of the instruction that is offered
        m.d.sync += [
            known.eq(self.insn.valid & ~self.start),
            address.eq(self.out_base + (insn.dram_base << exact_log2(element_bytes))),
            empty.eq((insn.x_size == 0) | (insn.y_size == 0)),
        ]
        tiles_free = self._elaborate_tiles(m, insn, begins=begins)
        bursts_free, pending = self._elaborate_bursts(m, walker, nothing=nothing, push=insn.push_prev)
        jobs_free = self._elaborate_jobs(m, insn, walker, packer, begins=begins, address=address)
        m.d.comb += [
            self.start.eq(known & (~insn.pop_prev | self.g2s_available) & tiles_free & bursts_free & jobs_free),
            begins.eq(self.start & ~empty),
            nothing.eq(self.start & empty),
            self.insn.ready.eq(self.start),
            self.g2s_pop.eq(self.start & insn.pop_prev),
        ]
        self._account(m, known, pending=pending, packing=packer.busy | packer.job.valid, asking=walker.busy)
        return m

    def _elaborate_jobs(
        self, m: Module, insn: Any, walker: BurstWalker, packer: Packer, *, begins: Signal, address: Signal
    ) -> Value:
        """Hand the rows of the instruction that begins to walker and packer; return whether both can take them."""
        hardware = self.hardware
        log = exact_log2(self.vta.out_elem_bytes)
        request = walker.request.p
        job = Signal(packer_job_layout(data_width=hardware.data_width))
        m.d.comb += [
            walker.request.valid.eq(begins),
            request.addr.eq(address),
            request.row_bytes.eq(insn.x_size << log),
            request.stride_bytes.eq(insn.x_stride << log),
            request.rows.eq(insn.y_size),
            job.offset.eq(request.addr),
            job.stride.eq(request.stride_bytes),
            job.x_size.eq(insn.x_size),
            job.y_size.eq(insn.y_size),
        ]
        room = queue_jobs(m, "jobs", job=job, put=begins, port=packer.job, depth=hardware.store_jobs)
        return room & ~walker.busy

    def _account(self, m: Module, known: Signal, *, pending: Value, packing: Value, asking: Value) -> None:
        """Say what the cycle goes to."""
        m.d.comb += self.idle.eq(~(pending | asking | packing | self.insn.valid))
        with m.If((self.mem.data.valid & self.mem.data.ready) | self.start):
            m.d.comb += self.cause.eq(Cause.WORK)
        with m.Elif(self.mem.data.valid | pending):
            m.d.comb += self.cause.eq(Cause.MEMORY)
        with m.Elif(packing):
            m.d.comb += self.cause.eq(Cause.HAZARD)
        with m.Elif(known):
            m.d.comb += self.cause.eq(Cause.TOKEN_PREV)
        with m.Else():
            m.d.comb += self.cause.eq(Cause.INSTRUCTION)

    def _elaborate_tiles(self, m: Module, insn: Any, *, begins: Any) -> Value:
        """Ask for the tiles of one instruction after the other, row by row; they are consecutive.

        Returns whether the next instruction may begin.
        """
        x_size = Signal(16)
        x_left = Signal(16)
        y_left = Signal(16)
        x_single = Signal()
        x_last = Signal()  # of the tiles in the row; found out one before, and so is the last row
        y_last = Signal()
        busy = Signal()
        address = Signal(max(1, self.vta.log_acc_depth))
        end = Signal()
        request = self.tiles.address
        m.d.comb += [
            request.valid.eq(busy),
            request.payload.eq(address),
            end.eq(request.ready & x_last & y_last),
        ]
        with m.If(busy & request.ready):
            m.d.sync += [address.eq(address + 1), x_left.eq(x_left - 1), x_last.eq(x_left == 2)]
            with m.If(x_last):
                m.d.sync += [x_left.eq(x_size), x_last.eq(x_single), y_left.eq(y_left - 1), y_last.eq(y_left == 2)]
        with m.If(busy & end):
            m.d.sync += busy.eq(0)
        with m.If(self.start):
            m.d.sync += [
                busy.eq(begins),
                address.eq(insn.sram_base),
                x_size.eq(insn.x_size),
                x_left.eq(insn.x_size),
                y_left.eq(insn.y_size),
                x_single.eq(insn.x_size == 1),
                x_last.eq(insn.x_size == 1),
                y_last.eq(insn.y_size == 1),
            ]
        return ~busy | end

    def _elaborate_bursts(self, m: Module, walker: Any, *, nothing: Any, push: Any) -> tuple[Value, Value]:
        """List every burst, and every instruction without one, and push when the last burst of its instruction is done.

        Returns whether there is room for an instruction without a burst, and whether the list has an entry.
        """
        listed = self.hardware.write_bursts + 2
        m.submodules.bursts = bursts = RegisteredFIFO(width=3, depth=listed)
        job_push = Signal()
        done = Signal(bits_for(listed))
        has_done = Signal()
        retire = Signal()
        is_burst = bursts.r_data[0]
        is_push = bursts.r_data[1]
        is_last = bursts.r_data[2]
        command = Signal()
        last = Signal()
        m.d.comb += [
            self.mem.cmd.payload.eq(walker.cmd.payload),
            self.mem.cmd.valid.eq(walker.cmd.valid & bursts.w_rdy),
            walker.cmd.ready.eq(self.mem.cmd.ready & bursts.w_rdy),
            command.eq(walker.cmd.valid & walker.cmd.ready),
            bursts.w_en.eq(command | nothing),
            last.eq((command & walker.last) | nothing),
            bursts.w_data.eq(Cat(command, last & Mux(nothing, push, job_push), last)),
            has_done.eq(self.mem.done | (done != 0)),
            retire.eq(bursts.r_rdy & (~is_burst | has_done)),
            bursts.r_en.eq(retire),
            self.s2g_push.eq(retire & is_push),
            self.completed.eq(retire & is_last),
        ]
        m.d.sync += done.eq(done + self.mem.done - (retire & is_burst))
        with m.If(self.start):
            m.d.sync += job_push.eq(push)
        return bursts.w_rdy, bursts.r_rdy
