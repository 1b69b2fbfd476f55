"""The life of a launch: start, run, end or error, and the clean state that the next one finds.

Tests: ``tests/hw/test_launch.py``.
"""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.control import CoreControl
from isa.machine.counters import COUNT_WIDTH
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig

__all__ = ["LaunchControl"]


class LaunchControl(wiring.Component):
    """Starts a launch in the cycle of ``control.launch`` and resets the modules after each.

    After FINISH, after an error, and when a launch is given up, ``flush`` lets the memory engine end what was begun;
    then the modules are reset for one cycle: tokens and instructions that are left are dropped.

    Parameters
    ----------
    hardware : HardwareConfig
        Widths of the control signals.

    Members
    -------
    control : In(CoreControl)
        The host.
    start : Out(1)
        Fetch begins in this cycle.
    running : Out(1)
        A launch is in progress (from the cycle after ``start`` to that of its end); its cycles are counted.
    clear : Out(1)
        Reset everything but the memory engine.
    flush : Out(1)
        The memory engine ends what was begun.
    memory_quiet : In(1)
        It has.
    finish : In(1)
        FINISH has executed and the compute module has completed everything, in this cycle.
    modules_idle : In(1)
        The load and the store module have completed everything.
    error, error_place : In
        An error in this cycle.
    read_beat, write_beat, load_start, compute_start, store_start : In(1)
        Events to count.
    fetched : In(COUNT_WIDTH)
        Instructions dispatched.
    """

    def __init__(self, hardware: HardwareConfig) -> None:
        super().__init__(
            {
                "control": In(CoreControl(hardware)),
                "start": Out(1),
                "running": Out(1),
                "clear": Out(1),
                "flush": Out(1),
                "memory_quiet": In(1),
                "finish": In(1),
                "modules_idle": In(1),
                "error": In(ErrorCode),
                "error_place": In(COUNT_WIDTH),
                "read_beat": In(1),
                "write_beat": In(1),
                "load_start": In(1),
                "compute_start": In(1),
                "store_start": In(1),
                "fetched": In(COUNT_WIDTH),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the state machine and the counters."""
        m = Module()
        control = self.control
        again = Signal()
        finished = Signal()
        failed = Signal()
        ends = Signal()
        m.d.comb += [
            failed.eq(self.error != ErrorCode.NONE),
            ends.eq((self.finish | finished) & self.modules_idle),
        ]
        with m.If(control.launch):
            m.d.sync += again.eq(1)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.start.eq(control.launch | again)
                with m.If(self.start):
                    m.d.sync += [again.eq(0), finished.eq(0), control.done.eq(0), control.error.eq(ErrorCode.NONE)]
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += self.running.eq(1)
                m.d.sync += finished.eq(finished | self.finish)
                with m.If(failed):
                    m.d.sync += [control.error.eq(self.error), control.error_place.eq(self.error_place)]
                    m.next = "DRAIN"
                with m.Elif(control.launch):
                    m.next = "DRAIN"
                with m.Elif(ends):
                    m.d.sync += control.done.eq(1)
                    m.next = "DRAIN"  # of instructions after FINISH that were read ahead
            with m.State("DRAIN"):
                m.d.comb += self.flush.eq(1)
                with m.If(self.memory_quiet):
                    m.next = "CLEAR"
            with m.State("CLEAR"):
                m.d.comb += [self.flush.eq(1), self.clear.eq(1)]
                m.next = "IDLE"
        m.d.comb += control.busy.eq(again | self.running | self.flush)
        self._count(m)
        return m

    def _count(self, m: Module) -> None:
        """Count cycles and events from the start of a launch to its end."""
        control = self.control
        events = (
            (control.cycles, self.running),
            (control.read_beats, self.running & self.read_beat),
            (control.write_beats, self.running & self.write_beat),
            (control.load_started, self.running & self.load_start),
            (control.compute_started, self.running & self.compute_start),
            (control.store_started, self.running & self.store_start),
        )
        for counter, event in events:
            with m.If(self.start):
                m.d.sync += counter.eq(0)
            with m.Elif(event):
                m.d.sync += counter.eq(counter + 1)
        with m.If(self.start):
            m.d.sync += control.fetched.eq(0)
        with m.Elif(self.running):
            m.d.sync += control.fetched.eq(self.fetched)
