"""The micro-op memory: one write port, and a read port for each of its readers.

Tests: ``tests/hw/compute/test_loaders.py``, ``tests/hw/compute/test_stage_gemm.py``; ports and resets:
``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.errors import ComponentError
from hw.scratchpad import Scratchpad

__all__ = ["UOP_BITS", "UopMemory"]

UOP_BITS = 32
"""Bits of a micro-op."""


class UopMemory(wiring.Component):
    """A copy for each reader, all written alike. Data stand one cycle after a read, until the next one.

    Two neighbours are written in one cycle, wherever they begin: even and odd micro-ops lie in different memories.

    Parameters
    ----------
    address_width : int
        Bits of an address, at least 1.
    readers : int
        Read ports.

    Members
    -------
    write_enable, write_address, write_data : In
        The write port: two micro-ops, the first at ``write_address`` and the second after it (addresses wrap), each
        with its own enable.
    read_enable, read_address, read_data : In, In, Out
        One for each reader.
    """

    def __init__(self, *, address_width: int, readers: int) -> None:
        if address_width < 1:
            raise ComponentError(f"UopMemory needs addresses of at least one bit, not {address_width}")
        if readers < 1:
            raise ComponentError(f"UopMemory needs at least one reader, not {readers}")
        self.address_width = address_width
        self.readers = readers
        super().__init__(
            {
                "write_enable": In(2),
                "write_address": In(address_width),
                "write_data": In(data.ArrayLayout(UOP_BITS, 2)),
                "read_enable": In(readers),
                "read_address": In(data.ArrayLayout(address_width, readers)),
                "read_data": Out(data.ArrayLayout(UOP_BITS, readers)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the copies."""
        m = Module()
        crossed = self.write_address[0]
        row = self.write_address[1:]
        rows = (Signal.like(row, name="even_row"), row)
        m.d.comb += rows[0].eq(row + crossed)
        for index in range(self.readers):
            address = self.read_address[index]
            odd = Signal(name=f"odd_{index}", reset_less=True)
            with m.If(self.read_enable[index]):
                m.d.sync += odd.eq(address[0])
            halves = []
            for half in range(2):
                m.submodules[f"copy_{index}_{half}"] = copy = Scratchpad(
                    depth=1 << (self.address_width - 1), width=UOP_BITS, collisions=False
                )
                which = crossed ^ half
                m.d.comb += [
                    copy.write_enable.eq(self.write_enable.bit_select(which, 1)),
                    copy.write_address.eq(rows[half]),
                    copy.write_data.eq(self.write_data[which]),
                    copy.read_enable.eq(self.read_enable[index]),
                    copy.read_address.eq(address[1:]),
                ]
                halves.append(copy.read_data)
            m.d.comb += self.read_data[index].eq(Mux(odd, halves[1], halves[0]))
        return m
