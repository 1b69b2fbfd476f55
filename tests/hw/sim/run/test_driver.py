# amaranth: UnusedElaboratable=no
"""Who is woken and who commits, in designs of more partitions than a word has bits."""

from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.sim.netlist.frontend import build_netlist
from hw.sim.netlist.plan import make_plan
from hw.sim.netlist.simplify import simplify
from tests.support.hw.amaranth_trace import assert_same_trace
from tests.support.hw.inline_design import Small

PORTS = {"a": In(16), "go": In(1), "q": Out(16), "last": Out(16)}


def ring(count: int) -> Any:
    """Blocks, each with a register that changes when the one before it did, some with a memory of what passed."""

    def build(m: Module, io: Any) -> None:
        before = io.a
        for number in range(count):
            block = Module()
            m.submodules[f"block_{number}"] = block
            value = Signal(16, name=f"value_{number}")
            mixed = before
            for turn in range(4):
                mixed = (mixed * 3 + (before >> turn) + number)[:16]
            with block.If(io.go ^ (number % 2)):
                block.d.sync += value.eq(mixed)
            before = value
            if number % 8 == 7:
                block.submodules.memory = memory = Memory(shape=16, depth=4, init=[])
                write, read = memory.write_port(), memory.read_port(domain="comb")
                block.d.comb += [write.addr.eq(value[:2]), write.data.eq(mixed), write.en.eq(value[4])]
                block.d.comb += read.addr.eq(value[5:7])
                before = Signal(16, name=f"kept_{number}")
                block.d.comb += before.eq(read.data ^ value)
        m.d.comb += [io.q.eq(before), io.last.eq(value)]

    return build


def partitions(component: Any) -> int:
    netlist = simplify(build_netlist(component))
    return len(make_plan(netlist, [netlist.signals[name].value for name in netlist.top.outputs], range(2)).partitions)


def test_every_partition_of_a_large_design_is_woken_and_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hw.sim.netlist.partitions._LARGE", 20)  # partitions are cut where they do very little
    component = Small(ring(60), PORTS)
    assert partitions(component) > 64
    assert_same_trace(component, cycles=50, seed=1, hold=0.9)
