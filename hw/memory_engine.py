"""One AXI4 port for all clients: in order, many bursts outstanding, nobody starved.

Tests: ``tests/hw/test_memory_engine.py``; ports and resets: ``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from hw.errors import ComponentError
from hw.interfaces import (
    AXI4,
    ReadClient,
    WriteClient,
    read_data_layout,
    write_data_layout,
)
from hw.registered_fifo import RegisteredFIFO
from hw.skid import Skid

__all__ = ["MemoryEngine"]

INCR = 1

_FIRST_BEATS, _MORE_BEATS = 8, 8
"""How many beats on their way make a reader that is not urgent wait: at first, and by how much this grows at a time."""


def _address_layout(addr_width: int) -> data.StructLayout:
    """Return the layout of an address on its way to the bus, with one beat less than its burst has."""
    return data.StructLayout({"addr": addr_width, "len": 8})


class MemoryEngine(wiring.Component):
    """Turns the commands of the clients into AXI4 bursts of one ID, and gives each its beats.

    A command is on the address channel in the cycle in which it is taken, one a cycle. Beats reach their client in
    the cycle in which they come. Commands of the first ``urgent`` readers go first (lower index first), the others take
    turns; none is starved, because a reader with ``read_beats`` beats on their way to it has to wait. The others start
    with a few beats and get more while the memory lets them wait: the less is on its way, the sooner an urgent one is
    served. Write beats are on the bus in the cycle in which they are taken. No output of ``axi`` depends on an input of
    the same cycle.

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
        A reader with fewer beats outstanding than this may ask for a further burst; a beat that it takes counts for
        one cycle more.
    axi3 : bool
        The port is one of AXI3.
    cache, prot : int
        AxCACHE and AxPROT of every burst.

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
        A beat reaches its client, or the bus, in this cycle.
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
        axi3: bool = False,
        cache: int = 0b0011,
        prot: int = 0,
    ) -> None:
        if not 0 <= urgent <= readers or readers < 1:
            raise ComponentError(f"MemoryEngine needs a reader and 0 to {readers} urgent ones, not {urgent}")
        self.addr_width = addr_width
        self.data_width = data_width
        self.urgent = urgent
        self.read_bursts = read_bursts
        self.read_beats = read_beats
        self.write_bursts = write_bursts
        self.cache = cache
        self.prot = prot
        self.reader_width = max(1, bits_for(readers - 1))
        self.reader_count = readers
        read = ReadClient(addr_width=addr_width, data_width=data_width)
        super().__init__(
            {
                "readers": In(read).array(readers),
                "writer": In(WriteClient(addr_width=addr_width, data_width=data_width)),
                "axi": Out(AXI4(addr_width=addr_width, data_width=data_width, axi3=axi3)),
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
                getattr(axi, prefix + "cache").eq(self.cache),
                getattr(axi, prefix + "prot").eq(self.prot),
            ]
        read_quiet = self._elaborate_reads(m)
        write_quiet = self._elaborate_writes(m)
        m.d.comb += [
            self.quiet.eq(read_quiet & write_quiet),
            self.write_beat.eq(axi.wvalid & axi.wready),
            self.error_write.eq(axi.bvalid & axi.bresp[1]),
            self.error.eq(self.error_write | self._read_failed),
        ]
        return m

    def _elaborate_reads(self, m: Module) -> Any:
        """Arbitrate the commands and route the beats; return whether no read is outstanding."""
        axi = self.axi
        beat = self._incoming(m)
        m.submodules.order = order = RegisteredFIFO(width=self.reader_count, depth=self.read_bursts)
        wants = Signal(self.reader_count)
        grant = Signal(self.reader_count)
        free = Signal()
        m.submodules.read_address = address = Skid(_address_layout(self.addr_width))
        m.d.comb += free.eq(address.source.ready & order.w_rdy & ~self.flush)
        self._arbitrate(m, wants=wants, grant=grant, free=free)
        m.d.comb += [
            address.source.valid.eq(free & wants.any()),
            order.w_en.eq(address.source.valid),
            order.w_data.eq(grant),
            axi.arvalid.eq(address.sink.valid),
            address.sink.ready.eq(axi.arready),
            axi.araddr.eq(address.sink.p.addr),
            axi.arlen.eq(address.sink.p.len),
        ]
        m.d.comb += beat.ready.eq(order.r_rdy & self.flush)
        limited = Signal(self.reader_count)
        most = self._look_ahead(m, waits=limited.any() & order.r_rdy & ~beat.valid)
        for index, reader in enumerate(self.readers):
            routed = order.r_rdy & order.r_data[index]
            asked = grant[index] & free
            taken = self._route(m, index, reader, beat, routed=routed)
            limit = self.read_beats if index < self.urgent else most
            beats, may_ask = self._on_the_way(m, index, reader, asked=asked, taken=taken, limit=limit)
            m.d.comb += [
                wants[index].eq(reader.cmd.valid & may_ask),
                limited[index].eq(reader.cmd.valid & (beats >= most if index < self.urgent else ~may_ask)),
                reader.cmd.ready.eq(asked),
            ]
            with m.If(grant[index]):
                m.d.comb += [
                    address.source.p.addr.eq(reader.cmd.p.addr),
                    address.source.p.len.eq(reader.cmd.p.beats - 1),
                ]
            with m.If(order.r_data[index]):
                m.d.comb += self.error_reader.eq(index)
        m.d.comb += order.r_en.eq(self.read_beat & beat.p.last)
        return ~address.full & ~order.r_rdy

    def _incoming(self, m: Module) -> Any:
        """Return the stream of beats that come; they pass in the cycle in which they come, or wait."""
        axi = self.axi
        layout = data.StructLayout({**read_data_layout(self.data_width).members, "failed": 1})
        m.submodules.incoming = incoming = Skid(layout)
        beat = incoming.sink
        m.d.comb += [
            incoming.source.valid.eq(axi.rvalid),
            axi.rready.eq(incoming.source.ready),
            incoming.source.p.data.eq(axi.rdata),
            incoming.source.p.last.eq(axi.rlast),
            incoming.source.p.failed.eq(axi.rresp[1]),
            self.read_beat.eq(beat.valid & beat.ready),
        ]
        self._read_failed = self.read_beat & beat.p.failed
        return beat

    def _on_the_way(
        self, m: Module, index: int, reader: Any, *, asked: Value, taken: Value, limit: Any
    ) -> tuple[Signal, Signal]:
        """Count the beats that are on their way to a reader; return them, and whether there are fewer than ``limit``.

        Both are of one cycle before, but for what is asked for: a beat that is taken counts for one cycle more.
        """
        beats = Signal(bits_for(self.read_beats + 256), name=f"beats_{index}")
        less = Signal(name=f"less_{index}")
        may_ask = Signal(name=f"may_ask_{index}", init=1)
        now = Signal.like(beats, name=f"now_{index}")
        then = Signal.like(beats, name=f"then_{index}")
        m.d.comb += [now.eq(beats - less), then.eq(beats + reader.cmd.p.beats - less)]
        m.d.sync += [
            less.eq(taken),
            beats.eq(Mux(asked, then, now)),
            may_ask.eq(Mux(asked, then < limit, now < limit)),
        ]
        return beats, may_ask

    def _route(self, m: Module, index: int, reader: Any, beat: Any, *, routed: Value) -> Signal:
        """Give a reader the beats that are its own; return whether it takes one."""
        here = Signal(name=f"routed_{index}")
        taken = Signal(name=f"taken_{index}")
        m.d.comb += [
            here.eq(routed),
            reader.data.valid.eq(here & beat.valid & ~self.flush),
            reader.data.p.data.eq(beat.p.data),
            reader.data.p.last.eq(beat.p.last),
            taken.eq(here & self.read_beat),
        ]
        with m.If(here & reader.data.ready):
            m.d.comb += beat.ready.eq(1)
        return taken

    def _look_ahead(self, m: Module, *, waits: Value) -> Signal:
        """Return how many beats may be on their way to a reader that is not urgent.

        ``waits`` says that no beat comes while a reader would ask for more; a flush starts over.
        """
        most = Signal(bits_for(self.read_beats), init=min(_FIRST_BEATS, self.read_beats))
        with m.If(self.flush):
            m.d.sync += most.eq(most.init)
        with m.Elif(waits & (most != self.read_beats)):
            m.d.sync += most.eq(Mux(most > self.read_beats - _MORE_BEATS, self.read_beats, most + _MORE_BEATS))
        return most

    def _arbitrate(self, m: Module, *, wants: Any, grant: Any, free: Any) -> None:
        """Grant one of the clients that want: the urgent ones first, then the one whose turn it is."""
        others = range(self.urgent, self.reader_count)
        turn = Signal(range(max(2, self.reader_count)), init=self.urgent if others else 0)
        for index in reversed(others):
            with m.If(wants[index]):
                m.d.comb += grant.eq(1 << index)
        for index in reversed(others):
            in_turn = turn <= index if index < self.reader_count - 1 else 1
            with m.If(wants[index] & in_turn):
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
        m.submodules.lengths = lengths = RegisteredFIFO(width=10, depth=self.write_bursts)
        m.submodules.write_address = address = Skid(_address_layout(self.addr_width))
        outstanding = Signal(bits_for(self.write_bursts))
        free = Signal()
        m.d.comb += [
            free.eq(address.source.ready & lengths.w_rdy & (outstanding != self.write_bursts) & ~self.flush),
            writer.cmd.ready.eq(free),
            address.source.valid.eq(free & writer.cmd.valid),
            address.source.p.addr.eq(writer.cmd.p.addr),
            address.source.p.len.eq(writer.cmd.p.beats - 1),
            lengths.w_en.eq(address.source.valid),
            lengths.w_data.eq(Cat(writer.cmd.p.beats, writer.cmd.p.beats == 1)),
            axi.awvalid.eq(address.sink.valid),
            address.sink.ready.eq(axi.awready),
            axi.awaddr.eq(address.sink.p.addr),
            axi.awlen.eq(address.sink.p.len),
            axi.bready.eq(1),
            writer.done.eq(axi.bvalid & ~self.flush),
        ]
        m.d.sync += outstanding.eq(outstanding + address.source.valid - axi.bvalid)
        self._elaborate_write_beats(m, lengths)
        return outstanding == 0

    def _elaborate_write_beats(self, m: Module, lengths: Any) -> None:
        """Send the beats of the bursts whose commands were taken; in a flush, no byte of them is enabled."""
        axi = self.axi
        writer = self.writer
        layout = data.StructLayout({**write_data_layout(self.data_width).members, "last": 1})
        m.submodules.write_beats = beats = Skid(layout)
        length = lengths.r_data[:9]
        sent = Signal(9)
        first = Signal(init=1)
        then_last = Signal()  # a beat that is not the first of its burst is the last one: found out a beat before
        last = Signal()
        beat = Signal()
        m.d.comb += [
            writer.data.ready.eq(beats.source.ready & lengths.r_rdy),
            beat.eq(beats.source.ready & lengths.r_rdy & (writer.data.valid | self.flush)),
            last.eq(Mux(first, lengths.r_data[9], then_last)),
            lengths.r_en.eq(beat & last),
            beats.source.valid.eq(beat),
            beats.source.p.data.eq(writer.data.p.data),
            beats.source.p.strb.eq(Mux(self.flush, 0, writer.data.p.strb)),
            beats.source.p.last.eq(last),
            axi.wvalid.eq(beats.sink.valid),
            beats.sink.ready.eq(axi.wready),
            axi.wdata.eq(beats.sink.p.data),
            axi.wstrb.eq(beats.sink.p.strb),
            axi.wlast.eq(beats.sink.p.last),
        ]
        with m.If(beat):
            m.d.sync += [sent.eq(Mux(last, 0, sent + 1)), first.eq(last), then_last.eq(sent + 2 == length)]
