"""A module of the core with its memory port, a memory engine and a DRAM: for tests of load, store and fetch."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from hw.interfaces import AXI4, WriteClient
from hw.memory_engine import MemoryEngine
from isa.machine.hardware_config import HardwareConfig

__all__ = ["WithMemory"]


class WithMemory(wiring.Component):
    """``module`` with its port ``mem`` joined to AXI4; the module's other ports stay as they are."""

    def __init__(self, module: Any, hardware: HardwareConfig) -> None:
        self.module = module
        self.hardware = hardware
        super().__init__({"axi": Out(AXI4(addr_width=hardware.addr_width, data_width=hardware.data_width))})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's protocol
        m = Module()
        hardware = self.hardware
        m.submodules.module = self.module
        m.submodules.engine = engine = MemoryEngine(
            addr_width=hardware.addr_width,
            data_width=hardware.data_width,
            readers=1,
            urgent=0,
            read_bursts=hardware.read_bursts,
            read_beats=hardware.read_beats,
            write_bursts=hardware.write_bursts,
        )
        writes = isinstance(self.module.signature.members["mem"].signature, WriteClient)
        wiring.connect(m, self.module.mem, engine.writer if writes else engine.readers[0])
        wiring.connect(m, engine.axi, wiring.flipped(self.axi))
        return m
