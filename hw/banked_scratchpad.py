"""A scratchpad of which several neighbouring elements are read at once, wherever they begin.

Tests: ``tests/hw/test_banked_scratchpad.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.errors import ComponentError
from hw.scratchpad import Scratchpad

__all__ = ["BankedScratchpad"]


class BankedScratchpad(wiring.Component):
    """Elements in turn in as many banks as a read takes elements, or the next power of two of them.

    ``read_data`` has the elements one cycle after a cycle with ``read_enable``, and holds them until the next one;
    after the last element comes the first one. What a read that meets a write gives is ``Scratchpad``'s, without
    ``collisions``.

    Parameters
    ----------
    depth : int
        Elements: a power of two.
    width : int
        Bits of an element.
    write_granularity : int
        Bits that one write enable covers; divides ``width``.
    reads : int
        Elements of a read, at most ``depth``.

    Members
    -------
    read_address : In(log2 depth)
        The first element.
    read_enable : In(1)
    read_data : Out(reads elements)
        The first element in the lowest bits.
    write_address, write_data, write_enable : In
        One element, as of ``Scratchpad``.
    """

    def __init__(self, *, depth: int, width: int, write_granularity: int, reads: int) -> None:
        if depth < 1 or depth & (depth - 1) or not 1 <= reads <= depth:
            raise ComponentError(
                f"BankedScratchpad has a power of two of elements and reads one of them to all, not {reads} of {depth}"
            )
        self.depth = depth
        self.width = width
        self.write_granularity = write_granularity
        self.reads = reads
        self.log_banks = ceil_log2(reads)
        super().__init__(
            {
                "read_address": In(ceil_log2(depth)),
                "read_enable": In(1),
                "read_data": Out(data.ArrayLayout(width, reads)),
                "write_address": In(ceil_log2(depth)),
                "write_data": In(width),
                "write_enable": In(width // write_granularity),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the banks, and what brings their elements into order."""
        m = Module()
        log, banks = self.log_banks, 1 << self.log_banks
        first = self.read_address[:log]
        row = self.read_address[log:]
        next_row = Signal(len(row))
        m.d.comb += next_row.eq(row + 1)
        elements: list[Value] = []
        for index in range(banks):
            bank = Scratchpad(
                depth=self.depth >> log, width=self.width, write_granularity=self.write_granularity, collisions=False
            )
            m.submodules[f"bank_{index}"] = bank
            m.d.comb += [
                bank.read_address.eq(Mux(first > index, next_row, row)),
                bank.read_enable.eq(self.read_enable),
                bank.write_address.eq(self.write_address[log:]),
                bank.write_data.eq(self.write_data),
                bank.write_enable.eq(Mux(self.write_address[:log] == index, self.write_enable, 0)),
            ]
            elements.append(bank.read_data)
        read_first = Signal(log, reset_less=True)
        with m.If(self.read_enable):
            m.d.sync += read_first.eq(first)
        m.d.comb += [
            self.read_data[tap].eq(_chosen(read_first, elements[tap:] + elements[:tap])) for tap in range(self.reads)
        ]
        return m


def _chosen(number: Value, values: list[Value]) -> Value:
    """Return value ``number`` of a power of two of them, as a tree: four to one is one look-up table of six inputs."""
    for bit in range(len(number)):
        values = [Mux(number[bit], odd, even) for even, odd in zip(values[::2], values[1::2], strict=True)]
    return values[0]
