"""What the modules spent the cycles of a launch on, counted for the host.

Tests: ``tests/hw/test_cause_counters.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from isa.machine.causes import Cause
from isa.machine.counters import CAUSE_STRIDE, COUNTED_MODULES, COUNTER_WIDTH

__all__ = ["CauseCounters"]


class CauseCounters(wiring.Component):
    """For each module a counter of each cause, begun anew with each launch.

    A cycle is in its counter two cycles later. The counters of a module are a small memory without contents at
    power-up; a flag for each says whether it has counted anything in this launch.

    Members
    -------
    running : In(1)
        A launch is in progress: its cycles are counted. It is low for two cycles or more between launches.
    causes : In(Cause), one for each of ``COUNTED_MODULES``
        What the module spends this cycle on.
    index : In
        Module and cause, ``CAUSE_STRIDE * module + cause``.
    value : Out(COUNTER_WIDTH)
        That counter, in the same cycle.
    """

    def __init__(self) -> None:
        modules = len(COUNTED_MODULES)
        super().__init__(
            {
                "running": In(1),
                "causes": In(data.ArrayLayout(Cause, modules)),
                "index": In(bits_for(CAUSE_STRIDE * modules - 1)),
                "value": Out(COUNTER_WIDTH),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build a memory for each module."""
        m = Module()
        counts = Signal()
        counted = Signal()
        m.d.sync += [counts.eq(self.running), counted.eq(counts)]
        cause_bits = bits_for(CAUSE_STRIDE - 1)
        chosen = self.index[cause_bits:]
        for number, name in enumerate(COUNTED_MODULES):
            shown = self._count(
                m,
                name,
                cause=self.causes[number],
                counts=counts,
                first=counts & ~counted,
                index=self.index[:cause_bits],
            )
            with m.If(chosen == number):
                m.d.comb += self.value.eq(shown)
        return m

    def _count(self, m: Module, name: str, *, cause: Any, counts: Any, first: Any, index: Any) -> Signal:
        """Count the causes of one module; return the counter at ``index``."""
        m.submodules[name] = memory = Memory(shape=COUNTER_WIDTH, depth=CAUSE_STRIDE, init=[])
        before = memory.read_port(domain="comb")
        shown_port = memory.read_port(domain="comb")
        write = memory.write_port()
        held = Signal(Cause, name=f"{name}_held", reset_less=True)
        seen = Signal(CAUSE_STRIDE, name=f"{name}_seen")
        kept = Signal(CAUSE_STRIDE, name=f"{name}_kept")
        shown = Signal(COUNTER_WIDTH, name=f"{name}_shown")
        m.d.sync += held.eq(cause)
        m.d.comb += [
            kept.eq(Mux(first, 0, seen)),
            before.addr.eq(held),
            write.addr.eq(held),
            write.data.eq(Mux(kept.bit_select(held, 1), before.data, 0) + 1),
            write.en.eq(counts),
            shown_port.addr.eq(index),
            shown.eq(Mux(seen.bit_select(index, 1), shown_port.data, 0)),
        ]
        with m.If(counts):
            m.d.sync += [seen.eq(kept), seen.bit_select(held, 1).eq(1)]
        return shown
