# amaranth: UnusedElaboratable=no
"""What is branched around keeps its order and its value, beside Amaranth's own simulator."""

import itertools
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.sim import compile_design
from tests.support.hw.amaranth_trace import assert_same_trace
from tests.support.hw.inline_design import Small

ENABLES = ("a", "b", "1", "0")


@pytest.mark.parametrize(("first", "second"), [*itertools.product(ENABLES, repeat=2)])
def test_ports_that_write_one_row_do_so_in_their_order(first: str, second: str) -> None:
    """Also one that always writes, and one whose enable is that of another memory, which comes before both."""

    def build(m: Module, ports: Any) -> None:
        m.submodules.other = other = Memory(shape=8, depth=2, init=[])
        beside = other.write_port()
        m.d.comb += [beside.addr.eq(ports.at), beside.data.eq(ports.x), beside.en.eq(ports.b)]
        seen = other.read_port(domain="comb")
        m.d.comb += [seen.addr.eq(ports.at), ports.beside.eq(seen.data)]
        m.submodules.memory = memory = Memory(shape=8, depth=2, init=[])
        enables = {"a": ports.a, "b": ports.b, "1": 1, "0": 0}
        held, now = memory.read_port(), memory.read_port(domain="comb")
        m.d.comb += [held.addr.eq(ports.at), held.en.eq(ports.b), ports.held.eq(held.data)]
        m.d.comb += [now.addr.eq(ports.at), ports.now.eq(now.data)]
        for enable, value in ((first, ports.x), (second, ports.y)):
            write = memory.write_port()
            m.d.comb += [write.addr.eq(ports.at[0]), write.data.eq(value), write.en.eq(enables[enable])]

    inputs = {"a": In(1), "b": In(1), "at": In(1), "x": In(8), "y": In(8)}
    component = Small(build, {**inputs, "beside": Out(8), "held": Out(8), "now": Out(8)})
    assert_same_trace(component, cycles=60, seed=3)


def test_a_register_without_bits_is_none() -> None:
    def build(m: Module, ports: Any) -> None:
        nothing = Signal(0)
        m.d.sync += [nothing.eq(ports.a), ports.q.eq(ports.a + nothing)]

    design = compile_design(Small(build), cache=False)
    design.poke("a", 5)
    design.step()
    assert design.peek("q") == 5
