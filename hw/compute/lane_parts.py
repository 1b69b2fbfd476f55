"""What lanes of the tensor ALU are made of: products, and a funnel that shifts.

Tests: ``tests/hw/compute/test_alu_lane.py``, ``tests/hw/compute/test_fused_lane.py``.
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from hw.compute.logic_product import logic_terms

__all__ = ["LANE_WIDTH", "Funnel", "finely_shifted", "is_far", "product_terms", "sum_or_limit"]

LANE_WIDTH = 32
"""Bits of a number of the accumulator."""


def product_terms(m: Module, x: Value, y: Value, *, multipliers: int, wide: bool, most: int) -> list[Value]:
    """Return numbers whose sum has the low half of the product, a cycle later: products of parts without signs.

    ``multipliers`` of the three products are of multipliers, the rest is logic; ``most`` is how many multipliers a lane
    has use for. Those have 25 by 18 bits where they are ``wide``, and else 18 by 18.
    """
    width = LANE_WIDTH
    x_width, y_width = (24, 17) if wide and multipliers < most else (17, 17)
    x_low, y_low = x[:x_width], y[:y_width]
    parts = (
        (x_low, y_low, 0),
        (x[: width - y_width], y[y_width:], y_width),
        (y[: width - x_width], x[x_width:], x_width),
    )
    terms: list[Value] = []
    for index, (a, b, shift) in enumerate(parts):
        if index < multipliers:
            found: list[Value] = [a * b]
        else:
            found = logic_terms(m, a, b, width=width - shift, most=2, name=f"part_{index}")
        for number, value in enumerate(found):
            kept = Signal(width - shift, name=f"term_{index}_{number}", reset_less=True)
            m.d.sync += kept.eq(value)
            terms.append(Cat(Const(0, shift), kept))
    return terms


def sum_or_limit(m: Module, x: Value, y: Value, *, adds: Value, name: str) -> tuple[Value, Value]:
    """Return the sum, and whether x is less than y: one adder, which subtracts in order to compare if not ``adds``."""
    total = Signal(LANE_WIDTH + 2, name=name)
    carry = ~adds
    augend = Cat(carry, x, x[-1])
    addend = Cat(carry, y ^ carry.replicate(LANE_WIDTH), y[-1] ^ carry)
    m.d.comb += total.eq(augend + addend)
    return total[1 : LANE_WIDTH + 1], total[LANE_WIDTH + 1]


def is_far(count: Value) -> Value:
    """Return whether a shift by ``count`` leaves no bit of the number: by 32 or more, to either side."""
    return (count[5:].as_unsigned() ^ count[-1].replicate(len(count) - 5)).any()


@dataclass(frozen=True, slots=True)
class Funnel:
    """32 of 64 bits, chosen by the low five bits of an amount: three cycles from ``x`` and the rest to what is shifted.

    A left shift by n takes the bits from 32 - n on of x above zeros, and 32 - n is -n modulo 32. ``above`` and
    ``below`` say where x stands, ``fill`` is every other bit. No bit of a stage depends on more than six: what a
    look-up table holds.
    """

    x: Value
    amount: Value
    above: Value
    below: Value
    fill: Value

    def shifted(self, m: Module) -> Signal:
        """Return the shifted number."""
        width = LANE_WIDTH
        low_bits = Signal(4, name="count_4", reset_less=True)
        coarse = Signal(width + 15, name="coarse", reset_less=True)
        fills = self.fill.replicate(width)
        wide = Cat(Mux(self.below, self.x, fills), Mux(self.above, self.x, fills))
        m.d.sync += [
            coarse.eq(Mux(self.amount[4], wide[16 : 16 + len(coarse)], wide[: len(coarse)])),
            low_bits.eq(self.amount),
        ]
        return finely_shifted(m, coarse, low_bits)


def finely_shifted(m: Module, coarse: Value, count: Value) -> Signal:
    """Return 32 of 47 bits from ``count`` on, two cycles later; ``count`` has four bits."""
    last_count = Signal(2, name="count_2", reset_less=True)
    medium = Signal(LANE_WIDTH + 3, name="medium", reset_less=True)
    fine = Signal(LANE_WIDTH, name="fine", reset_less=True)
    m.d.sync += [
        medium.eq(_bits(coarse, count[2:], 4, len(medium))),
        last_count.eq(count),
        fine.eq(_bits(medium, last_count, 1, len(fine))),
    ]
    return fine


def _bits(value: Value, count: Value, step: int, width: int) -> Value:
    """Return ``width`` bits of ``value`` from ``count * step`` on; ``count`` has two bits.

    Alternatives that exclude each other, and not choices of choices, which neighbours would share: yosys takes three
    look-up tables of a Xilinx 7 for two bits then, where one holds a bit.
    """
    parts = [Mux(count == index, value[index * step : index * step + width], 0) for index in range(4)]
    return (parts[0] | parts[1]) | (parts[2] | parts[3])
