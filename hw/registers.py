"""The control registers behind AXI4-Lite.

Tests: ``tests/hw/test_registers.py``.
"""

from typing import Any, assert_never

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.control import CoreControl
from hw.interfaces import AXI4Lite
from isa.config import VTAConfig
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import MAP_BYTES, Access, Register, control_registers

__all__ = ["ControlRegisters"]


class ControlRegisters(wiring.Component):
    """Drives the core from an AXI4-Lite port.

    One write and one read at a time. A write takes effect in the cycle in which address and data are both there, and
    its response follows in the next cycle, as do the data of a read. Addresses repeat every 256 bytes.

    Parameters
    ----------
    vta : VTAConfig
        For its digest.
    hardware : HardwareConfig
        For its digest, and the width of addresses.

    Members
    -------
    bus : In(AXI4Lite)
        From the host.
    control : Out(CoreControl)
        To the core.
    """

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig) -> None:
        self.registers = control_registers(vta, hardware)
        super().__init__(
            {
                "bus": In(AXI4Lite(addr_width=exact_log2(MAP_BYTES))),
                "control": Out(CoreControl(hardware)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the two handshakes and the registers."""
        m = Module()
        bus = self.bus
        write = Signal()
        read = Signal()
        value = Signal(32)
        mask = Signal(32)
        m.d.comb += [
            write.eq(bus.awvalid & bus.wvalid & (~bus.bvalid | bus.bready)),
            bus.awready.eq(write),
            bus.wready.eq(write),
            read.eq(bus.arvalid & (~bus.rvalid | bus.rready)),
            bus.arready.eq(read),
            mask.eq(Cat(bit.replicate(8) for bit in bus.wstrb)),
        ]
        with m.If(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(write):
            m.d.sync += bus.bvalid.eq(1)
        with m.If(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        with m.If(read):
            m.d.sync += [bus.rvalid.eq(1), bus.rdata.eq(value)]
        with m.Switch(bus.araddr[2:]):
            for entry in self.registers:
                content = self._content(entry)
                for word in range(entry.words):
                    with m.Case(entry.offset // 4 + word):
                        m.d.comb += value.eq(content[32 * word : 32 * word + 32])
        with m.If(write), m.Switch(bus.awaddr[2:]):
            for entry in self.registers:
                for word in range(entry.words):
                    with m.Case(entry.offset // 4 + word):
                        self._write(m, entry, word, mask=mask)
        return m

    def _content(self, entry: Register) -> Any:
        """Return what the register reads as."""
        control = self.control
        match entry.access:
            case Access.WRITE:
                return Const(0, 32)
            case Access.CONSTANT:
                return Const(entry.value, entry.width)
            case Access.READ if entry.name == "status":
                failed = control.error != ErrorCode.NONE
                return Cat(control.busy, control.done, failed, Const(0, 5), control.error)
            case Access.READ | Access.READ_WRITE:
                return getattr(control, entry.name)
            case _:
                assert_never(entry.access)

    def _write(self, m: Module, entry: Register, word: int, *, mask: Any) -> None:
        """Take the enabled bytes of a write."""
        match entry.access:
            case Access.WRITE:
                m.d.comb += getattr(self.control, entry.name).eq(self.bus.wdata & mask)
            case Access.READ_WRITE:
                part = getattr(self.control, entry.name)[32 * word : 32 * word + 32]
                m.d.sync += part.eq((part & ~mask) | (self.bus.wdata & mask))
            case Access.READ | Access.CONSTANT:
                pass
            case _:
                assert_never(entry.access)
