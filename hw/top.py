"""The accelerator for a system with AXI: registers behind AXI4-Lite, memory behind AXI4.

Tests: ``tests/hw/test_top.py``.
"""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.core import Core
from hw.interfaces import AXI4, AXI4Lite
from hw.registers import ControlRegisters
from isa.config import VTAConfig
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import MAP_BYTES

__all__ = ["Top"]


class Top(wiring.Component):
    """The core with its shells.

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
        The last launch has ended, well or with an error; until the next one begins.
    """

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig) -> None:
        self.vta = vta
        self.hardware = hardware
        super().__init__(
            {
                "s_axil": In(AXI4Lite(addr_width=exact_log2(MAP_BYTES))),
                "m_axi": Out(AXI4(addr_width=hardware.addr_width, data_width=hardware.data_width)),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Join registers and core."""
        m = Module()
        m.submodules.registers = registers = ControlRegisters(self.vta, self.hardware)
        m.submodules.core = core = Core(self.vta, self.hardware)
        wiring.connect(m, wiring.flipped(self.s_axil), registers.bus)
        wiring.connect(m, registers.control, core.control)
        wiring.connect(m, core.axi, wiring.flipped(self.m_axi))
        ended = core.control.done | (core.control.error != ErrorCode.NONE)
        m.d.comb += self.irq.eq(ended & ~core.control.busy)
        return m
