"""One lane of the tensor ALU: MIN, MAX, ADD, SHR and MUL on two 32-bit numbers.

Imports ``isa.instructions`` and amaranth. Tests: ``tests/hw/compute/test_alu_lane.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from isa.instructions import AluOpcode

__all__ = ["LANE_LATENCY", "AluLane"]

LANE_LATENCY = 2
"""Cycles from the operands to the result."""

WIDTH = 32
HALF = 16


class AluLane(wiring.Component):
    """A result every cycle, ``LANE_LATENCY`` cycles after its operands.

    ADD and MUL wrap. SHR by y >= 0 is an arithmetic right shift, by y < 0 a left shift by -y; counts of 32 or more give
    all sign bits, or zero.

    Members
    -------
    opcode : In(AluOpcode)
    x, y : In(signed(32))
        Operands 0 and 1.
    result : Out(32)
    """

    def __init__(self) -> None:
        super().__init__({"opcode": In(3), "x": In(signed(WIDTH)), "y": In(signed(WIDTH)), "result": Out(WIDTH)})

    def elaborate(self, platform: Any) -> Module:
        """Build the three parts and choose between their results."""
        m = Module()
        opcode = Signal(3, reset_less=True)
        m.d.sync += opcode.eq(self.opcode)
        plain = self._plain(m)
        product = self._product(m)
        shifted = self._shifted(m)
        with m.If(opcode == AluOpcode.SHR):
            m.d.sync += self.result.eq(shifted)
        with m.Elif(opcode == AluOpcode.MUL):
            m.d.sync += self.result.eq(product)
        with m.Else():
            m.d.sync += self.result.eq(plain)
        return m

    def _plain(self, m: Module) -> Value:
        """Return minimum, maximum or sum: one adder, which subtracts in order to compare."""
        adds = self.opcode == AluOpcode.ADD
        total = Signal(WIDTH + 2)
        result = Signal(WIDTH, reset_less=True)
        carry = ~adds
        x = self.x.as_unsigned()
        y = self.y.as_unsigned()
        augend = Cat(carry, x, x[-1])
        addend = Cat(carry, y ^ carry.replicate(WIDTH), y[-1] ^ carry)
        m.d.comb += total.eq((augend + addend)[: WIDTH + 2])
        less = total[WIDTH + 1]
        keeps_x = less ^ (self.opcode == AluOpcode.MAX)
        m.d.sync += result.eq(Mux(adds, total[1 : WIDTH + 1], Mux(keeps_x, x, y)))
        return result

    def _product(self, m: Module) -> Value:
        """Return the low half of the product, from three products of halves (one DSP block each)."""
        low = Signal(2 * HALF, reset_less=True)
        cross_x = Signal(HALF, reset_less=True)
        cross_y = Signal(HALF, reset_less=True)
        x_low = self.x[:HALF]
        y_low = self.y[:HALF]
        m.d.sync += [
            low.eq(x_low * y_low),
            cross_x.eq(self.x[HALF:] * y_low),
            cross_y.eq(x_low * self.y[HALF:]),
        ]
        return Cat(low[:HALF], (low[HALF:] + cross_x + cross_y)[:HALF])

    def _shifted(self, m: Module) -> Value:
        """Return the shifted x: 32 of 64 bits, chosen by the low five bits of y.

        A left shift by n takes the bits from 32 - n on of x above zeros, and 32 - n is y modulo 32.
        """
        left = self.y[-1]
        far = (self.y[5:] ^ left.replicate(WIDTH - 5)).any()
        fill = self.x[-1] & ~left
        fills = fill.replicate(WIDTH)
        x = self.x.as_unsigned()
        above = Mux(left & ~far, x, fills)
        below = Mux(~left & ~far, x, fills)
        wide = Cat(below, above)
        coarse = Signal(WIDTH + 15, reset_less=True)
        count = Signal(4, reset_less=True)
        m.d.sync += [
            coarse.eq(Mux(self.y[4], wide[16 : 16 + len(coarse)], wide[: len(coarse)])),
            count.eq(self.y[:4]),
        ]
        level = Mux(count[3], coarse[8 : 8 + WIDTH + 7], coarse[: WIDTH + 7])
        level = Mux(count[2], level[4 : 4 + WIDTH + 3], level[: WIDTH + 3])
        level = Mux(count[1], level[2 : 2 + WIDTH + 1], level[: WIDTH + 1])
        return Mux(count[0], level[1 : 1 + WIDTH], level[:WIDTH])
