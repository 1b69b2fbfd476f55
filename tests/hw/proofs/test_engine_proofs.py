# amaranth: UnusedElaboratable=no
"""What is proved of the memory engine: small queues, all that clients and memory may do in the first cycles.

The memory answers what it was asked for, in order; when, and what clients ask for, is left open, and a flush may come
at any time. Faults make the proof fail within the same cycles.
"""

from typing import Any

import pytest
from amaranth.hdl import Array, Module, Mux, Signal

from hw.memory_engine import MemoryEngine
from tests.support.faults.proof_faults import ENGINE_FAULTS
from tests.support.faults.source_faults import SourceFault
from tests.support.hw.proofs import Claims, assume, claim, holds_for

pytestmark = pytest.mark.long

READERS = 2
BEATS = 2
"""Beats of the longest burst that clients ask for here."""
SLOTS = 8
"""Commands that a model keeps: more than can be outstanding."""
CYCLES = 10
ADDRESS = 14


class Model:
    """The commands of one direction in order: what was asked for, what went out as addresses, what came as beats."""

    def __init__(self, m: Module, name: str, *, asked: Any, beats: Any, owner: Any, addressed: Any, moved: Any) -> None:
        self.lengths = Array(Signal(2, name=f"{name}_length_{slot}") for slot in range(SLOTS))
        self.owners = Array(Signal(1, name=f"{name}_owner_{slot}") for slot in range(SLOTS))
        self.asked, self.sent, self.done = (Signal(3, name=f"{name}_{what}") for what in ("asked", "sent", "done"))
        self.moved = Signal(2, name=f"{name}_moved")
        self.owner, self.length = self.owners[self.done], self.lengths[self.done]
        self.last = self.moved + 1 == self.length
        with m.If(asked):
            m.d.sync += [self.lengths[self.asked].eq(beats), self.owners[self.asked].eq(owner)]
            m.d.sync += self.asked.eq(self.asked + 1)
        with m.If(addressed):
            m.d.sync += self.sent.eq(self.sent + 1)
        with m.If(moved):
            m.d.sync += self.moved.eq(Mux(self.last, 0, self.moved + 1))
            with m.If(self.last):
                m.d.sync += self.done.eq(self.done + 1)


def engine_claims() -> Claims:
    engine = MemoryEngine(
        addr_width=ADDRESS, data_width=8, readers=READERS, urgent=1, read_bursts=2, read_beats=4, write_bursts=2
    )

    def state(m: Module, part: Any, free: Any) -> None:
        axi = part.axi
        m.d.comb += [
            getattr(axi, name).eq(getattr(free, name))
            for name in ("arready", "awready", "wready", "rvalid", "rlast", "bvalid")
        ]
        m.d.comb += [axi.rdata.eq(free.rdata), part.flush.eq(free.flush)]
        clients = [*part.readers, part.writer]
        for index, client in enumerate(clients):
            address, beats = free.addr.word_select(index, ADDRESS), free.beats.word_select(index, 2)
            m.d.comb += [
                client.cmd.valid.eq(free.valid[index]),
                client.cmd.p.addr.eq(address),
                client.cmd.p.beats.eq(beats),
            ]
            assume(m, (beats != 0) & (beats <= BEATS) & (address[:12] + beats <= 4096))
        m.d.comb += [reader.data.ready.eq(free.ready[index]) for index, reader in enumerate(part.readers)]
        m.d.comb += [
            part.writer.data.valid.eq(free.wvalid),
            part.writer.data.p.data.eq(free.wdata),
            part.writer.data.p.strb.eq(1),
        ]
        _reads(m, part, free)
        _writes(m, part, free)

    clients = {"valid": READERS + 1, "addr": ADDRESS * (READERS + 1), "beats": 2 * (READERS + 1)}
    data = {"ready": READERS, "wvalid": 1, "wdata": 8, "flush": 1}
    memory = dict.fromkeys(("arready", "rvalid", "rlast", "awready", "wready", "bvalid"), 1) | {"rdata": 8}
    inputs = {**clients, **data, **memory}
    return Claims(engine, inputs, state)


def _stays(m: Module, name: str, valid: Any, ready: Any, payload: Any) -> None:
    """Claim that what is offered stays until it is taken."""
    held, before = Signal(name=f"{name}_held"), Signal(payload.shape(), name=f"{name}_before")
    m.d.sync += [held.eq(valid & ~ready), before.eq(payload)]
    claim(m, ~held | (valid & (payload == before)))


