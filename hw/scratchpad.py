"""A memory of the accelerator: one read port, one write port, written whole or in parts.

Tests: ``tests/hw/test_scratchpad.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.errors import ComponentError

__all__ = ["Scratchpad"]

_MOST_PARTS = 8
"""Parts with write enables of their own that one memory has: yosys' time grows with the square of them and more."""


class Scratchpad(wiring.Component):
    """A memory that infers block RAM: no reset, no initial values that anything relies on.

    ``read_data`` has the element one cycle after a cycle with ``read_enable``, and holds until the next one. A read of
    the address that is written in the same cycle gives the old element (read first), in every simulator and on the FPGA
    alike; with ``collisions`` off, the user promises that no such element is used, and synthesis need not take care of
    it (some FPGAs' memories do not by themselves, and would need a copy of the element and a comparison beside them).
    It is a submodule ``memory``, or where elements have many parts, several (``memory_0``: the lowest bits), which
    take as many block RAMs as one.

    Parameters
    ----------
    depth : int
        Elements.
    width : int
        Bits of an element.
    write_granularity : int
        Bits that one write enable covers; divides ``width``. By default the whole element.
    collisions : bool
        Whether a read of what is being written counts.

    Members
    -------
    read_address : In(log2 depth)
    read_enable : In(1)
    read_data : Out(width)
    write_address : In(log2 depth)
    write_data : In(width)
    write_enable : In(width / write_granularity)
        One bit for each part of an element, lowest bits first.
    """

    def __init__(
        self, *, depth: int, width: int, write_granularity: int | None = None, collisions: bool = True
    ) -> None:
        granularity = width if write_granularity is None else write_granularity
        if depth < 1 or width < 1:
            raise ComponentError(f"Scratchpad needs a depth and a width of at least 1, not {depth} and {width}")
        if granularity < 1 or width % granularity:
            raise ComponentError(f"Scratchpad has elements of {width} bits, which parts of {granularity} do not divide")
        self.depth = depth
        self.width = width
        self.write_granularity = granularity
        self.collisions = collisions
        super().__init__(
            {
                "read_address": In(ceil_log2(depth)),
                "read_enable": In(1),
                "read_data": Out(width),
                "write_address": In(ceil_log2(depth)),
                "write_data": In(width),
                "write_enable": In(width // granularity),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the memory."""
        m = Module()
        most = _MOST_PARTS * self.write_granularity
        starts = range(0, self.width, most)
        for index, start in enumerate(starts):
            name = "memory" if len(starts) == 1 else f"memory_{index}"
            self._memory(m, name, start, min(start + most, self.width))
        return m

    def _memory(self, m: Module, name: str, start: int, stop: int) -> None:
        """Build the memory of bits ``start`` to ``stop`` of every element."""
        attributes = {} if self.collisions else {"no_rw_check": 1}
        m.submodules[name] = memory = Memory(shape=unsigned(stop - start), depth=self.depth, init=[], attrs=attributes)
        read = memory.read_port()
        write = memory.write_port(granularity=self.write_granularity)
        parts = slice(start // self.write_granularity, stop // self.write_granularity)
        m.d.comb += [
            read.addr.eq(self.read_address),
            read.en.eq(self.read_enable),
            self.read_data[start:stop].eq(read.data),
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data[start:stop]),
            write.en.eq(self.write_enable[parts]),
        ]
