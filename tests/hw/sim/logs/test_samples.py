"""The log of values: on every change, or in the cycles in which other signals are high."""

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.sim import SimulatorError, compile_design
from hw.sim.logs.samples import SampleLog


class Counter(wiring.Component):
    """``slow`` grows every third cycle, ``fast`` every cycle; ``pulse`` is high in every fifth cycle."""

    slow: Out(40)
    fast: Out(64)
    pulse: Out(1)
    wide: In(65)

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
        m = Module()
        third, fifth = Signal(range(3)), Signal(range(5))
        m.d.comb += self.pulse.eq(fifth == 4)
        m.d.sync += [self.fast.eq(self.fast + 1), third.eq(third + 1), fifth.eq(fifth + 1)]
        with m.If(third == 2):
            m.d.sync += [third.eq(0), self.slow.eq(self.slow + 1)]
        with m.If(self.pulse):
            m.d.sync += fifth.eq(0)
        return m


def test_a_log_of_changes_notes_the_first_cycle_and_every_change() -> None:
    log = SampleLog(["slow"])
    design = compile_design(Counter(), hooks=(log,), cache=False)
    design.step(4)
    log.enabled = True
    design.step(9)  # cycles 4 to 12
    samples = log.take()
    assert samples.cycles.tolist() == [4, 6, 9, 12]
    assert samples.values["slow"].tolist() == [1, 2, 3, 4]
    design.step(2)
    assert log.take().cycles.size == 0
    log.enabled = True  # switched on again: the next cycle is noted although nothing changed
    design.step(1)
    assert log.take().cycles.tolist() == [15]


def test_a_log_with_a_condition_notes_the_cycles_in_which_it_holds() -> None:
    log = SampleLog(["fast", "slow"], when=["pulse"])
    design = compile_design(Counter(), hooks=(log,), cache=False)
    log.enabled = True
    design.step(100_000)
    samples = log.take()
    expected = np.arange(4, 100_000, 5)
    assert samples.cycles.tolist() == expected.tolist()
    assert samples.values["fast"].tolist() == expected.tolist()
    assert samples.values["slow"].tolist() == (expected // 3).tolist()


def test_a_log_of_changes_loses_none_where_more_come_than_fit() -> None:
    log = SampleLog(["fast"])
    design = compile_design(Counter(), hooks=(log,), cache=False)
    log.enabled = True
    design.step(30_000)
    log.enabled = False
    design.step(5)
    samples = log.take()
    assert samples.cycles.tolist() == list(range(30_000)) == samples.values["fast"].tolist()
    design.reset()
    assert not log.enabled


def test_an_input_is_noted_and_can_still_be_set() -> None:
    class Register(wiring.Component):
        value: In(8)
        result: Out(8)

        def elaborate(self, platform: Any) -> Module:  # noqa: ARG002
            m = Module()
            m.d.sync += self.result.eq(self.value)
            return m

    log = SampleLog(["value", "result"])
    design = compile_design(Register(), hooks=(log,), cache=False)
    log.enabled = True
    for value in (3, 3, 250):
        design.poke("value", value)
        design.step()
    samples = log.take()
    assert samples.cycles.tolist() == [0, 1, 2]
    assert samples.values["value"].tolist() == [3, 3, 250]
    assert samples.values["result"].tolist() == [0, 3, 3]


def test_signals_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SimulatorError, match=r"^a sample log has signals of at most 64 bits, and 'wide' has 65$"):
        compile_design(Counter(), hooks=(SampleLog(["wide"]),), cache=False)
    with pytest.raises(SimulatorError, match=r"^a sample is taken when 1-bit signals are high, and 'slow' has 40$"):
        compile_design(Counter(), hooks=(SampleLog(["fast"], when=["slow"]),), cache=False)
    with pytest.raises(SimulatorError, match=r"^a sample log has signals to note; none was given$"):
        SampleLog([])
    with pytest.raises(SimulatorError, match=r"^the sample log is not part of a simulation yet$"):
        SampleLog(["fast"]).take()


@pytest.mark.parametrize(
    ("signals", "when", "own"), [(("a",), (), 16), (("a", "b", "c"), (), 32), (("a", "b"), ("c",), 0)]
)
def test_a_log_keeps_the_last_sample_where_it_compares(
    signals: tuple[str, ...], when: tuple[str, ...], own: int
) -> None:
    """Whether there is one, and a word for each signal; beside 8,192 samples with their cycles."""
    assert SampleLog(signals, when=when).size == own + 16 + 8 * (1 + len(signals)) * 8192
