"""A queue whose first entry is in a register, so that no logic waits for a memory.

Tests: ``tests/hw/test_registered_fifo.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO
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
        """Build the register, and a queue for what comes while it is taken."""
        m = Module()
        if self.depth == 1:
            m.d.comb += self.w_rdy.eq(~self.r_rdy)
            with m.If(~self.r_rdy):
                m.d.sync += [self.r_rdy.eq(self.w_en), self.r_data.eq(self.w_data)]
            with m.Elif(self.r_en):
                m.d.sync += self.r_rdy.eq(0)
            return m
        m.submodules.rest = rest = SyncFIFO(width=self.width, depth=self.depth - 1)
        free = ~self.r_rdy | self.r_en
        m.d.comb += [
            self.w_rdy.eq(rest.w_rdy),
            rest.w_data.eq(self.w_data),
            rest.w_en.eq(self.w_en & (rest.r_rdy | ~free)),
            rest.r_en.eq(free),
        ]
        with m.If(free):
            m.d.sync += [
                self.r_rdy.eq(rest.r_rdy | (self.w_en & self.w_rdy)),
                self.r_data.eq(Mux(rest.r_rdy, rest.r_data, self.w_data)),
            ]
        return m
