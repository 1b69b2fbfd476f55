"""A place for a command and a register for a beat between a client of the memory engine and the engine.

Tests: ``tests/hw/test_read_link.py``; ports and costs: ``tests/hw/test_ports.py``,
``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.interfaces import ReadClient
from hw.skid import Skid
from hw.stream_register import StreamRegister

__all__ = ["ReadLink"]


class ReadLink(wiring.Component):
    """Passes commands on in the same cycle, and beats in the next; what is not taken at once waits.

    So no client waits for a grant of the same cycle, no other client for what this one does with a beat, and nothing
    that a client does with a beat for the bus, the order of the bursts and what is between.

    Parameters
    ----------
    addr_width, data_width : int
        Bits of a byte address and of a beat.
    waits : bool
        The client may let a beat wait; a client that never does needs no place for one.

    Members
    -------
    client : In(ReadClient)
        Who reads.
    engine : Out(ReadClient)
        Towards the memory engine.
    """

    def __init__(self, *, addr_width: int, data_width: int, waits: bool = True) -> None:
        self.waits = waits
        port = ReadClient(addr_width=addr_width, data_width=data_width)
        super().__init__({"client": In(port), "engine": Out(port)})

    def elaborate(self, platform: Any) -> Module:
        """Build the places, and the register of the beats."""
        m = Module()
        m.submodules.command = command = Skid(self.client.cmd.payload.shape())
        connect(m, flipped(self.client).cmd, command.source)
        connect(m, command.sink, flipped(self.engine).cmd)
        m.submodules.beat = beat = StreamRegister(self.client.data.payload.shape())
        connect(m, self._taken(m), beat.source)
        connect(m, beat.sink, flipped(self.client).data)
        return m

    def _taken(self, m: Module) -> Any:
        """Take beats of the engine, whatever the client does in the cycle; return them."""
        if self.waits:
            m.submodules.place = place = Skid(self.client.data.payload.shape())
            connect(m, flipped(self.engine).data, place.source)
            return place.sink
        beats = stream.Signature(self.client.data.payload.shape()).create(path=("beats",))
        m.d.comb += [
            self.engine.data.ready.eq(1),
            beats.valid.eq(self.engine.data.valid),
            beats.payload.eq(self.engine.data.payload),
        ]
        return beats
