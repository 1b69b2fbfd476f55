"""One lane of the tensor ALU: every operation on two 32-bit numbers.

Tests: ``tests/hw/compute/test_alu_lane.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

import functools
import operator
from enum import Enum
from typing import Any, assert_never

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.compute.lane_parts import LANE_WIDTH as WIDTH
from hw.compute.lane_parts import finely_shifted, is_far, product_terms, sum_or_limit
from hw.errors import ComponentError
from isa.instructions import AluOpcode
from isa.layout import ALU_OPCODE

__all__ = ["LANE_LATENCY", "LANE_MULTIPLIERS", "AluLane"]

LANE_LATENCY = 5
"""Cycles from the operands to the result."""

LANE_MULTIPLIERS = 3
"""Multipliers that a lane has use for."""


class LanePart(Enum):
    """The parts of a lane, by what they have in common."""

    SUM = "an adder"
    LIMIT = "the same adder, which subtracts, and a choice between the operands"
    PRODUCT = "multipliers"
    SHIFTER = "a 64-bit funnel"


def is_done_by(part: LanePart, opcode: Value) -> Value:
    """Return whether ``part`` computes what ``opcode`` asks for."""
    return functools.reduce(operator.or_, (opcode == entry for entry in AluOpcode if _part_of(entry) is part))


def _part_of(opcode: AluOpcode) -> LanePart:
    """Return the part that computes ``opcode``."""
    match opcode:
        case AluOpcode.ADD:
            return LanePart.SUM
        case AluOpcode.MIN | AluOpcode.MAX:
            return LanePart.LIMIT
        case AluOpcode.MUL:
            return LanePart.PRODUCT
        case AluOpcode.SHR:
            return LanePart.SHIFTER
        case _:
            assert_never(opcode)


class AluLane(wiring.Component):
    """A result every cycle, ``LANE_LATENCY`` cycles after its operands.

    ADD and MUL wrap. SHR by y >= 0 is an arithmetic right shift, by y < 0 a left shift by -y; counts of 32 or more give
    all sign bits, or zero.

    Parameters
    ----------
    multipliers : int
        Of the three products that MUL adds up, how many are of multipliers; the rest is logic. The first one is the
        largest, the last one the smallest.
    wide : bool
        Multipliers have 25 by 18 bits, as a DSP48 has, and not 18 by 18.

    Members
    -------
    opcode : In(AluOpcode)
    adds, shifts : In(1)
        Whether the adder is to add, for ADD and SHR, and whether it is SHR, in front of which nothing is added to x.
        From registers, for what waits for them is every bit of the sum.
    x, y : In(signed(32))
        Operands 0 and 1.
    result : Out(32)
        A register.
    """

    def __init__(self, *, multipliers: int = LANE_MULTIPLIERS, wide: bool = False) -> None:
        if not 0 <= multipliers <= LANE_MULTIPLIERS:
            raise ComponentError(f"AluLane has use for 0 to {LANE_MULTIPLIERS} multipliers, not {multipliers}")
        self.multipliers = multipliers
        self.wide = wide
        number = In(signed(WIDTH))
        super().__init__(
            {
                "opcode": In(ALU_OPCODE.width),
                "adds": In(1),
                "shifts": In(1),
                "x": number,
                "y": number,
                "result": Out(WIDTH),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the parts. A sum or limit goes on through the funnel, which shifts it by no bits.

        The product joins in the funnel's first stage, so that nothing is left to choose at the end.
        """
        m = Module()
        multiplies = [is_done_by(LanePart.PRODUCT, self.opcode)]
        for index in (1, 2):
            multiplies.append(Signal(name=f"multiplies_{index}", reset_less=True))
            m.d.sync += multiplies[index].eq(multiplies[index - 1])
        product = self._product(m)
        moved, count = self._moved(m, self._plain(m))
        # No bit depends on more than six: what a look-up table holds.
        coarse = Signal(len(moved), reset_less=True)
        m.d.sync += coarse.eq(Cat(Mux(multiplies[2], product, moved[:WIDTH]), moved[WIDTH:]))
        m.d.comb += self.result.eq(finely_shifted(m, coarse, count))
        return m

    def _plain(self, m: Module) -> Signal:
        """Return minimum, maximum or sum a cycle later; x of a shift."""
        x, y = self.x.as_unsigned(), self.y.as_unsigned()
        total, less = sum_or_limit(m, x, Mux(self.shifts, 0, y), adds=self.adds, name="total")
        keeps_x = less ^ (self.opcode == AluOpcode.MAX)
        result = Signal(WIDTH, name="plain", reset_less=True)
        m.d.sync += result.eq(Mux(self.adds, total, Mux(keeps_x, x, y)))
        return result

    def _product(self, m: Module) -> Signal:
        """Return the low half of the product two cycles later."""
        terms = product_terms(m, self.x, self.y, multipliers=self.multipliers, wide=self.wide, most=LANE_MULTIPLIERS)
        product = Signal(WIDTH, name="product", reset_less=True)
        m.d.sync += product.eq(sum(terms[1:], terms[0]))
        return product

    def _moved(self, m: Module, plain: Signal) -> tuple[Value, Value]:
        """Return 47 of the funnel's 64 bits, two cycles after the operands, and how far they go on, after three.

        ``plain`` stands in them as ``Funnel`` tells. Each 16 of them are a half of it, or all alike: two registers say
        which.
        """
        x = Signal(WIDTH, name="shift_x", reset_less=True)
        amount = Signal(5, name="count_5", reset_less=True)
        left = Signal(reset_less=True)
        near = Signal(reset_less=True)
        counts = [Signal(4, name=f"count_4_{index}", reset_less=True) for index in range(2)]
        m.d.sync += [
            x.eq(plain),
            amount.eq(Mux(self.shifts, self.y[:5], 0)),
            left.eq(self.shifts & self.y[-1]),
            near.eq(~(self.shifts & is_far(self.y))),
            counts[0].eq(amount),
            counts[1].eq(counts[0]),
        ]
        fill = plain[-1] & ~left
        by_16 = amount[4]
        parts = (
            ("low", near & ~left, by_16),
            ("middle", near & (left == by_16), ~left),
            ("high", near & left, by_16),
        )
        found = []
        for name, is_half, upper in parts:
            copies = Signal(name=f"{name}_copies", reset_less=True)
            which = Signal(name=f"{name}_which", reset_less=True)
            m.d.sync += [copies.eq(is_half), which.eq(Mux(is_half, upper, fill))]
            found.append(Mux(copies, Mux(which, x[16:], x[:16]), which.replicate(16)))
        return Cat(found)[: WIDTH + 15], counts[1]
