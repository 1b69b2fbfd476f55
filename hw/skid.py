"""A stream with a place for one transfer: no latency, and no combinational path from the sink's ``ready``.

Tests: ``tests/hw/test_stream_register.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Skid"]


class Skid(wiring.Component):
    """Passes a stream on in the same cycle; a transfer that the sink does not take at once is kept.

    So ``sink.valid`` and its payload hold until they are taken, even if those of ``source`` do not.

    Parameters
    ----------
    shape : shape-like
        The payload.

    Members
    -------
    source : In(stream)
        Where transfers come from.
    sink : Out(stream)
        Where they go.
    full : Out(1)
        A transfer is kept.
    """

    def __init__(self, shape: Any) -> None:
        self.shape = shape
        super().__init__({"source": In(stream.Signature(shape)), "sink": Out(stream.Signature(shape)), "full": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        """Build the place."""
        m = Module()
        kept = Signal(self.shape, reset_less=True)
        room = Signal(init=1)  # not ``full``; a register of its own, because that one has every bit to choose
        m.d.comb += [
            self.source.ready.eq(room),
            self.sink.valid.eq(self.source.valid | ~room),
            self.sink.payload.eq(self.source.payload),
        ]
        with m.If(self.full):
            m.d.comb += self.sink.payload.eq(kept)
        with m.If(~self.full):
            m.d.sync += kept.eq(self.source.payload)
        m.d.sync += [self.full.eq(self.sink.valid & ~self.sink.ready), room.eq(~self.sink.valid | self.sink.ready)]
        return m
