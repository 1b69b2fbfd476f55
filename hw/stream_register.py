"""A register in a stream, which ends a combinational path.

Tests: ``tests/hw/test_stream_register.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StreamRegister"]


class StreamRegister(wiring.Component):
    """Passes a stream on with one cycle of latency, one transfer a cycle; ``ready`` passes through.

    Parameters
    ----------
    shape : shape-like
        The payload.

    Members
    -------
    source : In(stream)
        Where transfers come from.
    sink : Out(stream)
        Where they go, from a register.
    """

    def __init__(self, shape: Any) -> None:
        self.shape = shape
        super().__init__({"source": In(stream.Signature(shape)), "sink": Out(stream.Signature(shape))})

    def elaborate(self, platform: Any) -> Module:
        """Build the register."""
        m = Module()
        m.d.comb += self.source.ready.eq(~self.sink.valid | self.sink.ready)
        with m.If(self.source.ready):
            m.d.sync += self.sink.valid.eq(self.source.valid)
        payload = Signal(self.shape, reset_less=True)
        m.d.comb += self.sink.payload.eq(payload)
        with m.If(self.source.ready & self.source.valid):
            m.d.sync += payload.eq(self.source.payload)
        return m
