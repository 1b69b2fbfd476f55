"""A queue whose first entry is in a register, so that no logic waits for a memory, but for bits that may come later.

Tests: ``tests/hw/test_registered_fifo.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
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
    early : int or None
        How many bits, the lowest ones, stand in a register; None: all. The others are read from a memory in the cycle
        itself, so that they come a table later, and cost no register and no choice between memory and ``w_data``.

    Members
    -------
    w_data, w_en, w_rdy : In, In, Out
        Written in cycles with ``w_en`` and ``w_rdy``.
    r_data, r_rdy, r_en : Out, Out, In
        The oldest entry; taken in cycles with ``r_en`` and ``r_rdy``.
    """

    def __init__(self, *, width: int, depth: int, early: int | None = None) -> None:
        if depth < 1:
            raise ComponentError(f"RegisteredFIFO needs a depth of at least 1, not {depth}")
        if early is not None and not 0 <= early <= width:
            raise ComponentError(f"RegisteredFIFO of {width} bits has 0 to {width} early ones, not {early}")
        self.width = width
        self.depth = depth
        # A queue of one has no memory.
        self.early = width if early is None or depth == 1 else early
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
        """Build the register, and memories that have every entry, so that where one goes depends on no ``r_en``."""
        m = Module()
        if self.depth == 1:
            self._keep_one(m)
            return m
        write = Signal()
        read = Signal()
        full = Signal()
        more = Signal()  # there is an entry after the oldest one
        count = Signal(range(self.depth + 1))
        place = Signal(range(self.depth))
        m.d.comb += [
            self.w_rdy.eq(~full),
            write.eq(self.w_en & ~full),
            read.eq(self.r_en & self.r_rdy),
        ]
        with m.If(write):
            m.d.sync += place.eq(_next(place, self.depth))
        if self.early:
            self._register(m, write=write, read=read, place=place, more=more)
        if self.early < self.width:
            first = Signal(range(self.depth))
            m.d.comb += self.r_data[self.early :].eq(self._entries(m, "late", write, place, first))
            with m.If(read):
                m.d.sync += first.eq(_next(first, self.depth))
        with m.If(write != read):  # what is read comes late, and chooses nothing
            with m.If(write):
                m.d.sync += [self.r_rdy.eq(1), more.eq(self.r_rdy), full.eq(count == self.depth - 1)]
                m.d.sync += count.eq(count + 1)
            with m.Else():
                m.d.sync += [self.r_rdy.eq(more), more.eq(more & (count != 2)), full.eq(0), count.eq(count - 1)]
        return m

    def _keep_one(self, m: Module) -> None:
        """Build a queue of one."""
        oldest = Signal(self.width, reset_less=True)
        empty = Signal(init=1)  # not ``r_rdy``; a register of its own, because every bit is kept by it
        m.d.comb += [self.r_data.eq(oldest), self.w_rdy.eq(empty)]
        with m.If(empty):
            m.d.sync += [self.r_rdy.eq(self.w_en), empty.eq(~self.w_en), oldest.eq(self.w_data)]
        with m.Elif(self.r_en):
            m.d.sync += [self.r_rdy.eq(0), empty.eq(1)]

    def _register(self, m: Module, *, write: Signal, read: Signal, place: Signal, more: Signal) -> None:
        """Build the register, and the memory that it is filled from."""
        oldest = Signal(self.early, reset_less=True)
        second = Signal(range(self.depth), init=1)
        following = self._entries(m, "entries", write, place, second)
        m.d.comb += self.r_data[: self.early].eq(oldest)
        with m.If(read):
            m.d.sync += second.eq(_next(second, self.depth))
        with m.If(~self.r_rdy | self.r_en):
            m.d.sync += oldest.eq(Mux(more, following, self.w_data[: self.early]))

    def _entries(self, m: Module, name: str, write: Signal, place: Signal, shown: Signal) -> Value:
        """Keep ``early`` bits of each entry, or all others in the memory ``late``; return those at ``shown``."""
        part = self.w_data[self.early :] if name == "late" else self.w_data[: self.early]
        m.submodules[name] = entries = Memory(shape=len(part), depth=self.depth, init=[])
        put = entries.write_port()
        found = entries.read_port(domain="comb")
        m.d.comb += [put.addr.eq(place), put.data.eq(part), put.en.eq(write), found.addr.eq(shown)]
        return found.data


def _next(place: Signal, depth: int) -> Any:
    """Return the place after ``place`` in a ring of ``depth``."""
    return Mux(place == depth - 1, 0, place + 1)
