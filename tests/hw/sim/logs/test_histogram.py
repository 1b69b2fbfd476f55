"""Counting the values of a signal in native code."""

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from hw.sim import Histogram, SimulatorError, compile_design
from tests.support.hw.inline_design import Small

PORTS = {"gate": In(1), "count": Out(3)}


def counter(m: Module, io: Any) -> None:
    m.d.sync += io.count.eq(io.count + 1)


def test_every_cycle_counts_with_the_value_before_its_edge() -> None:
    histogram = Histogram("count", bits=3)
    design = compile_design(Small(counter, PORTS), hooks=[histogram], cache=False)
    design.step(11)
    assert histogram.counts.tolist() == [2, 2, 2, 1, 1, 1, 1, 1]
    histogram.counts[:] = 0
    design.step(1)
    assert histogram.counts.tolist() == [0, 0, 0, 1, 0, 0, 0, 0]
    design.reset()
    assert not histogram.counts.any()


def test_cycles_without_the_gate_do_not_count() -> None:
    histogram = Histogram("count", bits=3, gate="gate")
    design = compile_design(Small(counter, PORTS), hooks=[histogram], cache=False)
    expected = np.zeros(8, np.uint64)
    for cycle in range(40):
        gate = cycle % 3 == 0
        design.poke("gate", gate)
        design.step()
        expected[cycle % 8] += gate
    assert histogram.counts.tolist() == expected.tolist()


def test_a_histogram_of_another_width_is_refused() -> None:
    with pytest.raises(SimulatorError, match=r"^a histogram of 'count' is to have 4 bits, but that has 3$"):
        compile_design(Small(counter, PORTS), hooks=[Histogram("count", bits=4)], cache=False)
    with pytest.raises(SimulatorError, match=r"^a histogram of 'count' has 1 to 12 bits, not 13$"):
        Histogram("count", bits=13)


def test_a_histogram_outside_of_a_simulation_has_no_counts() -> None:
    with pytest.raises(SimulatorError, match=r"^the histogram of 'count' is not part of a simulation yet$"):
        _ = Histogram("count", bits=3).counts
