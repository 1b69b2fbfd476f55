"""A queue whose first entry is in a register, so that no logic waits for a memory.

Tests: ``tests/hw/test_registered_fifo.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.errors import ComponentError

__all__ = ["RegisteredFIFO"]


class RegisteredFIFO(wiring.Component):
    """The ports and the latency of ``amaranth.lib.fifo.SyncFIFO``: what is written can be read in the next cycle.

    Parameters
    ----------
    width : int
        Bits of an entry.
    depth : int
        Entries that fit.

    Members
    -------
    w_data, w_en, w_rdy : In, In, Out
        Written in cycles with ``w_en`` and ``w_rdy``.
    r_data, r_rdy, r_en : Out, Out, In
        The oldest entry, from a register; taken in cycles with ``r_en`` and ``r_rdy``.
    """

    def __init__(self, *, width: int, depth: int) -> None:
        if depth < 1:
            raise ComponentError(f"RegisteredFIFO needs a depth of at least 1, not {depth}")
        self.width = width
        self.depth = depth
        super().__init__(
            {
                "w_data": In(width),
                "w_en": In(1),
                "w_rdy": Out(1),
                "r_data": Out(width),
                "r_rdy": Out(1),
                "r_en": In(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the register, and a memory that has every entry, so that where one goes depends on no ``r_en``."""
        m = Module()
        oldest = Signal(self.width, reset_less=True)
        m.d.comb += self.r_data.eq(oldest)
        if self.depth == 1:
            empty = Signal(init=1)  # not ``r_rdy``; a register of its own, because every bit is kept by it
            m.d.comb += self.w_rdy.eq(empty)
            with m.If(empty):
                m.d.sync += [self.r_rdy.eq(self.w_en), empty.eq(~self.w_en), oldest.eq(self.w_data)]
            with m.Elif(self.r_en):
                m.d.sync += [self.r_rdy.eq(0), empty.eq(1)]
            return m
        write = Signal()
        read = Signal()
        full = Signal()
        more = Signal()  # there is an entry after the oldest one
        count = Signal(range(self.depth + 1))
        place = Signal(range(self.depth))
        second = Signal(range(self.depth), init=1)
        m.submodules.entries = entries = Memory(shape=self.width, depth=self.depth, init=[])
        put = entries.write_port()
        following = entries.read_port(domain="comb")
        m.d.comb += [
            self.w_rdy.eq(~full),
            write.eq(self.w_en & ~full),
            read.eq(self.r_en & self.r_rdy),
            put.addr.eq(place),
            put.data.eq(self.w_data),
            put.en.eq(write),
            following.addr.eq(second),
        ]
        with m.If(write):
            m.d.sync += place.eq(_next(place, self.depth))
        with m.If(read):
            m.d.sync += second.eq(_next(second, self.depth))
        with m.If(~self.r_rdy | self.r_en):
            m.d.sync += oldest.eq(Mux(more, following.data, self.w_data))
        with m.If(write != read):  # what is read comes late, and chooses nothing
            with m.If(write):
                m.d.sync += [self.r_rdy.eq(1), more.eq(self.r_rdy), full.eq(count == self.depth - 1)]
                m.d.sync += count.eq(count + 1)
            with m.Else():
                m.d.sync += [self.r_rdy.eq(more), more.eq(more & (count != 2)), full.eq(0), count.eq(count - 1)]
        return m


def _next(place: Signal, depth: int) -> Any:
    """Return the place after ``place`` in a ring of ``depth``."""
    return Mux(place == depth - 1, 0, place + 1)
