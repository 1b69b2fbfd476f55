"""A design with every port behind a flip-flop, on four pins: what place and route can time as a whole.

Tests: ``tests/hw/fpga/test_harness.py``.
"""

from collections.abc import Iterator
from functools import reduce
from operator import xor
from typing import Any

from amaranth.hdl import Cat, ClockDomain, ClockSignal, DomainRenamer, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Harness"]

_FAN = 8
"""Signals that one register of the way out joins."""


class Harness(wiring.Component):
    """Shifts the inputs of a component in, one bit a cycle, and the parity of its outputs out, through registers.

    Nothing of the component can be optimised away, and no path begins or ends at a pin.

    Parameters
    ----------
    component : wiring.Component
        The design.

    Members
    -------
    shifted_in : In(1)
    reset : In(1)
        Resets the component, through a register; ``rst`` resets the harness alone.
    parity : Out(1)
    """

    def __init__(self, component: wiring.Component) -> None:
        self.component = component
        super().__init__({"shifted_in": In(1), "reset": In(1), "parity": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        """Build the registers around the component."""
        m = Module()
        reset = Signal()
        m.d.sync += reset.eq(self.reset)
        # A domain of its own, whose reset is the register alone: ``rst`` would be joined with it before every register.
        m.domains.inside = inside = ClockDomain(local=True)
        m.d.comb += [inside.clk.eq(ClockSignal()), inside.rst.eq(reset)]
        m.submodules.design = DomainRenamer("inside")(self.component)
        inputs = list(self._ports(wiring.In))
        outputs = list(self._ports(wiring.Out))
        given = Signal(sum(len(port) for port in inputs), reset_less=True)
        m.d.sync += given.eq(Cat(self.shifted_in, given))
        m.d.comb += Cat(inputs).eq(given)
        level: Value = Cat(outputs)
        depth = 0
        while depth < 2 or len(level) > 1:  # a register for every output, then trees of them
            fan = 1 if depth == 0 else _FAN
            parts = [level[low : low + fan] for low in range(0, len(level), fan)]
            stage = Signal(len(parts), name=f"stage_{depth}", reset_less=True)
            m.d.sync += stage.eq(Cat(reduce(xor, part) for part in parts))
            level, depth = stage, depth + 1
        m.d.comb += self.parity.eq(level)
        return m

    def _ports(self, flow: Any) -> Iterator[Value]:
        """Yield the ports of one direction as plain values."""
        for _, member, port in self.component.signature.flatten(self.component):
            if member.flow == flow:
                yield Value.cast(port)
