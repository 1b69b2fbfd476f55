"""Steps that bring the second operand of fused steps, in front of those that need a new one.

Tests: ``tests/hw/compute/test_stage_fused.py``; ports and resets: ``tests/hw/test_ports.py``,
``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PairSteps", "pair_step_layout"]


def pair_step_layout(*, address_width: int, meta: data.StructLayout) -> data.StructLayout:
    """Return the layout of a step: its addresses, what goes along, and whether it only reads a second operand."""
    return data.StructLayout({"dst": address_width, "src": address_width, "meta": meta, "last": 1, "second": 1})


class PairSteps(wiring.Component):
    """Puts a step of its own, which reads ``src + 1`` and writes nothing, before a fused one with another source.

    The ALU keeps what such a step reads. A step whose source is that of the fused step before it needs none, unless one
    of those that had this source wrote to one of the two operands, or ended its instruction. ``steps`` have
    ``second`` 0.

    Parameters
    ----------
    address_width : int
        Bits of an accumulator's address.
    meta : StructLayout
        What goes along with a step; ``fused`` is in it.

    Members
    -------
    steps, sink : In(stream of pair_step_layout), Out(stream of pair_step_layout)
        Steps before and after; an instruction's steps are all fused, or none is.
    """

    def __init__(self, *, address_width: int, meta: data.StructLayout) -> None:
        self.address_width = address_width
        layout = stream.Signature(pair_step_layout(address_width=address_width, meta=meta))
        super().__init__({"steps": In(layout), "sink": Out(layout)})

    def elaborate(self, platform: Any) -> Module:
        """Keep the source whose neighbour was asked for last."""
        m = Module()
        step = self.steps.p
        known = Signal()
        address = Signal(self.address_width, reset_less=True)
        neighbour = Signal(self.address_width)
        asks = Signal()
        taken = Signal()
        m.d.comb += [
            neighbour.eq(step.src + 1),
            asks.eq(step.meta.fused & ~(known & (address == step.src))),
            taken.eq(self.steps.valid & self.sink.ready),
            self.sink.valid.eq(self.steps.valid),
            self.sink.p.eq(step),
            self.sink.p.second.eq(asks),
            self.steps.ready.eq(self.sink.ready & ~asks),
        ]
        with m.If(asks):
            m.d.comb += [self.sink.p.src.eq(neighbour), self.sink.p.last.eq(0)]
        with m.If(taken & asks):
            m.d.sync += [known.eq(1), address.eq(step.src)]
        with m.Elif(taken & (step.last | (step.dst == step.src) | (step.dst == neighbour))):
            m.d.sync += known.eq(0)
        return m
