# amaranth: UnusedElaboratable=no
"""Everything is evaluated after what it needs, bit by bit where that is what it takes; real circles are refused."""

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal

from hw.sim import SimulatorError, compile_design
from hw.sim.netlist.components import cyclic_components
from tests.support.hw.amaranth_trace import assert_same_trace
from tests.support.hw.inline_design import Small

Build = Callable[[Module, Any], None]


def latch(m: Module, io: Any) -> None:
    with m.If(io.b):
        m.d.comb += io.q.eq(io.a)
    with m.Else():
        m.d.comb += io.q.eq(io.q)


def ring(m: Module, io: Any) -> None:
    x = Signal(4, name="x")
    y = Signal(4, name="y")
    m.d.comb += [x.eq(y + 1), y.eq(x & io.a), io.q.eq(y)]


CIRCLES: list[tuple[Build, str]] = [
    (latch, r"AssignmentList at \S+:\d+"),
    (ring, r"operator & at \S+, operator \+ at \S+"),
]


@pytest.mark.parametrize(("build", "path"), CIRCLES)
def test_a_combinational_circle_is_refused_with_its_places(build: Build, path: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        compile_design(Small(build), cache=False)
    text = rf"the design has a combinational cycle: {path}; break it with a register"
    assert re.fullmatch(text, str(caught.value))


def ripple(m: Module, io: Any) -> None:
    """A signal whose bits depend on each other in a line."""
    x = Signal(4, name="x")
    m.d.comb += [x[0].eq(io.b), x[1].eq(~x[0]), x[2].eq(x[1] & io.a[1]), x[3].eq(x[2] | x[0]), io.q.eq(x)]


def choices(m: Module, io: Any) -> None:
    """The same through operators on whole values."""
    x = Signal(4, name="x")
    m.d.comb += [x.eq(Mux(io.b, Cat(io.a[0], x[:3]), io.a) ^ Cat(io.a[3], 0, 0, x[0])), io.q.eq(x)]


def priorities(m: Module, io: Any) -> None:
    """The same through conditions: each branch sets what the next one looks at."""
    x = Signal(4, name="x")
    m.d.comb += io.q.eq(x)
    with m.If(io.a[0]):
        m.d.comb += x[0].eq(1)
    with m.Elif(x[0] | io.b):
        m.d.comb += x[1].eq(1)
    with m.If(x[1]):
        m.d.comb += x[2].eq(io.a[1])
    with m.Elif(x[0]):
        m.d.comb += x[3].eq(~x[2])


@pytest.mark.parametrize("build", [ripple, choices])
def test_bits_that_need_each_other_in_a_line_are_no_circle(build: Build) -> None:
    assert_same_trace(Small(build), cycles=40, seed=1)


def test_conditions_that_need_bits_of_what_they_assign_are_no_circle() -> None:
    assert_same_trace(Small(priorities), cycles=40, seed=2)


def brute_force(count: int, edges: dict[int, list[int]]) -> set[int]:
    reach = {node: set(edges[node]) for node in range(count)}
    for _ in range(count):
        for node in range(count):
            reach[node] |= {far for near in reach[node] for far in reach[near]}
    return {node for node in range(count) if node in reach[node]}


@pytest.mark.parametrize("seed", range(20))
def test_the_nodes_on_cycles_are_those_that_reach_themselves(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 14)
    edges = {node: [rng.randrange(count) for _ in range(rng.choice((0, 1, 1, 2)))] for node in range(count)}
    assert cyclic_components(range(count), edges.__getitem__) == brute_force(count, edges)
