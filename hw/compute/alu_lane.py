"""One lane of the tensor ALU: every operation on two 32-bit numbers.

Tests: ``tests/hw/compute/test_alu_lane.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

import functools
import operator
from enum import Enum
from typing import Any, assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.compute.logic_product import logic_terms
from hw.errors import ComponentError
from isa.instructions import AluOpcode
from isa.layout import ALU_OPCODE

__all__ = ["LANE_LATENCY", "LANE_MULTIPLIERS", "AluLane"]

LANE_LATENCY = 4
"""Cycles from the operands to the result."""

LANE_MULTIPLIERS = 3
"""Multipliers that a lane has use for."""

WIDTH = 32


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
    x, y : In(signed(32))
        Operands 0 and 1.
    result : Out(32)
    """

    def __init__(self, *, multipliers: int = LANE_MULTIPLIERS, wide: bool = False) -> None:
        if not 0 <= multipliers <= LANE_MULTIPLIERS:
            raise ComponentError(f"AluLane has use for 0 to {LANE_MULTIPLIERS} multipliers, not {multipliers}")
        self.multipliers = multipliers
        self.wide = wide
        opcode = In(ALU_OPCODE.width)
        super().__init__({"opcode": opcode, "x": In(signed(WIDTH)), "y": In(signed(WIDTH)), "result": Out(WIDTH)})

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
        """Return minimum, maximum or sum a cycle later: one adder, which subtracts in order to compare."""
        adds = self.opcode == AluOpcode.ADD
        total = Signal(WIDTH + 2)
        result = Signal(WIDTH, name="plain", reset_less=True)
        carry = ~adds
        x = self.x.as_unsigned()
        y = self.y.as_unsigned()
        augend = Cat(carry, x, x[-1])
        addend = Cat(carry, y ^ carry.replicate(WIDTH), y[-1] ^ carry)
        m.d.comb += total.eq(augend + addend)
        less = total[WIDTH + 1]
        keeps_x = less ^ (self.opcode == AluOpcode.MAX)
        m.d.sync += result.eq(Mux(adds, total[1 : WIDTH + 1], Mux(keeps_x, x, y)))
        return result

    def _product(self, m: Module) -> Signal:
        """Return the low half of the product two cycles later, from three products of parts without signs."""
        x_width, y_width = (24, 17) if self.wide and self.multipliers < LANE_MULTIPLIERS else (17, 17)
        x_low, y_low = self.x[:x_width], self.y[:y_width]
        parts = (
            (x_low, y_low, 0),
            (self.x[: WIDTH - y_width], self.y[y_width:], y_width),
            (self.y[: WIDTH - x_width], self.x[x_width:], x_width),
        )
        terms: list[Value] = []
        for index, (a, b, shift) in enumerate(parts):
            if index < self.multipliers:
                found: list[Value] = [a * b]
            else:
                found = logic_terms(m, a, b, width=WIDTH - shift, most=2, name=f"part_{index}")
            for number, value in enumerate(found):
                kept = Signal(WIDTH - shift, name=f"term_{index}_{number}", reset_less=True)
                m.d.sync += kept.eq(value)
                terms.append(Cat(Const(0, shift), kept))
        product = Signal(WIDTH, name="product", reset_less=True)
        m.d.sync += product.eq(sum(terms[1:], terms[0]))
        return product

    def _shifted(self, m: Module) -> Signal:
        """Return the shifted x four cycles later: 32 of 64 bits, chosen by y modulo 32.

        A left shift by n takes the bits from 32 - n on of x above zeros, and 32 - n is y modulo 32. No bit of a stage
        depends on more than six: what a look-up table holds.
        """
        left = self.y[-1]
        far = (self.y[5:].as_unsigned() ^ left.replicate(WIDTH - 5)).any()
        x = Signal(WIDTH, name="shift_x", reset_less=True)
        counts = [Signal(width, name=f"count_{width}", reset_less=True) for width in (5, 4, 2)]
        above = Signal(reset_less=True)
        below = Signal(reset_less=True)
        fill = Signal(reset_less=True)
        coarse = Signal(WIDTH + 15, reset_less=True)
        medium = Signal(WIDTH + 3, reset_less=True)
        fine = Signal(WIDTH, reset_less=True)
        fills = fill.replicate(WIDTH)
        wide = Cat(Mux(below, x, fills), Mux(above, x, fills))
        m.d.sync += [
            x.eq(self.x),
            counts[0].eq(self.y),
            above.eq(left & ~far),
            below.eq(~left & ~far),
            fill.eq(self.x[-1] & ~left),
            coarse.eq(Mux(counts[0][4], wide[16 : 16 + len(coarse)], wide[: len(coarse)])),
            counts[1].eq(counts[0]),
            medium.eq(_bits(coarse, counts[1][2:], 4, len(medium))),
            counts[2].eq(counts[1]),
            fine.eq(_bits(medium, counts[2], 1, len(fine))),
        ]
        return fine


def _is_done_by(part: _Part, opcode: Value) -> Value:
    """Return whether ``part`` computes what ``opcode`` asks for."""
    return functools.reduce(operator.or_, (opcode == entry for entry in AluOpcode if _part_of(entry) is part))


def _bits(value: Signal, count: Value, step: int, width: int) -> Value:
    """Return ``width`` bits of ``value`` from ``count * step`` on; ``count`` has two bits."""
    parts = [value[index * step : index * step + width] for index in range(4)]
    return Mux(count[1], Mux(count[0], parts[3], parts[2]), Mux(count[0], parts[1], parts[0]))
