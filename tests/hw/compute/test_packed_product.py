# amaranth: UnusedElaboratable=no
import itertools
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from hw.compute.packed_product import PackedProduct
from hw.errors import ComponentError
from hw.sim import compile_design


class EveryOperand(wiring.Component):
    """Goes through all operands of a cell, and compares with a table of products that numpy made."""

    def __init__(self, *, factor_width: int, other_width: int) -> None:
        self.factor_width = factor_width
        self.other_width = other_width
        super().__init__({"wrong": Out(32), "compared": Out(32)})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's signature
        m = Module()
        factor, other = self.factor_width, self.other_width
        m.submodules.cell = cell = PackedProduct(factor_width=factor, other_width=other)
        factors, others = (np.arange(-(1 << n - 1), 1 << n - 1) for n in (factor, other))
        products = np.outer(np.roll(factors, len(factors) // 2), np.roll(others, len(others) // 2))
        mask = (1 << factor + other) - 1
        table = [int(product) & mask for product in products.reshape(-1)]
        m.submodules.table = memory = Memory(shape=unsigned(factor + other), depth=len(table), init=table)
        counter = Signal(factor + 2 * other)
        begun = Signal()
        low, high = counter[:other], counter[other : 2 * other]
        m.d.sync += [counter.eq(counter + 1), begun.eq(1), self.compared.eq(self.compared + begun)]
        m.d.comb += [cell.factor.eq(counter[2 * other :]), cell.low.eq(low), cell.high.eq(high)]
        wanted = []
        for operand in (low, high):
            port = memory.read_port()
            m.d.comb += port.addr.eq(Cat(operand, counter[2 * other :]))
            wanted.append(port.data)
        with m.If(begun & ((cell.low_product != wanted[0].as_signed()) | (cell.high_product != wanted[1].as_signed()))):
            m.d.sync += self.wrong.eq(self.wrong + 1)
        return m


@pytest.mark.parametrize(
    ("factor", "other"), [(8, 8), *itertools.product((1, 2, 3, 4), (1, 2, 3, 4)), (8, 4), (4, 8), (2, 8)]
)
def test_both_products_are_exact_for_all_operands(factor: int, other: int) -> None:
    design = compile_design(EveryOperand(factor_width=factor, other_width=other))
    count = 1 << factor + 2 * other
    design.step(count + 1)
    assert (design.peek("compared"), design.peek("wrong")) == (count, 0)


def test_a_factor_has_a_bit() -> None:
    with pytest.raises(ComponentError, match=r"^PackedProduct needs factors of a bit or more, not 0 and 8$"):
        PackedProduct(factor_width=0, other_width=8)
