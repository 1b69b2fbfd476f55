"""The log of cycles in which signals are high."""

from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.sim import SimulatorError, compile_design
from hw.sim.logs.events import Event, EventLog
from hw.sim.logs.note_buffer import NoteBuffer


class Divider(wiring.Component):
    """``third`` is high in every third cycle, ``fifth`` in every fifth."""

    third: Out(1)
    fifth: Out(1)
    value: In(2)

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
        m = Module()
        for output, period in ((self.third, 3), (self.fifth, 5)):
            count = Signal(range(period))
            m.d.comb += output.eq(count == period - 1)
            m.d.sync += count.eq(count + 1)
            with m.If(output):
                m.d.sync += count.eq(0)
        return m


def expected(begin: int, end: int) -> list[Event]:
    events = []
    for cycle in range(begin, end):
        high = tuple(n for n, period in enumerate((3, 5)) if cycle % period == period - 1)
        if high:
            events.append(Event(cycle, high))
    return events


def test_the_log_has_each_cycle_with_a_high_signal_and_all_that_were_high() -> None:
    log = EventLog(["third", "fifth"])
    design = compile_design(Divider(), hooks=(log,), cache=False)
    design.step(7)
    assert log.take() == []
    log.enabled = True
    assert log.enabled
    design.step(40)
    assert log.take() == expected(7, 47)
    log.enabled = False
    design.step(10)
    assert log.take() == []


@pytest.mark.parametrize("cycles", [60_000, 20_000])  # read more than once in between, and once
def test_more_events_than_fit_interrupt_the_run_and_none_is_lost(cycles: int) -> None:
    log = EventLog(["third", "fifth"])
    design = compile_design(Divider(), hooks=(log,), cache=False)
    log.enabled = True
    design.step(cycles)
    assert design.cycles == cycles
    assert log.take() == expected(0, cycles)
    design.reset()
    assert not log.enabled


def test_a_wide_signal_is_refused() -> None:
    with pytest.raises(SimulatorError, match=r"^an event log has signals of 1 bit, and 'value' has 2$"):
        compile_design(Divider(), hooks=(EventLog(["third", "value"]),), cache=False)


def test_a_log_has_signals_and_a_simulation() -> None:
    with pytest.raises(SimulatorError, match=r"^an event log has 1 to 16 signals, not 0$"):
        EventLog([])
    with pytest.raises(SimulatorError, match=r"^the event log is not part of a simulation yet$"):
        EventLog(["third"]).take()


def test_what_is_only_noted_can_be_peeked_at_but_ends_no_run() -> None:
    log = EventLog(["inner"])
    design = compile_design(Watched(), hooks=(log,), cache=False)
    values = []
    for _ in range(6):
        values.append(design.peek("inner"))
        design.step()
    assert values == [0, 0, 1, 0, 0, 1]
    with pytest.raises(SimulatorError, match=r"^run_until needs a 1-bit port or probe, and 'inner' is not one; add it"):
        design.run_until("inner", 9)
    log.enabled = True
    design.step(6)
    assert log.take() == [Event(8, (0,)), Event(11, (0,))]
    both = compile_design(Watched(), probes=["inner"], hooks=(EventLog(["inner"]),), cache=False)
    assert both.run_until("inner", 9) == 2


class Watched(Divider):
    """The divider, with a signal inside that is high when ``third`` is."""

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        inner = Signal(name="inner")
        m.d.comb += inner.eq(self.third & ~self.value.any())
        return m


def test_bits_are_the_same_events_as_columns_and_what_is_cleared_is_gone() -> None:
    log = EventLog(["third", "fifth"])
    design = compile_design(Divider(), hooks=(log,), cache=False)
    log.enabled = True
    design.step(20)
    log.clear()
    design.step(40)
    cycles, bits = log.take_bits()
    events = expected(20, 60)
    assert cycles.tolist() == [event.cycle for event in events]
    assert bits.tolist() == [sum(1 << signal for signal in event.signals) for event in events]
    assert log.take() == []


@pytest.mark.parametrize(("words", "extra"), [(1, 0), (3, 0), (2, 24)])
def test_a_list_of_notes_has_room_for_all_that_it_may_hold(words: int, extra: int) -> None:
    """What the hook keeps for itself, a switch, a count, and 8,192 notes with their cycles."""
    assert NoteBuffer("notes", words=words, extra=extra).size == extra + 16 + 8 * (1 + words) * 8192
