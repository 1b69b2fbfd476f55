"""Two products with one factor in common, from one multiplier.

Tests: ``tests/hw/compute/test_packed_product.py``, which tries all operands of eight bits; ports and resets:
``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.errors import ComponentError

__all__ = ["PackedProduct"]


class PackedProduct(wiring.Component):
    """``low * factor`` and ``high * factor``, one cycle after the operands, every cycle.

    With S bits for a product, ``high << S`` plus ``low``, times ``factor``, is ``high * factor << S`` plus
    ``low * factor``: where the lower product is negative it borrows one from the upper. Adding half of ``1 << S`` makes
    the lower product positive, so that nothing is borrowed; its top bit is then the other way round. For eight bits
    that is an addition of 25 bits, a multiplication by 8 and an addition of a constant: what one DSP48E1 does.

    Parameters
    ----------
    factor_width, other_width : int
        Bits of ``factor``, and of ``low`` and ``high`` (two's complement).

    Members
    -------
    factor : In(signed)
    low, high : In(signed)
    low_product, high_product : Out(signed)
    """

    def __init__(self, *, factor_width: int, other_width: int) -> None:
        if min(factor_width, other_width) < 1:
            raise ComponentError(f"PackedProduct needs factors of a bit or more, not {factor_width} and {other_width}")
        self.factor_width = factor_width
        self.other_width = other_width
        product = signed(factor_width + other_width)
        super().__init__(
            {
                "factor": In(signed(factor_width)),
                "low": In(signed(other_width)),
                "high": In(signed(other_width)),
                "low_product": Out(product),
                "high_product": Out(product),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the sum, the product and the register."""
        m = Module()
        width = self.factor_width + self.other_width
        packed = Signal(signed(width + self.other_width + 1))
        result = Signal(signed(2 * width), reset_less=True)
        m.d.comb += [
            packed.eq((self.high << width) + self.low),
            self.low_product.eq(Cat(result[: width - 1], ~result[width - 1])),
            self.high_product.eq(result[width:]),
        ]
        m.d.sync += result.eq(packed * self.factor + (1 << width - 1))
        return m
