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

    A cycle is in its counter four cycles later: two for its cause, which comes late and from far away, one to read the
    counter, one to add. The counters of a module are a small memory without contents at power-up; a flag for each says
    whether it has counted anything in this launch.

    Members
    -------
    begins : In(1)
        In the next cycle a launch is in progress, or was refused: nothing is counted of earlier ones any more.
    running : In(1)
        A launch is in progress: its cycles are counted. It is low for three cycles or more between launches.
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
                "begins": In(1),
                "running": In(1),
                "causes": In(data.ArrayLayout(Cause, modules)),
                "index": In(bits_for(CAUSE_STRIDE * modules - 1)),
                "value": Out(COUNTER_WIDTH),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build a memory for each module."""
        m = Module()
        begun = Signal()  # later than the last cycle of the launch before it
        came = Signal()
        counts = Signal()
        counted = Signal()
        m.d.sync += [begun.eq(self.begins), came.eq(self.running), counts.eq(came), counted.eq(counts)]
        cause_bits = bits_for(CAUSE_STRIDE - 1)
        chosen = self.index[cause_bits:]
        for number, name in enumerate(COUNTED_MODULES):
            shown = self._count(
                m,
                name,
                cause=self.causes[number],
                begun=begun,
                counted=counted,
                index=self.index[:cause_bits],
            )
            with m.If(chosen == number):
                m.d.comb += self.value.eq(shown)
        return m

    def _count(self, m: Module, name: str, *, cause: Any, begun: Any, counted: Any, index: Any) -> Signal:
        """Count the causes of one module; return the counter at ``index``."""
        m.submodules[name] = memory = Memory(shape=COUNTER_WIDTH, depth=CAUSE_STRIDE, init=[])
        before = memory.read_port(domain="comb")
        shown_port = memory.read_port(domain="comb")
        write = memory.write_port()
        reported = Signal(Cause, name=f"{name}_reported", reset_less=True)
        held = Signal(Cause, name=f"{name}_held", reset_less=True)
        seen = Signal(CAUSE_STRIDE, name=f"{name}_seen")
        added = Signal(Cause, name=f"{name}_added", reset_less=True)
        value = Signal(COUNTER_WIDTH, name=f"{name}_value", reset_less=True)
        total = Signal(COUNTER_WIDTH, name=f"{name}_total")
        shown = Signal(COUNTER_WIDTH, name=f"{name}_shown")
        m.d.sync += [reported.eq(cause), held.eq(reported), added.eq(held)]
        m.d.comb += [
            total.eq(value + 1),
            before.addr.eq(held),
            write.addr.eq(added),
            write.data.eq(total),
            write.en.eq(counted),
            shown_port.addr.eq(index),
            shown.eq(Mux(seen.bit_select(index, 1), shown_port.data, 0)),
        ]
        with m.If(counted & (added == held)):
            m.d.sync += value.eq(total)
        with m.Else():
            m.d.sync += value.eq(Mux(counted & seen.bit_select(held, 1), before.data, 0))
        with m.If(counted):
            m.d.sync += seen.bit_select(added, 1).eq(1)
        with m.Elif(begun):
            m.d.sync += seen.eq(0)
        return shown
