"""One AXI4 port for all clients: in order, many bursts outstanding, nobody starved.

Imports ``hw.interfaces``. Tests: ``tests/hw/test_memory_engine.py``.
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from hw.interfaces import AXI4, ReadClient, WriteClient

__all__ = ["MemoryEngine"]

INCR = 1
CACHE = 0b0011  # normal memory, not cacheable, bufferable


class MemoryEngine(wiring.Component):
    """Turns the commands of the clients into AXI4 bursts of one ID, and gives each its beats.

    A read command is on the address channel in the cycle after it was taken, one a cycle. Beats reach their client in
    the cycle in which they come. Commands of the first ``urgent`` readers go first (lower index first), the others take
    turns; none is starved, because a reader with ``read_beats`` beats on their way to it has to wait. Write beats are
    on the bus in the cycle after they were taken.

    Parameters
    ----------
    addr_width, data_width : int
        Bits of a byte address and of a beat.
    readers : int
        How many clients read.
    urgent : int
        How many of them, from the first on, go before the others.
    read_bursts, write_bursts : int
        Bursts that may be outstanding.
    read_beats : int
        A reader with fewer beats outstanding than this may ask for a further burst.

    Members
    -------
    readers : In(ReadClient) * readers
        The clients that read.
    writer : In(WriteClient)
        The client that writes.
    axi : Out(AXI4)
        The memory.
    flush : In(1)
        Take no commands, drop the beats that come and end the bursts that were begun, with no byte enabled.
    quiet : Out(1)
        Nothing is outstanding.
    error : Out(1)
        A response in this cycle is not OKAY.
    error_write : Out(1)
        It is a write response.
    error_reader : Out
        Otherwise: whose read it was.
    read_beat, write_beat : Out(1)
        A beat moves in this cycle.
    """

    def __init__(
        self,
        *,
        addr_width: int,
        data_width: int,
        readers: int,
        urgent: int,
        read_bursts: int,
        read_beats: int,
        write_bursts: int,
    ) -> None:
        if not 0 <= urgent <= readers or readers < 1:
            raise ValueError(f"MemoryEngine needs a reader and 0 to {readers} urgent ones, not {urgent}")
        self.addr_width = addr_width
        self.data_width = data_width
        self.urgent = urgent
        self.read_bursts = read_bursts
        self.read_beats = read_beats
        self.write_bursts = write_bursts
        self.reader_width = max(1, bits_for(readers - 1))
        self.reader_count = readers
        read = ReadClient(addr_width=addr_width, data_width=data_width)
        super().__init__(
            {
                "readers": In(read).array(readers),
                "writer": In(WriteClient(addr_width=addr_width, data_width=data_width)),
                "axi": Out(AXI4(addr_width=addr_width, data_width=data_width)),
                "flush": In(1),
                "quiet": Out(1),
                "error": Out(1),
                "error_write": Out(1),
                "error_reader": Out(self.reader_width),
                "read_beat": Out(1),
                "write_beat": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Join the two halves."""
        m = Module()
        axi = self.axi
        for prefix in ("aw", "ar"):
            m.d.comb += [
                getattr(axi, prefix + "size").eq(exact_log2(self.data_width // 8)),
                getattr(axi, prefix + "burst").eq(INCR),
                getattr(axi, prefix + "cache").eq(CACHE),
            ]
        read_quiet = self._elaborate_reads(m)
        write_quiet = self._elaborate_writes(m)
        m.d.comb += [
            self.quiet.eq(read_quiet & write_quiet),
            self.read_beat.eq(axi.rvalid & axi.rready),
            self.write_beat.eq(axi.wvalid & axi.wready),
            self.error_write.eq(axi.bvalid & axi.bresp[1]),
            self.error.eq(self.error_write | (self.read_beat & axi.rresp[1])),
        ]
        return m

    def _elaborate_reads(self, m: Module) -> Any:
        """Arbitrate the commands and route the beats; return whether no read is outstanding."""
        axi = self.axi
        m.submodules.order = order = SyncFIFO(width=self.reader_width, depth=self.read_bursts)
        wants = Signal(self.reader_count)
        grant = Signal(self.reader_count)
        free = Signal()
        m.d.comb += free.eq((~axi.arvalid | axi.arready) & order.w_rdy & ~self.flush)
        self._arbitrate(m, wants=wants, grant=grant, free=free)
        with m.If(axi.arready):
            m.d.sync += axi.arvalid.eq(0)
        m.d.comb += order.w_en.eq(free & wants.any())
        m.d.comb += axi.rready.eq(order.r_rdy & self.flush)
        m.d.comb += self.error_reader.eq(order.r_data)
        for index, reader in enumerate(self.readers):
            beats = Signal(bits_for(self.read_beats + 256), name=f"beats_{index}")
            routed = Signal(name=f"routed_{index}")
            taken = Signal(name=f"taken_{index}")
            m.d.comb += [
                wants[index].eq(reader.cmd.valid & (beats < self.read_beats)),
                reader.cmd.ready.eq(grant[index] & free),
                routed.eq(order.r_rdy & (order.r_data == index)),
                reader.data.valid.eq(routed & axi.rvalid & ~self.flush),
                reader.data.p.data.eq(axi.rdata),
                reader.data.p.last.eq(axi.rlast),
                taken.eq(routed & axi.rvalid & axi.rready),
            ]
            with m.If(routed & reader.data.ready):
                m.d.comb += axi.rready.eq(1)
            m.d.sync += beats.eq(beats + Mux(grant[index] & free, reader.cmd.p.beats, 0) - taken)
            with m.If(grant[index] & free):
                m.d.comb += order.w_data.eq(index)
                m.d.sync += [
                    axi.arvalid.eq(1),
                    axi.araddr.eq(reader.cmd.p.addr),
                    axi.arlen.eq(reader.cmd.p.beats - 1),
                ]
        m.d.comb += order.r_en.eq(axi.rvalid & axi.rready & axi.rlast)
        return ~axi.arvalid & ~order.r_rdy

    def _arbitrate(self, m: Module, *, wants: Any, grant: Any, free: Any) -> None:
        """Grant one of the clients that want: the urgent ones first, then the one whose turn it is."""
        others = range(self.urgent, self.reader_count)
        turn = Signal(range(max(2, self.reader_count)), init=self.urgent if others else 0)
        for index in reversed(others):
            with m.If(wants[index]):
                m.d.comb += grant.eq(1 << index)
        for index in reversed(others):
            with m.If(wants[index] & (turn <= index)):
                m.d.comb += grant.eq(1 << index)
        for index in reversed(range(self.urgent)):
            with m.If(wants[index]):
                m.d.comb += grant.eq(1 << index)
        for index in others:
            with m.If(grant[index] & free):
                m.d.sync += turn.eq(index + 1 if index + 1 < self.reader_count else self.urgent)

    def _elaborate_writes(self, m: Module) -> Any:
        """Send addresses, beats and responses on; return whether no write is outstanding."""
        axi = self.axi
        writer = self.writer
        m.submodules.lengths = lengths = SyncFIFO(width=9, depth=self.write_bursts)
        outstanding = Signal(bits_for(self.write_bursts))
        accept = Signal()
        m.d.comb += [
            writer.cmd.ready.eq(
                (~axi.awvalid | axi.awready) & lengths.w_rdy & (outstanding != self.write_bursts) & ~self.flush
            ),
            accept.eq(writer.cmd.valid & writer.cmd.ready),
            lengths.w_en.eq(accept),
            lengths.w_data.eq(writer.cmd.p.beats),
            axi.bready.eq(1),
            writer.done.eq(axi.bvalid & ~self.flush),
        ]
        m.d.sync += outstanding.eq(outstanding + accept - axi.bvalid)
        with m.If(axi.awready):
            m.d.sync += axi.awvalid.eq(0)
        with m.If(accept):
            m.d.sync += [
                axi.awvalid.eq(1),
                axi.awaddr.eq(writer.cmd.p.addr),
                axi.awlen.eq(writer.cmd.p.beats - 1),
            ]
        sent = Signal(9)
        last = Signal()
        beat = Signal()
        free = Signal()
        m.d.comb += [
            free.eq((~axi.wvalid | axi.wready) & lengths.r_rdy),
            writer.data.ready.eq(free & ~self.flush),
            beat.eq(free & (writer.data.valid | self.flush)),
            last.eq(sent + 1 == lengths.r_data),
            lengths.r_en.eq(beat & last),
        ]
        with m.If(axi.wready):
            m.d.sync += axi.wvalid.eq(0)
        with m.If(beat):
            m.d.sync += [
                axi.wvalid.eq(1),
                axi.wdata.eq(writer.data.p.data),
                axi.wstrb.eq(Mux(self.flush, 0, writer.data.p.strb)),
                axi.wlast.eq(last),
                sent.eq(Mux(last, 0, sent + 1)),
            ]
        return outstanding == 0
