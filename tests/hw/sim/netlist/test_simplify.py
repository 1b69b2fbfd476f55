# amaranth: UnusedElaboratable=no
"""Equal cells become one, and what is translated stays what it was, with and without that."""

from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal

from hw.sim.netlist import cells as n
from hw.sim.netlist.frontend import build_netlist
from hw.sim.netlist.simplify import _passed_on, simplify
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


A, B, C = 7 << 16, 8 << 16, 9 << 16


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (n.Operator("b", ((A,),), 1), (A,)),
        (n.Operator("r|", ((A, B),), 1), None),
        (n.Operator("m", ((C,), (A, B), (A, B)), 2), (A, B)),
        (n.Operator("m", ((C,), (A, B), (B, A)), 2), None),
        (n.Operator("m", ((1,), (A,), (B,)), 1), (A,)),
        (n.Operator("m", ((0,), (A,), (B,)), 1), (B,)),
        (n.Operator("&", ((A,), (A,)), 1), (A,)),
        (n.Operator("&", ((A,), (B,)), 1), None),
        (n.Matches((A,), ("1",)), (A,)),
        (n.Matches((A,), ("0",)), None),
        (n.Matches((A,), ("1", "0")), None),
        (n.PriorityMatch(1, (A,)), (A,)),
        (n.PriorityMatch(A, (1,)), (A,)),
        (n.PriorityMatch(A, (B,)), None),
        (n.PriorityMatch(1, (A, B)), None),
        (n.AssignmentList((A, 0), ()), (A, 0)),
        (n.AssignmentList((A, 0), (n.Assignment(B, 0, (C,)),)), None),
    ],
    ids=str,
)
def test_what_passes_a_value_on(cell: n.Cell, expected: n.Value | None) -> None:
    assert _passed_on(cell) == expected


@pytest.mark.parametrize("kind", [Registers, Targets, StateMachine, MemoryMix, Gated, Lanes])
def test_a_netlist_as_it_is_is_translated_as_well(kind: type[RandomDesign], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "simplify", lambda netlist: netlist)
    assert_same_trace(kind(seed=99), cycles=40, seed=99)
