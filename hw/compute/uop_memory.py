"""The micro-op memory: one write port, and a read port for each of its readers.

Imports ``hw.scratchpad``. Tests: ``tests/hw/compute/test_loaders.py``.
"""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.scratchpad import Scratchpad

__all__ = ["UopMemory"]


class UopMemory(wiring.Component):
    """A copy for each reader, all written alike. Data stand one cycle after a read, until the next one.

    Parameters
    ----------
    address_width : int
        Bits of an address.
    readers : int
        Read ports.

    Members
    -------
    write_enable, write_address, write_data : In
        The write port.
    read_enable, read_address, read_data : In, In, Out
        One for each reader.
    """

    def __init__(self, *, address_width: int, readers: int) -> None:
        if readers < 1:
            raise ValueError(f"UopMemory needs at least one reader, not {readers}")
        self.address_width = address_width
        self.readers = readers
        super().__init__(
            {
                "write_enable": In(1),
                "write_address": In(address_width),
                "write_data": In(32),
                "read_enable": In(readers),
                "read_address": In(data.ArrayLayout(address_width, readers)),
                "read_data": Out(data.ArrayLayout(32, readers)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the copies."""
        m = Module()
        for index in range(self.readers):
            m.submodules[f"copy_{index}"] = copy = Scratchpad(depth=1 << self.address_width, width=32)
            m.d.comb += [
                copy.write_enable.eq(self.write_enable),
                copy.write_address.eq(self.write_address),
                copy.write_data.eq(self.write_data),
                copy.read_enable.eq(self.read_enable[index]),
                copy.read_address.eq(self.read_address[index]),
                self.read_data[index].eq(copy.read_data),
            ]
        return m
