"""Instruction fetch that hands on each instruction only after a random pause: stands in for the real one in a core."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring

from hw.fetch import InstructionFetch
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

__all__ = ["MOST_GAP", "GappedFetch"]

MOST_GAP = 50
"""Cycles of the longest pause."""

_BITS = 16
_TAPS = (15, 14, 12, 3)  # x^16 + x^15 + x^13 + x^4 + 1: 65,535 numbers before they repeat


class GappedFetch(wiring.Component):
    """``InstructionFetch`` with 0 to ``MOST_GAP`` cycles before each instruction; random numbers go on over launches.

    ``gap`` is the pause that is left. Members and parameters are those of ``InstructionFetch``.
    """

    def __init__(self, vta: VTAConfig, hardware: HardwareConfig) -> None:
        self.fetch = InstructionFetch(vta, hardware)
        super().__init__(dict(self.fetch.signature.members.items()))

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's protocol
        """Let the three streams pass when no pause is left."""
        m = Module()
        m.submodules.fetch = fetch = self.fetch
        gap = Signal(range(MOST_GAP + 1))
        random = Signal(_BITS, init=1, reset_less=True)
        handed_on = Signal()
        streams = ("load", "compute", "store")
        for name, member in self.signature.members.items():
            if name in streams:
                continue
            port, inner = getattr(self, name), getattr(fetch, name)
            if member.is_signature:
                wiring.connect(m, inner, wiring.flipped(port))
            elif member.flow is wiring.In:
                m.d.comb += inner.eq(port)
            else:
                m.d.comb += port.eq(inner)
        for name in streams:
            port, inner = getattr(self, name), getattr(fetch, name)
            m.d.comb += [
                port.payload.eq(inner.payload),
                port.valid.eq(inner.valid & (gap == 0)),
                inner.ready.eq(port.ready & (gap == 0)),
            ]
            with m.If(port.valid & port.ready):
                m.d.comb += handed_on.eq(1)
        feedback = Cat(random[tap] for tap in _TAPS).xor()
        m.d.sync += random.eq(Cat(feedback, random))
        with m.If(handed_on):
            m.d.sync += gap.eq((random[:8] * (MOST_GAP + 1)) >> 8)
        with m.Elif(gap != 0):
            m.d.sync += gap.eq(gap - 1)
        return m
