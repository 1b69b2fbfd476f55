"""Copies of a register: they say the same, and synthesis keeps them apart."""

from typing import Any

import pytest
from amaranth.hdl import Cat, Fragment, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.copies import copies_of, parts_of
from hw.fpga.synthesis import mapped_netlist
from hw.verilog import component_to_verilog
from tests.support.hw.hw_streams import run_benches


class Choice(wiring.Component):
    """Lanes of one bit of ``this`` or ``that``, as a register says."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__({"which": In(1), "this": In(lanes), "that": In(lanes), "chosen": Out(lanes)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        copies = copies_of(m, self.which, lanes=self.lanes, name="which_held")
        this, that = (parts_of(word, self.lanes) for word in (self.this, self.that))
        choices = zip(copies, this, that, strict=True)
        m.d.comb += self.chosen.eq(Cat(Mux(copy, one, other) for copy, one, other in choices))
        return m


@pytest.mark.parametrize(("lanes", "copies"), [(1, 1), (2, 2), (6, 2), (3, 1), (4, 4), (16, 4)])
def test_synthesis_keeps_a_register_for_each_part(lanes: int, copies: int) -> None:
    netlist = mapped_netlist(component_to_verilog(Choice(lanes), name="choice"), "choice")
    assert sum(cell.kind == "TRELLIS_FF" for cell in netlist.cells) == copies


@pytest.mark.parametrize("lanes", [1, 2, 4, 12])
def test_copies_say_what_the_register_would(lanes: int) -> None:
    choice = Choice(lanes)
    ones = (1 << lanes) - 1

    async def bench(ctx: Any) -> None:
        ctx.set(choice.this, ones)
        await ctx.tick()
        for which in (1, 0, 0, 1, 1, 0):
            ctx.set(choice.which, which)
            await ctx.tick()
            assert ctx.get(choice.chosen) == (ones if which else 0)

    run_benches(choice, bench)


@pytest.mark.parametrize("width", [0, 1, 3])
def test_copies_are_as_wide_as_the_value(width: int) -> None:
    m = Module()
    assert [len(copy) for copy in copies_of(m, Signal(width), lanes=4, name="kept")] == [width] * 4
    Fragment.get(m, None)  # Amaranth warns of modules that nobody uses


def test_parts_are_the_whole_in_order() -> None:
    word = Signal(24)
    assert [len(part) for part in parts_of(word, 8)] == [6] * 4
    assert [len(part) for part in parts_of(word, 3)] == [24]
