# amaranth: UnusedElaboratable=no
"""Products of logic are exact for all operands, and modulo any power of two."""

import itertools
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from hw.compute.logic_product import logic_terms
from hw.sim import compile_design


class EveryPair(wiring.Component):
    """Goes through all pairs of operands, and compares the sum of the terms with a table that numpy made."""

    def __init__(self, *, widths: tuple[int, int], signed: bool, width: int, most: int) -> None:
        self.widths, self.signed, self.width, self.most = widths, signed, width, most
        super().__init__({"wrong": Out(32), "compared": Out(32)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        numbers = [np.arange(1 << width) for width in self.widths]
        if self.signed:
            numbers = [np.roll(np.arange(-len(each) // 2, len(each) // 2), len(each) // 2) for each in numbers]
        table = (np.multiply.outer(numbers[1], numbers[0]).reshape(-1) & ((1 << self.width) - 1)).tolist()
        m.submodules.table = memory = Memory(shape=unsigned(self.width), depth=len(table), init=table)
        counter = Signal(sum(self.widths))
        begun = Signal()
        total = Signal(self.width)
        a, b = counter[: self.widths[0]], counter[self.widths[0] :]
        if self.signed:
            a, b = a.as_signed(), b.as_signed()
        terms = logic_terms(m, a, b, width=self.width, most=self.most, name="p")
        assert len(terms) <= self.most
        port = memory.read_port()
        m.d.comb += port.addr.eq(counter)
        m.d.sync += [counter.eq(counter + 1), begun.eq(1), self.compared.eq(self.compared + begun)]
        m.d.sync += total.eq(sum(terms[1:], terms[0]))
        with m.If(begun & (total != port.data)):
            m.d.sync += self.wrong.eq(self.wrong + 1)
        return m


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize(
    ("widths", "signed", "width"),
    [
        *((pair, True, sum(pair)) for pair in itertools.product((1, 2, 4, 8), (1, 2, 4, 8))),
        *((pair, False, min(pair)) for pair in ((1, 1), (7, 7), (8, 8), (3, 7))),
        ((7, 5), False, 12),
        ((6, 7), True, 5),
        ((5, 6), False, 9),
    ],
)
def test_the_terms_add_up_to_the_product(widths: tuple[int, int], signed: bool, width: int, most: int) -> None:
    design = compile_design(EveryPair(widths=widths, signed=signed, width=width, most=most))
    count = 1 << sum(widths)
    design.step(count + 1)
    assert (design.peek("compared"), design.peek("wrong")) == (count, 0)
