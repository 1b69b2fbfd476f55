"""One lane of the tensor ALU: every operation on two 32-bit numbers.

Tests: ``tests/hw/compute/test_alu_lane.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

import functools
import operator
from enum import Enum
from typing import Any, assert_never

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.compute.lane_parts import LANE_WIDTH as WIDTH
from hw.compute.lane_parts import Funnel, is_far, product_terms, sum_or_limit
from hw.errors import ComponentError
from isa.instructions import AluOpcode
from isa.layout import ALU_OPCODE

__all__ = ["LANE_LATENCY", "LANE_MULTIPLIERS", "AluLane"]

LANE_LATENCY = 4
"""Cycles from the operands to the result."""

LANE_MULTIPLIERS = 3
"""Multipliers that a lane has use for."""


class _Part(Enum):
    """The parts of a lane, by what they have in common."""

    PLAIN = "one adder and what chooses between its sum and the operands"
    PRODUCT = "multipliers"
    SHIFTER = "a 64-bit funnel"


def _part_of(opcode: AluOpcode) -> _Part:
    """Return the part that computes ``opcode``."""
    match opcode:
        case AluOpcode.MIN | AluOpcode.MAX | AluOpcode.ADD:
            return _Part.PLAIN
        case AluOpcode.MUL:
            return _Part.PRODUCT
        case AluOpcode.SHR:
            return _Part.SHIFTER
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
    adds : In(1)
        Whether it is ADD: from a register, for what waits for it is every bit of the sum.
    x, y : In(signed(32))
        Operands 0 and 1.
    result : Out(32)
    """

    def __init__(self, *, multipliers: int = LANE_MULTIPLIERS, wide: bool = False) -> None:
        if not 0 <= multipliers <= LANE_MULTIPLIERS:
            raise ComponentError(f"AluLane has use for 0 to {LANE_MULTIPLIERS} multipliers, not {multipliers}")
        self.multipliers = multipliers
        self.wide = wide
        number = In(signed(WIDTH))
        super().__init__(
            {"opcode": In(ALU_OPCODE.width), "adds": In(1), "x": number, "y": number, "result": Out(WIDTH)}
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the three parts and choose between their results."""
        m = Module()
        opcodes = [self.opcode]
        for index in range(1, LANE_LATENCY):
            opcodes.append(Signal(ALU_OPCODE.width, name=f"opcode_{index}", reset_less=True))
            m.d.sync += opcodes[index].eq(opcodes[index - 1])
        shifted = self._shifted(m)
        plain = self._plain(m)
        product = self._product(m)
        later = Signal(WIDTH, reset_less=True)
        other = Signal(WIDTH, reset_less=True)
        last = Signal(WIDTH, reset_less=True)
        multiplies = _is_done_by(_Part.PRODUCT, opcodes[2])
        m.d.sync += [later.eq(plain), other.eq(Mux(multiplies, product, later)), last.eq(other)]
        shifts = Signal(reset_less=True)
        m.d.sync += shifts.eq(_is_done_by(_Part.SHIFTER, opcodes[3]))
        m.d.comb += self.result.eq(Mux(shifts, shifted, last))
        return m

    def _plain(self, m: Module) -> Signal:
        """Return minimum, maximum or sum a cycle later."""
        x, y = self.x.as_unsigned(), self.y.as_unsigned()
        total, less = sum_or_limit(m, x, y, adds=self.adds, name="total")
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

    def _shifted(self, m: Module) -> Signal:
        """Return the shifted x four cycles later."""
        left = self.y[-1]
        far = is_far(self.y)
        x = Signal(WIDTH, name="shift_x", reset_less=True)
        amount = Signal(5, name="count_5", reset_less=True)
        above = Signal(reset_less=True)
        below = Signal(reset_less=True)
        fill = Signal(reset_less=True)
        m.d.sync += [
            x.eq(self.x),
            amount.eq(self.y),
            above.eq(left & ~far),
            below.eq(~left & ~far),
            fill.eq(self.x[-1] & ~left),
        ]
        return Funnel(x, amount, above, below, fill).shifted(m)


def _is_done_by(part: _Part, opcode: Value) -> Value:
    """Return whether ``part`` computes what ``opcode`` asks for."""
    return functools.reduce(operator.or_, (opcode == entry for entry in AluOpcode if _part_of(entry) is part))
