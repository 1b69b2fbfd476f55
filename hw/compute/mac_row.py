"""One row of the GEMM core: the dot product of an input vector and a weight vector.

Tests: ``tests/hw/compute/test_mac_row.py``.
"""

from typing import Any

from amaranth.hdl import Module, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

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
    """The exact dot product of one input vector and one weight row, ``dot_latency(lanes)`` cycles after its operands.

    It takes operands every cycle and never stalls. The first two registers (products, sums of pairs) fit those of a DSP
    block, so that the first level of the adder tree costs no logic there.

    Parameters
    ----------
    lanes : int
        Elements of a vector: a power of two.
    inp_width, wgt_width : int
        Bits of an input and of a weight (two's complement).

    Members
    -------
    inp, wgt : In(lanes elements)
        The operands.
    dot : Out(signed)
        Their product, of as many bits as it needs.
    """

    def __init__(self, *, lanes: int, inp_width: int, wgt_width: int) -> None:
        if lanes < 1 or lanes & (lanes - 1):
            raise ComponentError(f"MacRow needs a power of two of lanes, not {lanes}")
        self.lanes = lanes
        self.inp_width = inp_width
        self.wgt_width = wgt_width
        super().__init__(
            {
                "inp": In(data.ArrayLayout(signed(inp_width), lanes)),
                "wgt": In(data.ArrayLayout(signed(wgt_width), lanes)),
                "dot": Out(signed(dot_width(lanes=lanes, inp_width=inp_width, wgt_width=wgt_width))),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build multipliers and adder tree."""
        m = Module()
        width = self.inp_width + self.wgt_width
        level = []
        for lane in range(self.lanes):
            product = Signal(signed(width), name=f"product_{lane}", reset_less=True)
            m.d.sync += product.eq(self.inp[lane] * self.wgt[lane])
            level.append(product)
        level = self._sums(m, level, depth=0, registered=True)
        depth = 1
        while len(level) > 1:
            several = len(level) > 2
            level = self._sums(m, level, depth=depth, registered=not several)
            if several:
                level = self._sums(m, level, depth=depth + 1, registered=True)
            depth += 2
        m.d.comb += self.dot.eq(level[0])
        return m

    def _sums(self, m: Module, level: list[Any], *, depth: int, registered: bool) -> list[Any]:
        """Return the sums of neighbouring pairs (a single value is passed on)."""
        domain = m.d.sync if registered else m.d.comb
        sums = []
        for index in range(0, len(level), 2):
            terms = level[index : index + 2]
            width = len(terms[0]) + len(terms) - 1
            total = Signal(signed(width), name=f"sum_{depth}_{index // 2}", reset_less=True)
            domain += total.eq(sum(terms[1:], terms[0]))
            sums.append(total)
        return sums
