"""The accelerator without its shells: fetch, queues, the three modules, tokens, memory engine, and launch control.

Tests: ``tests/hw/test_core_*.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.compute.stage import ComputeStage
from hw.compute.uop_loader import beats_may_wait
from hw.control import CoreControl
from hw.fetch import InstructionFetch
from hw.interfaces import AXI4
from hw.launch import LaunchControl
from hw.layouts import INSTRUCTION_WIDTH, bits_up_to, instruction_struct
from hw.load import LoadStage
from hw.memory_engine import MemoryEngine
from hw.read_link import ReadLink
from hw.registered_fifo import RegisteredFIFO
from hw.store import StoreStage
from hw.token_counter import TokenCounter
from isa.config import VTAConfig
from isa.machine.causes import Cause
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig

__all__ = ["READERS", "Core", "memory_port"]

READERS = ("fetch", "uop", "acc", "load")
"""Clients of the memory engine that read, in the order of their priority; the first two are urgent."""

_URGENT = 2


def memory_port(hardware: HardwareConfig) -> AXI4:
    """Return the signature of the port to DRAM."""
    return AXI4(addr_width=hardware.addr_width, data_width=hardware.data_width, axi3=bool(hardware.axi3))


class Core(wiring.Component):
    """Runs launches: reads instructions from DRAM, executes them, and reports.

    Parameters
    ----------
    vta : VTAConfig
        What programs see.
    hardware : HardwareConfig
        What they do not see.

    Members
    -------
    control : In(CoreControl)
        From the host.
    axi : Out(AXI4)
        To DRAM.
    fetch_cause, load_cause, compute_cause, store_cause : Out(Cause)
        What each module spends this cycle on: IDLE outside of a launch.
    begins, running : Out(1)
        ``control.cycles`` is zero in the next cycle; this one is counted in it.
    """

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig) -> None:
        self.vta = vta
        self.hardware = hardware
        super().__init__(
            {
                "control": In(CoreControl(hardware)),
                "axi": Out(memory_port(hardware)),
                "fetch_cause": Out(Cause),
                "load_cause": Out(Cause),
                "compute_cause": Out(Cause),
                "store_cause": Out(Cause),
                "begins": Out(1),
                "running": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the blocks and join them."""
        m = Module()
        vta = self.vta
        hardware = self.hardware
        m.submodules.engine = engine = MemoryEngine(
            addr_width=hardware.addr_width,
            data_width=hardware.data_width,
            readers=len(READERS),
            urgent=_URGENT,
            read_bursts=hardware.read_bursts,
            read_beats=hardware.read_beats,
            write_bursts=hardware.write_bursts,
            axi3=bool(hardware.axi3),
            cache=hardware.axi_cache,
            prot=hardware.axi_prot,
        )
        m.submodules.launch = launch = LaunchControl(hardware)
        clear = {part: self._clear(m, launch.clears, part) for part in ("fetch", "load", "compute", "store", "tokens")}
        fetch = InstructionFetch(vta, hardware)
        load = LoadStage(vta, hardware)
        compute = ComputeStage(vta, hardware)
        store = StoreStage(vta, hardware)
        m.submodules.fetch = ResetInserter(clear["fetch"])(fetch)
        m.submodules.load = ResetInserter(clear["load"])(load)
        m.submodules.compute = ResetInserter(clear["compute"])(compute)
        m.submodules.store = ResetInserter(clear["store"])(store)
        wiring.connect(m, engine.axi, wiring.flipped(self.axi))
        wiring.connect(m, wiring.flipped(self.control), launch.control)
        wiring.connect(m, fetch.mem, engine.readers[0])
        clients = ((compute.uop_dma, "compute"), (compute.acc_dma, "compute"), (load.mem, "load"))
        for index, (client, part) in enumerate(clients, 1):
            link = ReadLink(
                addr_width=hardware.addr_width,
                data_width=hardware.data_width,
                waits=client is not compute.uop_dma or beats_may_wait(hardware),
            )
            m.submodules[f"{READERS[index]}_link"] = ResetInserter(clear[part])(link)
            wiring.connect(m, client, link.client)
            wiring.connect(m, link.engine, engine.readers[index])
        wiring.connect(m, store.mem, engine.writer)
        wiring.connect(m, compute.inp_read, load.inp_read)
        wiring.connect(m, compute.wgt_read, load.wgt_read)
        wiring.connect(m, store.tiles, compute.store_read)
        self._connect_queues(m, fetch=fetch, load=load, compute=compute, store=store, clear=clear)
        self._connect_tokens(m, load=load, compute=compute, store=store, clear=clear["tokens"])
        self._connect_bases(m, launch, load=load, compute=compute, store=store)
        self._connect_launch(m, launch, engine=engine, fetch=fetch, load=load, compute=compute, store=store)
        return m

    def _clear(self, m: Module, clears: Signal, part: str) -> Signal:
        """Return the register that resets a part of the core in the cycle after ``clears``.

        Each part has its own, nearer to what it resets than one for all could be. That it looks at itself, though
        ``clears`` is never high in two cycles in a row, keeps synthesis from making one of them.
        """
        clear = Signal(name=f"clear_{part}")
        m.d.sync += clear.eq(clears & ~clear)
        return clear

    def _connect_queues(
        self, m: Module, *, fetch: Any, load: Any, compute: Any, store: Any, clear: Mapping[str, Signal]
    ) -> None:
        """Put a queue between fetch and each module; the compute module has its own."""
        wiring.connect(m, fetch.compute, compute.insn)
        for name, (source, module) in {"load": (fetch.load, load), "store": (fetch.store, store)}.items():
            early = bits_up_to(instruction_struct(self.vta, name.upper()), "pop_next")
            queue = RegisteredFIFO(width=INSTRUCTION_WIDTH, depth=self.hardware.inst_queue_depth, early=early)
            m.submodules[name + "_queue"] = ResetInserter(clear[name])(queue)
            m.d.comb += [
                queue.w_data.eq(source.payload),
                queue.w_en.eq(source.valid),
                source.ready.eq(queue.w_rdy),
                module.insn.payload.eq(queue.r_data),
                module.insn.valid.eq(queue.r_rdy),
                queue.r_en.eq(module.insn.ready),
            ]

    def _connect_tokens(self, m: Module, *, load: Any, compute: Any, store: Any, clear: Any) -> None:
        """Build the four token queues."""
        ends = {"l2g": (load, compute), "g2l": (compute, load), "g2s": (compute, store), "s2g": (store, compute)}
        for name, (giver, taker) in ends.items():
            m.submodules[name] = queue = TokenCounter()
            m.d.comb += [
                queue.clear.eq(clear),
                queue.push.eq(getattr(giver, name + "_push")),
                queue.pop.eq(getattr(taker, name + "_pop")),
                getattr(taker, name + "_available").eq(queue.available),
            ]

    def _connect_bases(self, m: Module, launch: Any, *, load: Any, compute: Any, store: Any) -> None:
        """Hand the base addresses on, which are whole beats: the launch control refuses others."""
        mask = ~(self.hardware.beat_bytes - 1)
        bases = {"inp_base": load, "wgt_base": load, "uop_base": compute, "acc_base": compute, "out_base": store}
        for name, module in bases.items():
            m.d.comb += getattr(module, name).eq(getattr(launch, name) & mask)

    def _connect_launch(
        self, m: Module, launch: Any, *, engine: Any, fetch: Any, load: Any, compute: Any, store: Any
    ) -> None:
        """Report what happens to the launch control, and show what each module spends the cycle on."""
        quiet = Signal()
        m.d.comb += [
            quiet.eq(load.idle & store.idle),
            fetch.start.eq(launch.start),
            fetch.address.eq(launch.insn_address),
            fetch.count.eq(launch.insn_count),
            engine.flush.eq(launch.flush),
            launch.memory_quiet.eq(engine.quiet),
            launch.finish.eq(compute.finish),
            launch.modules_idle.eq(quiet),
            launch.read_beat.eq(engine.read_beat),
            launch.write_beat.eq(engine.write_beat),
            launch.fetched.eq(fetch.dispatched),
            launch.load_start.eq(load.insn.valid & load.insn.ready),
            launch.compute_start.eq(compute.start),
            launch.store_start.eq(store.insn.valid & store.insn.ready),
            self.begins.eq(launch.begins),
            self.running.eq(launch.running),
        ]
        # Through a register: a launch ends with an error in the cycle after it, and cannot end well in that cycle.
        m.d.sync += [
            launch.error.eq(ErrorCode.NONE),
            launch.error_place.eq(Mux(engine.error_write, len(READERS), engine.error_reader)),
        ]
        with m.If(fetch.error != ErrorCode.NONE):
            m.d.sync += [launch.error.eq(fetch.error), launch.error_place.eq(fetch.dispatched)]
        with m.Elif(engine.error):
            m.d.sync += launch.error.eq(Mux(engine.error_write, ErrorCode.WRITE_RESPONSE, ErrorCode.READ_RESPONSE))
        causes = (
            (self.fetch_cause, fetch.cause),
            (self.load_cause, load.cause),
            (self.compute_cause, compute.cause),
            (self.store_cause, store.cause),
        )
        for shown, cause in causes:
            m.d.comb += shown.eq(Mux(launch.running, cause, Cause.IDLE))
