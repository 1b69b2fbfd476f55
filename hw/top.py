"""The accelerator for a system with AXI: registers behind AXI4-Lite, memory behind AXI4.

Tests: ``tests/hw/test_top.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.cause_counters import CauseCounters
from hw.core import Core, memory_port
from hw.interfaces import AXI4Lite
from hw.registers import ControlRegisters
from isa.config import VTAConfig
from isa.machine.counters import COUNTED_MODULES
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import MAP_BYTES

__all__ = ["Top"]


class Top(wiring.Component):
    """The core with its shells. No output of a bus depends on an input of the same cycle.

    ``rst`` forgets the bursts that are under way, so it goes together with a reset of the memory behind ``m_axi``, as
    AXI asks for. The register ``reset`` is for the accelerator alone: it lets memory end what was begun.

    Parameters
    ----------
    vta : VTAConfig
        What programs see.
    hardware : HardwareConfig
        What they do not see.

    Members
    -------
    s_axil : In(AXI4Lite)
        Control registers (``isa.machine.register_map``).
    m_axi : Out(AXI4)
        DRAM.
    irq : Out(1)
        A launch has ended, well or with an error, and nobody has acknowledged it; if it is enabled.
    """

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig) -> None:
        self.vta = vta
        self.hardware = hardware
        super().__init__(
            {
                "s_axil": In(AXI4Lite(addr_width=exact_log2(MAP_BYTES))),
                "m_axi": Out(memory_port(hardware)),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Join registers, counters and core."""
        m = Module()
        m.submodules.registers = registers = ControlRegisters(self.vta, self.hardware)
        m.submodules.core = core = Core(self.vta, self.hardware)
        wiring.connect(m, wiring.flipped(self.s_axil), registers.bus)
        wiring.connect(m, registers.control, core.control)
        wiring.connect(m, core.axi, wiring.flipped(self.m_axi))
        m.d.comb += self.irq.eq(registers.irq)
        if self.hardware.cause_counters:
            m.submodules.counters = counters = CauseCounters()
            m.d.comb += [
                counters.begins.eq(core.begins),
                counters.running.eq(core.running),
                counters.index.eq(registers.count_index),
                registers.count.eq(counters.value),
                *(
                    counters.causes[number].eq(getattr(core, f"{name}_cause"))
                    for number, name in enumerate(COUNTED_MODULES)
                ),
            ]
        return m
