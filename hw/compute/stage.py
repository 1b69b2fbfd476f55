"""The compute module: window, binder, the five units, micro-op memory and accumulator, joined.

Tests: ``tests/hw/compute/test_stage_*.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from hw.accumulator import Accumulator, place_of
from hw.compute.acc_loader import AccLoader
from hw.compute.alu import TensorAlu, alu_write_delay
from hw.compute.binder import Binder
from hw.compute.gemm import WRITE_DELAY, GemmCore
from hw.compute.instruction_queue import InstructionQueue
from hw.compute.jobs import WINDOW, Unit
from hw.compute.mac_row import dot_latency
from hw.compute.reset_walk import ResetWalk
from hw.compute.uop_loader import UopLoader
from hw.compute.uop_memory import UopMemory
from hw.compute.window import UNITS, Window
from hw.interfaces import ElementRead, ElementStream, ReadClient, inputs_read
from hw.layouts import INSTRUCTION_WIDTH, instruction_struct
from hw.skid import Skid
from isa.config import VTAConfig
from isa.machine.causes import Cause
from isa.machine.hardware_config import HardwareConfig
from isa.machine.multipliers import share_out

__all__ = ["ComputeStage"]

GEMM_READER, ALU_READER, BINDER_READER = range(3)


class ComputeStage(wiring.Component):
    """Executes LOAD of UOP and ACC, GEMM, ALU and FINISH.

    A GEMM micro-op or reset, and an ALU tile, take one cycle each, without a gap between instructions; GEMM and ALU
    work at the same time, as loads and resets do, wherever their accumulators do not meet. See ``Window`` for the order
    and ``Accumulator`` for who waits for whom.

    Parameters
    ----------
    vta, hardware : VTAConfig, HardwareConfig
        Sizes.

    Members
    -------
    insn : In(stream of 128 bits)
        Legal instructions of this module in program order; they wait in a queue of ``inst_queue_depth`` of them.
    l2g_available, l2g_pop, s2g_available, s2g_pop : In, Out, In, Out
        Tokens from the load and the store module, taken when an instruction is issued.
    g2l_push, g2s_push : Out(1)
        Tokens to them, in the cycle in which an instruction and all before it are complete (``Window`` says when).
    inp_read, wgt_read : Out(ElementRead)
        The scratchpads of the load module; of inputs as many elements at once as there are depthwise taps.
    uop_dma, acc_dma : Out(ReadClient)
        DRAM.
    uop_base, acc_base : In(addr_width)
        Added to the addresses.
    store_read : In(ElementStream)
        Accumulator tiles, cut to their low output bits, for the store module.
    finish : Out(1)
        FINISH and every instruction before it are complete: one pulse.
    cause : Out(Cause)
        What this cycle goes to.
    start : Out(1)
        An instruction is issued.
    idle : Out(1)
        No instruction is in progress, and none is offered.
    """

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig) -> None:
        self.vta = vta
        self.hardware = hardware
        client = ReadClient(addr_width=hardware.addr_width, data_width=hardware.data_width)
        tiles = ElementStream(address_width=vta.log_acc_depth, element_width=vta.out_elem_bits)
        super().__init__(
            {
                "insn": In(stream.Signature(INSTRUCTION_WIDTH)),
                "l2g_available": In(1),
                "l2g_pop": Out(1),
                "s2g_available": In(1),
                "s2g_pop": Out(1),
                "g2l_push": Out(1),
                "g2s_push": Out(1),
                "inp_read": Out(inputs_read(vta)),
                "wgt_read": Out(ElementRead(address_width=vta.log_wgt_depth, element_width=vta.wgt_elem_bits)),
                "uop_dma": Out(client),
                "acc_dma": Out(client),
                "uop_base": In(hardware.addr_width),
                "acc_base": In(hardware.addr_width),
                "store_read": In(tiles),
                "finish": Out(1),
                "cause": Out(Cause),
                "start": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Join the parts."""
        m = Module()
        vta = self.vta
        m.submodules.queue = queue = InstructionQueue(vta, depth=self.hardware.inst_queue_depth)
        m.submodules.window = window = Window(vta)
        m.submodules.binder = binder = Binder(vta)
        m.submodules.uop_loader = uop_loader = UopLoader(vta, self.hardware)
        m.submodules.acc_loader = acc_loader = AccLoader(vta, self.hardware)
        lanes = vta.batch * vta.block_out
        shared = bool(self.hardware.share_multipliers) and vta.block_out > 1
        multipliers = share_out(
            self.hardware.most_multipliers, products=lanes * vta.block_in, lanes=lanes, shared=shared
        )
        ahead = alu_write_delay(vta) - WRITE_DELAY
        m.submodules.gemm = gemm = GemmCore(
            vta,
            ahead=ahead,
            lead=max(0, ahead - dot_latency(vta.block_in)),
            share_multipliers=shared,
            multipliers=multipliers.gemm,
        )
        m.submodules.alu = alu = TensorAlu(vta, multipliers=multipliers.lanes, wide_multipliers=shared)
        m.submodules.reset = reset = ResetWalk(vta)
        m.submodules.uops = uops = UopMemory(address_width=uop_loader.address_width, readers=3)
        m.submodules.accumulator = accumulator = Accumulator(
            address_width=vta.log_acc_depth,
            lanes=lanes,
            lane_width=vta.acc_width,
            out_width=vta.out_width,
        )
        connect(m, flipped(self.insn), queue.source)
        connect(m, queue.sink, window.insn)
        self._join_window(m, window)
        self._join_binder(m, window, binder, uop_loader)
        self._join_uops(m, uops, uop_loader, gemm, alu, binder)
        self._join_accumulator(m, accumulator, gemm, alu, reset, acc_loader)
        self._join_resets(m, window, reset)
        connect(m, window.jobs_uop, uop_loader.job)
        connect(m, window.jobs_acc, acc_loader.job)
        connect(m, window.jobs_gemm, gemm.job)
        connect(m, window.jobs_alu, alu.job)
        connect(m, uop_loader.dma, flipped(self.uop_dma))
        connect(m, acc_loader.dma, flipped(self.acc_dma))
        self._join_operands(m, gemm)
        m.d.comb += [
            uop_loader.base.eq(self.uop_base),
            acc_loader.base.eq(self.acc_base),
            gemm.bubble.eq(alu.bubble | accumulator.bubble),
        ]
        units: dict[Unit, Any] = {
            Unit.UOP: uop_loader,
            Unit.ACC: acc_loader,
            Unit.GEMM: gemm,
            Unit.ALU: alu,
            Unit.RESET: reset,
        }
        m.d.comb += [window.done[index].eq(units[unit].done) for index, unit in enumerate(UNITS)]
        self._account(m, window, units)
        return m

    def _join_operands(self, m: Module, gemm: GemmCore) -> None:
        """Let GEMM read the scratchpads of the load module."""
        m.d.comb += [
            self.inp_read.address.eq(gemm.inp_address),
            self.inp_read.enable.eq(gemm.operand_enable),
            gemm.inp_data.eq(self.inp_read.data),
            self.wgt_read.address.eq(gemm.wgt_address),
            self.wgt_read.enable.eq(gemm.operand_enable),
            gemm.wgt_data.eq(self.wgt_read.data),
        ]

    def _join_window(self, m: Module, window: Window) -> None:
        """Pass instructions and tokens through."""
        m.d.comb += [
            self.start.eq(window.insn.valid & window.insn.ready),
            window.l2g_available.eq(self.l2g_available),
            window.s2g_available.eq(self.s2g_available),
            self.l2g_pop.eq(window.l2g_pop),
            self.s2g_pop.eq(window.s2g_pop),
            self.g2l_push.eq(window.g2l_push),
            self.g2s_push.eq(window.g2s_push),
            self.finish.eq(window.finish),
        ]

    def _join_binder(self, m: Module, window: Window, binder: Binder, uop_loader: UopLoader) -> None:
        """Let the binder look at instructions before they are queued."""
        m.d.comb += [
            binder.valid.eq(window.bind_valid),
            binder.unit.eq(window.bind_unit),
            binder.insn.eq(window.bind_insn),
            binder.complete.eq(window.bind_complete),
            binder.uops_pending.eq(window.bind_uops_pending),
            binder.uops_changed.eq(uop_loader.done.valid),
            window.bind_take.eq(binder.take),
            window.binding.eq(binder.binding),
        ]

    def _join_uops(
        self, m: Module, uops: UopMemory, loader: UopLoader, gemm: GemmCore, alu: TensorAlu, binder: Binder
    ) -> None:
        """Give the micro-op memory its writer and readers."""
        m.d.comb += [
            uops.write_enable.eq(loader.write_enable),
            uops.write_address.eq(loader.write_address),
            uops.write_data.eq(loader.write_data),
        ]
        for index, reader in ((GEMM_READER, gemm), (ALU_READER, alu), (BINDER_READER, binder)):
            m.d.comb += [
                uops.read_enable[index].eq(reader.uop_enable),
                uops.read_address[index].eq(reader.uop_address),
                reader.uop_data.eq(uops.read_data[index]),
            ]

    def _join_accumulator(
        self, m: Module, accumulator: Accumulator, gemm: GemmCore, alu: TensorAlu, reset: ResetWalk, loader: AccLoader
    ) -> None:
        """Give the accumulator its users."""
        m.d.comb += [
            accumulator.gemm_read.eq(gemm.acc_read),
            accumulator.gemm_address.eq(gemm.acc_address),
            gemm.acc_data.eq(accumulator.gemm_data),
            alu.gemm_next.eq(gemm.acc_next),
            alu.gemm_next_address.eq(gemm.acc_next_address),
            alu.gemm_ahead.eq(gemm.acc_ahead),
            alu.gemm_ahead_address.eq(gemm.acc_ahead_address),
            accumulator.reset_write.eq(reset.write),
            accumulator.reset_address.eq(reset.address),
            reset.free.eq(accumulator.free),
        ]
        for name in ("write", "write_address", "write_data"):
            m.d.comb += getattr(accumulator, f"gemm_{name}").eq(getattr(gemm, f"acc_{name}"))
            m.d.comb += getattr(accumulator, f"alu_{name}").eq(getattr(alu, name))
        m.d.comb += [
            getattr(accumulator, f"load_{name}").eq(getattr(loader, name))
            for name in ("banks", "tile_banks", "address", "data")
        ]
        m.d.comb += loader.taken.eq(accumulator.taken)
        for name in ("dst_read", "dst_address", "src_read", "src_address"):
            m.d.comb += getattr(accumulator, name).eq(getattr(alu, name))
        for name in ("dst_data", "src_data"):
            m.d.comb += getattr(alu, name).eq(getattr(accumulator, name))
        # A place for an address, so that the store module waits for no grant of the same cycle.
        m.submodules.store_address = place = Skid(self.store_read.address.payload.shape())
        connect(m, flipped(self.store_read).address, place.source)
        m.d.comb += place.source.p.eq(place_of(self.store_read.address.p))
        connect(m, place.sink, accumulator.store_address)
        m.d.comb += [
            self.store_read.data.valid.eq(accumulator.store_data.valid),
            self.store_read.data.p.eq(accumulator.store_data.p),
            accumulator.store_data.ready.eq(self.store_read.data.ready),
        ]

    def _join_resets(self, m: Module, window: Window, reset: ResetWalk) -> None:
        """Translate a reset's loops, with what the binder found out about its micro-ops."""
        insn = data.View(instruction_struct(self.vta, "GEMM"), window.jobs_reset.p.insn)
        count = Signal(self.vta.log_uop_depth + 1)
        m.d.comb += [
            count.eq(insn.uop_end - insn.uop_bgn),
            reset.job.valid.eq(window.jobs_reset.valid),
            window.jobs_reset.ready.eq(reset.job.ready),
            reset.job.p.tag.eq(window.jobs_reset.p.tag),
            reset.job.p.first.eq(window.reset_first),
            reset.job.p.counts[0].eq(count),
            reset.job.p.counts[1].eq(insn.iter_in),
            reset.job.p.counts[2].eq(insn.iter_out),
            reset.job.p.steps[0].eq(window.reset_step),
            reset.job.p.steps[1].eq(insn.dst_factor_in),
            reset.job.p.steps[2].eq(insn.dst_factor_out),
        ]

    def _account(self, m: Module, window: Window, units: dict[Unit, Any]) -> None:
        """Say what the cycle goes to."""
        pending = {unit: Signal(bits_for(WINDOW), name=f"{unit.name.lower()}_pending") for unit in (Unit.UOP, Unit.ACC)}
        for unit, count in pending.items():
            job = getattr(window, f"jobs_{unit.name.lower()}")
            m.d.sync += count.eq(count + (job.valid & job.ready) - units[unit].done.valid)
        working = [part.working for part in units.values()]
        m.d.comb += self.idle.eq(window.empty & ~window.insn.valid)
        with m.If(Cat(working).any()):
            m.d.comb += self.cause.eq(Cause.WORK)
        with m.Elif(window.blocked_prev):
            m.d.comb += self.cause.eq(Cause.TOKEN_PREV)
        with m.Elif(window.blocked_next):
            m.d.comb += self.cause.eq(Cause.TOKEN_NEXT)
        with m.Elif(pending[Unit.UOP] != 0):
            m.d.comb += self.cause.eq(Cause.UOP_LOAD)
        with m.Elif(pending[Unit.ACC] != 0):
            m.d.comb += self.cause.eq(Cause.MEMORY)
        with m.Elif(window.waiting):
            m.d.comb += self.cause.eq(Cause.HAZARD)
        with m.Elif(~window.empty):
            m.d.comb += self.cause.eq(Cause.DRAIN)
        with m.Else():
            m.d.comb += self.cause.eq(Cause.INSTRUCTION)
