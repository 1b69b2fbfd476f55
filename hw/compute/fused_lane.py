"""One lane of a tensor ALU that has fused steps: any operation, or two of them and a shift.

Tests: ``tests/hw/compute/test_fused_lane.py``; ports and resets: ``tests/hw/test_ports.py``,
``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.compute.alu_lane import LANE_MULTIPLIERS
from hw.compute.lane_parts import LANE_WIDTH, Funnel, is_far, product_terms, sum_or_limit
from hw.errors import ComponentError
from isa.instructions import AluOpcode
from isa.layout import ALU_OPCODE, IMMEDIATE

__all__ = ["FUSED_LATENCY", "FusedLane"]

FUSED_LATENCY = 7
"""Cycles from the operands to the result, of every operation."""


class FusedLane(wiring.Component):
    """A result every cycle, ``FUSED_LATENCY`` cycles after its operands.

    Minimum, maximum, sum and product come first, then what a fused step does with ``z``, then the funnel; what a step
    does not need lets its number through. So every step takes the same way, and there is nothing to choose between at
    the end. Operations without ``fused`` are those of ``AluLane``.

    Parameters
    ----------
    multipliers, wide : int, bool
        As of ``AluLane``.

    Members
    -------
    opcode : In(AluOpcode)
    x, y : In(signed(32))
        Operands 0 and 1.
    fused : In(1)
        The step goes on: after MAX with the minimum, after MUL with the sum, of the result and ``z``; then it shifts
        right by ``count``, or left by its opposite.
    z : In(signed(32))
    count : In(signed(16))
    result : Out(32)
    """

    def __init__(self, *, multipliers: int = LANE_MULTIPLIERS, wide: bool = False) -> None:
        if not 0 <= multipliers <= LANE_MULTIPLIERS:
            raise ComponentError(f"FusedLane has use for 0 to {LANE_MULTIPLIERS} multipliers, not {multipliers}")
        self.multipliers = multipliers
        self.wide = wide
        number = In(signed(LANE_WIDTH))
        super().__init__(
            {
                "opcode": In(ALU_OPCODE.width),
                "x": number,
                "y": number,
                "fused": In(1),
                "z": number,
                "count": In(signed(IMMEDIATE.width)),
                "result": Out(LANE_WIDTH),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Build the two operations and the funnel, one after the other."""
        m = Module()
        first = self._first(m)
        adds, limits, z = self._second_operands(m)
        total, less = sum_or_limit(m, first, z, adds=adds, name="second_total")
        second = Signal(LANE_WIDTH, reset_less=True)
        m.d.sync += second.eq(Mux(adds, total, Mux(limits & ~less, z, first)))
        amount, above, below, left = self._shift(m)
        fill = second[-1] & ~left
        # One register more than the funnel needs: writes are an even number of cycles behind those of GEMM.
        last = Signal(LANE_WIDTH, reset_less=True)
        m.d.sync += last.eq(Funnel(second, amount, above, below, fill).shifted(m))
        m.d.comb += self.result.eq(last)
        return m

    def _first(self, m: Module) -> Signal:
        """Return the result of the first operation two cycles later; of a shift it is x and nothing added."""
        shifts = self.opcode == AluOpcode.SHR
        adds = (self.opcode == AluOpcode.ADD) | shifts
        x, y = self.x.as_unsigned(), self.y.as_unsigned()
        total, less = sum_or_limit(m, x, Mux(shifts, 0, y), adds=adds, name="first_total")
        keeps_x = less ^ (self.opcode == AluOpcode.MAX)
        plain = Signal(LANE_WIDTH, reset_less=True)
        multiplies = Signal(reset_less=True)
        terms = product_terms(m, self.x, self.y, multipliers=self.multipliers, wide=self.wide, most=LANE_MULTIPLIERS)
        first = Signal(LANE_WIDTH, name="first", reset_less=True)
        m.d.sync += [
            plain.eq(Mux(adds, total, Mux(keeps_x, x, y))),
            multiplies.eq(self.opcode == AluOpcode.MUL),
            first.eq(Mux(multiplies, sum(terms[1:], terms[0])[:LANE_WIDTH], plain)),
        ]
        return first

    def _second_operands(self, m: Module) -> tuple[Value, Value, Value]:
        """Return, two cycles later, whether the step adds z, or limits by it, and z."""
        adds = self.fused & (self.opcode == AluOpcode.MUL)
        limits = self.fused & (self.opcode == AluOpcode.MAX)
        later = self._later(m, Cat(adds, limits, self.z), cycles=2, name="second")
        return later[0], later[1], later[2:]

    def _shift(self, m: Module) -> tuple[Value, Value, Value, Value]:
        """Return, three cycles later, how much the funnel shifts, where its number stands, and if it goes left."""
        left = Mux(self.fused, self.count[-1], self.y[-1])
        far = Mux(self.fused, is_far(self.count), is_far(self.y))
        shifts = self.fused | (self.opcode == AluOpcode.SHR)
        amount = Signal(5, name="decoded_amount", reset_less=True)
        above = Signal(name="decoded_above", reset_less=True)
        below = Signal(name="decoded_below", reset_less=True)
        goes_left = Signal(name="decoded_left", reset_less=True)
        m.d.sync += [
            amount.eq(Mux(shifts, Mux(self.fused, self.count[:5], self.y[:5]), 0)),
            above.eq(shifts & left & ~far),
            below.eq(~shifts | (~left & ~far)),
            goes_left.eq(shifts & left),
        ]
        later = self._later(m, Cat(amount, above, below, goes_left), cycles=2, name="shift")
        return later[:5], later[5], later[6], later[7]

    def _later(self, m: Module, value: Value, *, cycles: int, name: str) -> Value:
        """Return ``value`` that many cycles later."""
        for cycle in range(1, cycles + 1):
            register = Signal(len(value), name=f"{name}_{cycle}", reset_less=True)
            m.d.sync += register.eq(value)
            value = register
        return value
