"""The life of a launch: start, run, end or error, and the clean state that the next one finds.

Tests: ``tests/hw/test_launch.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.control import BASES, CoreControl
from isa.encoding import INSTRUCTION_BYTES
from isa.machine.counters import COUNT_WIDTH
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig

__all__ = ["LaunchControl"]


class LaunchControl(wiring.Component):
    """Starts a launch in the cycle after ``control.launch`` and resets the modules after each.

    What ``control`` says in the cycle of ``control.launch`` holds for the whole launch: the host may prepare the next
    one meanwhile. A further ``control.launch`` gives up the launch that runs, and replaces one that waits to begin.
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
    insn_address, insn_count, uop_base, inp_base, wgt_base, acc_base, out_base : Out
        Of the launch, from ``start`` on.
    begins : Out(1)
        A launch begins in this cycle, or is refused: it is the last one from now on.
    start : Out(1)
        Fetch begins in this cycle.
    running : Out(1)
        A launch is in progress (from the cycle after ``start`` to that of its end); its cycles are counted.
    clears : Out(1)
        Reset everything but the memory engine in the next cycle.
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
        self.hardware = hardware
        super().__init__(
            {
                "control": In(CoreControl(hardware)),
                "insn_address": Out(hardware.addr_width),
                "insn_count": Out(COUNT_WIDTH),
                **{name: Out(hardware.addr_width) for name in BASES},
                "begins": Out(1),
                "start": Out(1),
                "running": Out(1),
                "clears": Out(1),
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
        given_up = Signal()
        m.d.comb += [
            failed.eq(self.error != ErrorCode.NONE),
            ends.eq((self.finish | finished) & self.modules_idle),
            given_up.eq(control.abort | control.reset),
        ]
        misaligned = self._take(m)
        begins = self.begins
        with m.FSM():
            with m.State("IDLE"):
                # One that the host launches in this very cycle takes the place of the one that waits.
                m.d.comb += begins.eq(again & ~given_up & ~control.launch)
                with m.If(begins):
                    m.d.sync += [again.eq(0), finished.eq(0), control.done.eq(0), control.error.eq(ErrorCode.NONE)]
                    with m.If(misaligned.any()):
                        m.d.sync += [control.error.eq(ErrorCode.MISALIGNED), control.error_place.eq(_first(misaligned))]
                    with m.Else():
                        m.d.comb += self.start.eq(1)
                        m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += self.running.eq(1)
                m.d.sync += finished.eq(finished | self.finish)
                with m.If(failed):
                    m.d.sync += [control.error.eq(self.error), control.error_place.eq(self.error_place)]
                    m.d.sync += self.flush.eq(1)
                    m.next = "DRAIN"
                with m.Elif(given_up | control.launch):
                    with m.If(control.abort):
                        m.d.sync += [control.error.eq(ErrorCode.ABORTED), control.error_place.eq(self.fetched)]
                    m.d.sync += self.flush.eq(1)
                    m.next = "DRAIN"
                with m.Elif(ends):
                    m.d.sync += control.done.eq(1)
                    m.d.sync += self.flush.eq(1)
                    m.next = "DRAIN"  # of instructions after FINISH that were read ahead
            with m.State("DRAIN"), m.If(self.memory_quiet):
                m.d.comb += self.clears.eq(1)
                m.next = "CLEAR"
            with m.State("CLEAR"):
                m.d.sync += self.flush.eq(0)
                m.next = "IDLE"
        with m.If(again & given_up):
            m.d.sync += [again.eq(0), control.done.eq(0), control.error.eq(ErrorCode.NONE)]
            with m.If(control.abort):
                m.d.sync += [control.error.eq(ErrorCode.ABORTED), control.error_place.eq(0)]
        with m.If(control.launch):
            m.d.sync += again.eq(1)
        m.d.comb += control.busy.eq(again | self.running | self.flush)
        self._count(m, begins)
        return m

    def _take(self, m: Module) -> Value:
        """Keep what the host says with the launch; return a bit for each address that is misaligned."""
        names = ("insn_address", *BASES)
        with m.If(self.control.launch):
            m.d.sync += [getattr(self, name).eq(getattr(self.control, name)) for name in (*names, "insn_count")]
        beat = exact_log2(self.hardware.beat_bytes)
        lows = (exact_log2(INSTRUCTION_BYTES), *(beat for _ in BASES))
        return Cat(getattr(self, name)[:low].any() for name, low in zip(names, lows, strict=True))

    def _count(self, m: Module, begins: Value) -> None:
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
            with m.If(begins):
                m.d.sync += counter.eq(0)
            with m.Elif(event):
                m.d.sync += counter.eq(counter + 1)
        with m.If(begins):
            m.d.sync += control.fetched.eq(0)
        with m.Elif(self.running):
            m.d.sync += control.fetched.eq(self.fetched)


def _first(bits: Value) -> Value:
    """Return the index of the lowest bit that is set; one of them is."""
    *others, last = range(len(bits))
    index: Value = Const(last)
    for place in reversed(others):
        index = Mux(bits[place], place, index)
    return index
