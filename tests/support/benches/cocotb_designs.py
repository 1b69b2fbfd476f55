"""Designs that only benches need: a block together with what it stands on."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import AXI4, ElementStream
from hw.memory_engine import MemoryEngine
from hw.store import StoreStage
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

__all__ = ["StoreToMemory"]


class StoreToMemory(wiring.Component):  # Amaranth has no types
    """The store module on the memory engine: tiles on one side, the AXI write channels on the other.

    Parameters
    ----------
    vta, hardware : VTAConfig, HardwareConfig
        Sizes.

    Members
    -------
    insn, g2s_available, g2s_pop, s2g_push, out_base, tiles, idle
        As of ``StoreStage``.
    axi : Out(AXI4)
        As of ``MemoryEngine``.
    """

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig) -> None:
        self.vta = vta
        self.hardware = hardware
        super().__init__(
            {
                "insn": In(stream.Signature(128)),
                "g2s_available": In(1),
                "g2s_pop": Out(1),
                "s2g_push": Out(1),
                "out_base": In(hardware.addr_width),
                "tiles": Out(ElementStream(address_width=vta.log_acc_depth, element_width=vta.out_elem_bits)),
                "idle": Out(1),
                "axi": Out(AXI4(addr_width=hardware.addr_width, data_width=hardware.data_width)),
            }
        )

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        """Join the two."""
        m = Module()
        hardware = self.hardware
        m.submodules.store = store = StoreStage(self.vta, hardware)
        m.submodules.engine = engine = MemoryEngine(
            addr_width=hardware.addr_width,
            data_width=hardware.data_width,
            readers=1,
            urgent=0,
            read_bursts=1,
            read_beats=1,
            write_bursts=hardware.write_bursts,
        )
        wiring.connect(m, store.mem, engine.writer)
        wiring.connect(m, store.tiles, wiring.flipped(self.tiles))
        wiring.connect(m, engine.axi, wiring.flipped(self.axi))
        wiring.connect(m, wiring.flipped(self.insn), store.insn)
        m.d.comb += [
            store.g2s_available.eq(self.g2s_available),
            self.g2s_pop.eq(store.g2s_pop),
            self.s2g_push.eq(store.s2g_push),
            store.out_base.eq(self.out_base),
            self.idle.eq(store.idle),
        ]
        return m
