"""The control registers behind AXI4-Lite.

Tests: ``tests/hw/test_registers.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any, assert_never

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.control import CoreControl
from hw.interfaces import AXI4Lite
from isa.config import VTAConfig
from isa.machine.counters import COUNTER_WIDTH
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import CAUSES_OFFSET, MAP_BYTES, Access, Register, control_registers

__all__ = ["ControlRegisters"]


class ControlRegisters(wiring.Component):
    """Drives the core from an AXI4-Lite port.

    Addresses and data are kept as they come, so that no output of the bus depends on an input of the same cycle. A
    write takes effect two cycles after both are there, and so does a read after its address; the answer to a write is
    there in the same cycle, that to a read in the next, or when an earlier one has been taken. Addresses repeat every
    ``MAP_BYTES``.

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
    count_index, count : Out, In
        The counter of a cause (``CauseCounters``) that is read, and its value in the same cycle.
    irq : Out(1)
        A launch has ended and was not acknowledged, and interrupts are enabled.
    """

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig) -> None:
        self.registers = control_registers(vta, hardware)
        super().__init__(
            {
                "bus": In(AXI4Lite(addr_width=exact_log2(MAP_BYTES))),
                "control": Out(CoreControl(hardware)),
                "count_index": Out(exact_log2((MAP_BYTES - CAUSES_OFFSET) // 4)),
                "count": In(COUNTER_WIDTH),
                "irq": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the two handshakes and the registers."""
        m = Module()
        self._inner = {name: Signal(name=name) for name in ("irq_enable", "irq_pending", "reset")}
        self._read(m)
        write = Signal()
        address = self._write_handshake(m, write)
        m.d.sync += [self._signal(entry.name).eq(0) for entry in self.registers if entry.access is Access.WRITE]
        with m.If(write), m.Switch(address):
            for entry in self.registers:
                for word in range(entry.words):
                    with m.Case(entry.offset // 4 + word):
                        self._write(m, entry, word)
        self._interrupt(m)  # after writes: a launch that ends in the cycle of an acknowledgement is not lost
        with m.If(self._inner["reset"]):
            m.d.sync += [
                self._signal(entry.name).eq(0)
                for entry in self.registers
                if entry.access in (Access.READ_WRITE, Access.ACKNOWLEDGE)
            ]
        m.d.comb += self.control.reset.eq(self._inner["reset"])
        return m

    def _signal(self, name: str) -> Any:
        """Return the signal of a register: one of the interrupts, or one of the core's control."""
        return self._inner[name] if name in self._inner else getattr(self.control, name)

    def _interrupt(self, m: Module) -> None:
        """Note the end of a launch, but not the one that a reset brings."""
        pending = self._inner["irq_pending"]
        busy = Signal()
        silent = Signal()
        m.d.sync += busy.eq(self.control.busy)
        m.d.comb += self.irq.eq(pending & self._inner["irq_enable"])
        with m.If(busy & ~self.control.busy):
            m.d.sync += silent.eq(0)
            with m.If(~silent):
                m.d.sync += pending.eq(1)
        with m.If(self.control.launch):  # its end interrupts, though it waits for what a reset gave up
            m.d.sync += silent.eq(0)
        with m.If(self._inner["reset"] & self.control.busy):  # in the cycle of the end, the next one would be silent
            m.d.sync += silent.eq(1)

    def _read(self, m: Module) -> None:
        """Answer reads."""
        bus = self.bus
        asked = Signal()
        looked = Signal()  # the counter of ``word`` stands in ``count``
        self._count = Signal(COUNTER_WIDTH, name="count")
        word = Signal(len(bus.araddr) - 2)
        value = Signal(32)
        answers = Signal()
        m.d.comb += [
            bus.arready.eq(~asked),
            answers.eq(looked & (~bus.rvalid | bus.rready)),
            self.count_index.eq(word),
        ]
        m.d.sync += [looked.eq(asked & ~answers), self._count.eq(self.count)]
        with m.If(~asked):
            m.d.sync += [asked.eq(bus.arvalid), word.eq(bus.araddr[2:])]
        with m.If(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        with m.If(answers):
            m.d.sync += [asked.eq(0), bus.rvalid.eq(1), bus.rdata.eq(value)]
        with m.Switch(word):
            for entry in self.registers:
                content = self._content(entry)
                for part in range(entry.words):
                    with m.Case(entry.offset // 4 + part):
                        m.d.comb += value.eq(content[32 * part : 32 * part + 32])

    def _write_handshake(self, m: Module, write: Signal) -> Signal:
        """Set ``write`` in the cycle in which a write takes effect; return its word."""
        bus = self.bus
        has_address = Signal()
        has_data = Signal()
        word = Signal(len(bus.awaddr) - 2)
        self._data = Signal(32, name="write_data")
        self._mask = Signal(32, name="write_mask")
        m.d.comb += [
            bus.awready.eq(~has_address),
            bus.wready.eq(~has_data),
            write.eq(has_address & has_data & (~bus.bvalid | bus.bready)),
        ]
        with m.If(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(write):
            m.d.sync += [bus.bvalid.eq(1), has_address.eq(0), has_data.eq(0)]
        with m.If(~has_address):
            m.d.sync += [has_address.eq(bus.awvalid), word.eq(bus.awaddr[2:])]
        with m.If(~has_data):
            mask = Cat(bit.replicate(8) for bit in bus.wstrb)
            m.d.sync += [has_data.eq(bus.wvalid), self._data.eq(bus.wdata), self._mask.eq(mask)]
        return word

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
            case Access.READ if entry.offset >= CAUSES_OFFSET:
                return self._count
            case Access.READ | Access.READ_WRITE | Access.ACKNOWLEDGE:
                return self._signal(entry.name)
            case _:
                assert_never(entry.access)

    def _write(self, m: Module, entry: Register, word: int) -> None:
        """Take the enabled bytes of a write."""
        given = self._data & self._mask
        match entry.access:
            case Access.WRITE:
                m.d.sync += self._signal(entry.name).eq(given)
            case Access.READ_WRITE:
                part = self._signal(entry.name)[32 * word : 32 * word + 32]
                m.d.sync += part.eq((part & ~self._mask) | given)
            case Access.ACKNOWLEDGE:
                with m.If(given[0]):
                    m.d.sync += self._signal(entry.name).eq(0)
            case Access.READ | Access.CONSTANT:
                pass
            case _:
                assert_never(entry.access)
