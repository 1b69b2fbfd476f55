"""One row of the GEMM core, or two: the dot products of an input vector and weight vectors.

Tests: ``tests/hw/compute/test_mac_row.py``, ``tests/hw/compute/test_stage_gemm.py``; ports and resets:
``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.compute.logic_product import logic_terms
from hw.compute.packed_product import PackedProduct
from hw.errors import ComponentError

__all__ = ["MacRow", "dot_latency", "dot_width"]


def dot_latency(lanes: int) -> int:
    """Return the cycles from operands to dot product: products, sums of pairs, then two levels of sums a cycle."""
    levels: int = exact_log2(lanes)
    return 2 + (max(0, levels - 1) + 1) // 2


def dot_width(*, lanes: int, inp_width: int, wgt_width: int) -> int:
    """Return the bits of an exact signed dot product."""
    levels: int = exact_log2(lanes)
    return inp_width + wgt_width + levels


class MacRow(wiring.Component):
    """The exact dot products of one input vector with weight rows, ``dot_latency(lanes)`` cycles after the operands.

    It takes operands every cycle and never stalls. The first two registers (products, sums of pairs) fit those of a DSP
    block, so that the first level of the adder tree costs no logic there. Two rows share their multipliers
    (``PackedProduct``), and their sums are logic. Lanes beyond the multipliers that there are multiply in logic.

    Parameters
    ----------
    lanes : int
        Elements of a vector: a power of two.
    inp_width, wgt_width : int
        Bits of an input and of a weight (two's complement).
    rows : int
        Weight rows, 1 or 2.
    multipliers : int
        Lanes that have a multiplier, the first ones; None: all.

    Members
    -------
    inp, wgt : In(lanes elements), In(rows of lanes elements)
        The operands.
    dots : Out(rows of signed numbers)
        Their products, of as many bits as they need.
    """

    def __init__(
        self, *, lanes: int, inp_width: int, wgt_width: int, rows: int = 1, multipliers: int | None = None
    ) -> None:
        if lanes < 1 or lanes & (lanes - 1):
            raise ComponentError(f"MacRow needs a power of two of lanes, not {lanes}")
        if rows not in (1, 2):
            raise ComponentError(f"MacRow has one row or two, not {rows}")
        self.lanes = lanes
        self.inp_width = inp_width
        self.wgt_width = wgt_width
        self.rows = rows
        self.multipliers = lanes if multipliers is None else multipliers
        dot = signed(dot_width(lanes=lanes, inp_width=inp_width, wgt_width=wgt_width))
        super().__init__(
            {
                "inp": In(data.ArrayLayout(signed(inp_width), lanes)),
                "wgt": In(data.ArrayLayout(data.ArrayLayout(signed(wgt_width), lanes), rows)),
                "dots": Out(data.ArrayLayout(dot, rows)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build multipliers and adder trees."""
        m = Module()
        for row, level in enumerate(self._products(m)):
            m.d.comb += self.dots[row].eq(self._tree(m, level, f"{row}"))
        return m

    def _products(self, m: Module) -> list[list[Any]]:
        """Return the products of every row, a cycle after the operands."""
        levels: list[list[Any]] = [[] for _ in range(self.rows)]
        for lane in range(self.lanes):
            if lane < self.multipliers and self.rows == 2:
                products = self._shared_products(m, lane)
            else:
                products = [self._product(m, lane, row) for row in range(self.rows)]
            for level, product in zip(levels, products, strict=True):
                level.append(product)
        return levels

    def _product(self, m: Module, lane: int, row: int) -> Signal:
        """Return a product that no other row shares."""
        inp, wgt = self.inp[lane], self.wgt[row][lane]
        width = self.inp_width + self.wgt_width
        name = f"product_{lane}_{row}" if row else f"product_{lane}"
        product = Signal(signed(width), name=name, reset_less=True)
        if lane < self.multipliers:
            m.d.sync += product.eq(inp * wgt)
        else:
            m.d.sync += product.eq(*logic_terms(m, inp, wgt, width=width, most=1, name=name))
        return product

    def _shared_products(self, m: Module, lane: int) -> list[Any]:
        """Return the products of both rows, from one multiplier."""
        cell = PackedProduct(factor_width=self.inp_width, other_width=self.wgt_width)
        m.submodules[f"product_{lane}"] = cell
        m.d.comb += [
            cell.factor.eq(self.inp[lane]),
            cell.low.eq(self.wgt[0][lane]),
            cell.high.eq(self.wgt[1][lane]),
        ]
        return [cell.low_product, cell.high_product]

    def _tree(self, m: Module, level: list[Any], row: str) -> Any:
        """Return the sum: pairs in a cycle of their own, then two levels a cycle."""
        level = self._sums(m, level, name=f"{row}_0", registered=True)
        depth = 1
        while len(level) > 1:
            several = len(level) > 2
            level = self._sums(m, level, name=f"{row}_{depth}", registered=not several)
            if several:
                level = self._sums(m, level, name=f"{row}_{depth + 1}", registered=True)
            depth += 2
        return level[0]

    def _sums(self, m: Module, level: list[Any], *, name: str, registered: bool) -> list[Any]:
        """Return the sums of neighbouring pairs (a single value is passed on)."""
        domain = m.d.sync if registered else m.d.comb
        sums = []
        for index in range(0, len(level), 2):
            terms = level[index : index + 2]
            width = len(terms[0]) + len(terms) - 1
            total = Signal(signed(width), name=f"sum_{name}_{index // 2}", reset_less=True)
            domain += total.eq(sum(terms[1:], terms[0]))
            sums.append(total)
        return sums
