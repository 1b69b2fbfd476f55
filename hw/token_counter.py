"""A token queue between two modules: tokens carry no data, so it is a counter.

Tests: ``tests/hw/test_token_counter.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.errors import ComponentError

__all__ = ["TOKEN_WIDTH", "TokenCounter"]

TOKEN_WIDTH = 22
"""Bits that count every instruction of a launch: (2^25 bytes of instructions) / 16, and one more."""


class TokenCounter(wiring.Component):
    """Tokens that were pushed and not yet popped; never full.

    A token is available in the cycle after its push. Push and pop in one cycle leave the count; a pop when none is
    available is ignored.

    Parameters
    ----------
    width : int
        Bits of the counter: it must hold every push of a launch.

    Members
    -------
    push : In(1)
        Add a token.
    pop : In(1)
        Take one.
    clear : In(1)
        Drop all tokens, and a push of this cycle too.
    available : Out(1)
        There is at least one.
    """

    def __init__(self, width: int = TOKEN_WIDTH) -> None:
        if width < 1:
            raise ComponentError(f"TokenCounter needs a counter of at least one bit, not {width}")
        self.width = width
        super().__init__({"push": In(1), "pop": In(1), "clear": In(1), "available": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        """Build the counter, and registers for one token and for two.

        So a push, which comes late in a cycle, is neither counted nor compared before it is seen: the counter counts it
        in the next cycle.
        """
        m = Module()
        self.count = count = Signal(self.width)
        self.two = two = Signal()
        counted = Signal(self.width)  # without what the last cycle brought
        more = Signal()
        fewer = Signal()
        pop = Signal(name="popped")
        m.d.comb += [pop.eq(self.pop & self.available), count.eq(counted + Cat(more | fewer, fewer).as_signed())]
        m.d.sync += [counted.eq(count), more.eq(self.push & ~pop), fewer.eq(pop & ~self.push)]
        with m.If(self.clear):
            m.d.sync += [counted.eq(0), more.eq(0), fewer.eq(0), self.available.eq(0), two.eq(0)]
        with m.Elif(self.push & ~pop):
            m.d.sync += [self.available.eq(1), two.eq(self.available)]
        with m.Elif(pop & ~self.push):
            m.d.sync += [self.available.eq(two), two.eq(two & (count != 2))]
        return m