def _reads(m: Module, part: Any, free: Any) -> None:
    axi = part.axi
    asks = [reader.cmd.valid & reader.cmd.ready for reader in part.readers]
    claim(m, ~(asks[0] & asks[1]))
    beats = Mux(asks[1], part.readers[1].cmd.p.beats, part.readers[0].cmd.p.beats)
    into, out = Signal(name="r_into"), Signal(name="ar_out")
    m.d.comb += [into.eq(axi.rvalid & axi.rready), out.eq(axi.arvalid & axi.arready)]
    # The memory: beats of what it was asked for and nothing else, the last one marked.
    memory = Model(m, "memory", asked=out, beats=(axi.arlen + 1)[:2], owner=0, addressed=0, moved=into)
    assume(m, ~free.rvalid | ((memory.asked != memory.done) & (free.rlast == memory.last)))
    _stays_assumed(m, "r", free.rvalid, axi.rready, free.rlast)
    # The clients: each gets the beats of its own commands, in their order.
    clients = Model(
        m, "clients", asked=asks[0] | asks[1], beats=beats, owner=asks[1], addressed=out, moved=part.read_beat
    )
    claim(m, ~part.read_beat | (clients.asked != clients.done))
    for index, reader in enumerate(part.readers):
        gets = reader.data.valid & reader.data.ready
        claim(m, ~gets | (part.read_beat & (clients.owner == index) & (reader.data.p.last == clients.last)))
        claim(m, ~reader.data.valid | ~part.flush)
    given = (
        part.readers[0].data.valid & part.readers[0].data.ready
        | part.readers[1].data.valid & part.readers[1].data.ready
    )
    claim(m, part.flush | (part.read_beat == given))  # no beat is lost but in a flush
    # Every command becomes one address, of its own length, within 4 KiB; quiet means that all were answered.
    _stays(m, "ar", axi.arvalid, axi.arready, axi.araddr)
    claim(m, ~axi.arvalid | (clients.sent != clients.asked) | (asks[0] | asks[1]))
    length = Mux(clients.sent == clients.asked, beats, clients.lengths[clients.sent])
    claim(m, ~axi.arvalid | (axi.arlen + 1 == length))
    claim(m, ~axi.arvalid | (axi.araddr[:12] + axi.arlen + 1 <= 4096))
    claim(m, ~part.quiet | (clients.asked == clients.done))
    claim(m, ~part.flush | ~(asks[0] | asks[1]))


def _stays_assumed(m: Module, name: str, valid: Any, ready: Any, payload: Any) -> None:
    held, before = Signal(name=f"{name}_held"), Signal(name=f"{name}_before")
    m.d.sync += [held.eq(valid & ~ready), before.eq(payload)]
    assume(m, ~held | (valid & (payload == before)))


def _writes(m: Module, part: Any, free: Any) -> None:
    axi, writer = part.axi, part.writer
    asks, sent, out = (Signal(name=f"w_{what}") for what in ("asks", "sent", "out"))
    m.d.comb += [
        asks.eq(writer.cmd.valid & writer.cmd.ready),
        sent.eq(axi.wvalid & axi.wready),
        out.eq(axi.awvalid & axi.awready),
    ]
    bursts = Model(m, "bursts", asked=asks, beats=writer.cmd.p.beats[:2], owner=0, addressed=out, moved=sent)
    # The memory answers bursts whose address and last beat it has.
    answered = Signal(3)
    m.d.sync += answered.eq(answered + free.bvalid)
    assume(m, ~free.bvalid | ((answered != bursts.done) & (answered != bursts.sent)))
    _stays(m, "aw", axi.awvalid, axi.awready, axi.awaddr)
    _stays(m, "w", axi.wvalid, axi.wready, axi.wlast)
    claim(m, ~axi.wvalid | ((bursts.asked != bursts.done) & (axi.wlast == bursts.last)))
    claim(m, ~axi.awvalid | (bursts.sent != bursts.asked) | asks)
    length = Mux(bursts.sent == bursts.asked, writer.cmd.p.beats[:2], bursts.lengths[bursts.sent])
    claim(m, ~axi.awvalid | ((axi.awlen + 1 == length) & (axi.awaddr[:12] + axi.awlen + 1 <= 4096)))
    claim(m, writer.done == (free.bvalid & ~part.flush))  # every burst is completed once
    claim(m, ~part.quiet | (bursts.asked == answered))
    claim(m, ~part.flush | ~asks)


def test_every_command_is_one_burst_and_is_answered_once_in_order() -> None:
    assert holds_for(engine_claims(), CYCLES)


@pytest.mark.parametrize("planted", ENGINE_FAULTS, ids=lambda planted: planted.text)
def test_the_proof_of_the_engine_fails_with_a_fault(planted: SourceFault) -> None:
    with planted.planted():
        assert not holds_for(engine_claims(), CYCLES)
