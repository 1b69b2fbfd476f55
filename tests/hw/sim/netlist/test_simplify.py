# amaranth: UnusedElaboratable=no
"""Equal cells become one, and what is translated stays what it was, with and without that."""

from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal

from hw.sim.netlist import cells as n
from hw.sim.netlist.frontend import build_netlist
from hw.sim.netlist.simplify import simplify
from hw.sim.run import compiling
from tests.support.hw.amaranth_trace import assert_same_trace
from tests.support.hw.inline_design import Small
from tests.support.hw.random_designs import Gated, Lanes, MemoryMix, RandomDesign, Registers, StateMachine, Targets


def live_cells(netlist: n.Netlist) -> int:
    """Return how many combinational cells the outputs need."""
    from hw.sim.netlist.order import Order

    order = Order(netlist, [])
    return len(order.before(net for value in netlist.top.outputs.values() for net in value))


def repeated(m: Module, io: Any) -> None:
    m.d.comb += io.q.eq(Cat(((io.a + 1) == 5) & io.b for _ in range(4)))


def test_an_expression_that_was_copied_is_one_cell_again() -> None:
    netlist = build_netlist(Small(repeated))
    assert live_cells(netlist) == 12
    assert live_cells(simplify(netlist)) == 3
    [net] = set(simplify(netlist).top.outputs["q"])
    assert net > 1


PASSED_ON: dict[str, Any] = {
    "one bit is its own any": lambda io: Cat(io.b.any(), 0, 0, 0),
    "a choice between equals": lambda io: Mux(io.b, io.a, io.a),
    "a choice that is certain": lambda io: Mux(1, io.a, ~io.a),
    "a value and itself": lambda io: io.a & io.a,
}


@pytest.mark.parametrize("name", PASSED_ON)
def test_cells_that_pass_a_value_on_are_left_out(name: str) -> None:
    def build(m: Module, io: Any) -> None:
        middle = Signal(4, name="middle")
        m.d.comb += [middle.eq(PASSED_ON[name](io)), io.q.eq(middle)]

    netlist = simplify(build_netlist(Small(build)))
    assert live_cells(netlist) == 0
    assert netlist.signals["middle"].value == netlist.top.outputs["q"]
    assert_same_trace(Small(build), cycles=20, seed=4)


@pytest.mark.parametrize("kind", [Registers, Targets, StateMachine, MemoryMix, Gated, Lanes])
def test_a_netlist_as_it_is_is_translated_as_well(kind: type[RandomDesign], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "simplify", lambda netlist: netlist)
    assert_same_trace(kind(seed=99), cycles=40, seed=99)
