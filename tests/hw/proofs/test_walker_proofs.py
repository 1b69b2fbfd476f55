# amaranth: UnusedElaboratable=no
"""What is proved of the burst walker and of the places between streams, in all states; faults make the proofs fail."""

from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.utils import exact_log2

from hw.dma.address import BurstWalker
from hw.skid import Skid
from tests.support.faults.proof_faults import SKID_FAULTS, WALKER_FAULTS
from tests.support.faults.source_faults import SourceFault
from tests.support.hw.proofs import Claims, assume, claim, holds_always, inner_signals

pytestmark = pytest.mark.long

PAGE = 4096
SIZE_WIDTH = 24


# ---- the walker


def walker_claims(*, data_width: int, burst_beats: int, aligned: bool = False) -> Claims:
    """Compare with the rows as they are defined: where the next beat of the row is, and how many are left."""
    beat_bytes = data_width // 8
    low = exact_log2(beat_bytes)

    def state(m: Module, walker: Any, free: Any) -> None:
        inner = inner_signals(walker_module(m))
        request, cmd = walker.request, walker.cmd
        m.d.comb += [request.valid.eq(free.valid), cmd.ready.eq(free.ready)]
        m.d.comb += [
            getattr(request.p, name).eq(getattr(free, name)) for name in ("addr", "row_bytes", "stride_bytes", "rows")
        ]
        asked = Signal()
        m.d.comb += asked.eq(free.valid & request.ready)
        assume(m, ~free.valid | ((free.row_bytes != 0) & (free.rows != 0)))
        if aligned:
            assume(m, Cat(getattr(free, name)[:low] for name in ("addr", "row_bytes", "stride_bytes")) == 0)
        # What is still to be done, from the definition.
        on, addr, size, stride = Signal(), Signal(32), Signal(SIZE_WIDTH), Signal(SIZE_WIDTH)
        rows, place, left = Signal(16), Signal(32), Signal(SIZE_WIDTH + 2)
        row_end = Signal()
        following = Signal(32)
        m.d.comb += [row_end.eq(left == cmd.p.beats), following.eq(addr + stride)]
        taken = cmd.valid & cmd.ready
        with m.If(request.ready):
            m.d.sync += [on.eq(free.valid), addr.eq(free.addr), size.eq(free.row_bytes), stride.eq(free.stride_bytes)]
            m.d.sync += [rows.eq(free.rows), place.eq(_floor(free.addr, low))]
            m.d.sync += left.eq(_beats(free.addr, free.row_bytes, low))
        with m.Elif(taken & row_end):
            m.d.sync += [addr.eq(following), rows.eq(rows - 1), place.eq(_floor(following, low))]
            m.d.sync += left.eq(_beats(following, size, low))
        with m.Elif(taken):
            m.d.sync += [place.eq(place + (cmd.p.beats << low)), left.eq(left - cmd.p.beats)]
        before = Signal.like(cmd.p.as_value())
        held = Signal()
        m.d.sync += [before.eq(cmd.p.as_value()), held.eq(cmd.valid & ~cmd.ready)]

        claim(m, ~held | (cmd.valid & (cmd.p.as_value() == before)))  # what is offered stays until it is taken
        claim(m, cmd.valid == on)
        claim(m, walker.busy == on)
        end = (cmd.p.addr[:12] + (cmd.p.beats << low))[:14]
        claim(m, ~cmd.valid | (end <= PAGE))
        claim(
            m,
            ~cmd.valid
            | ((cmd.p.beats != 0) & (cmd.p.beats <= burst_beats) & (cmd.p.addr[:low] == 0 if low else Const(1))),
        )
        claim(m, ~cmd.valid | ((cmd.p.addr == place) & (cmd.p.beats <= left)))  # the beats of the rows and no others
        claim(m, ~cmd.valid | (walker.last == (row_end & (rows == 1))))
        claim(m, request.ready == (~on | (taken & row_end & (rows == 1))))  # the next request when this one is done
        # What the walker keeps is the same: without it the step of the induction begins in states that do not occur.
        to_line = Signal(9)
        m.d.comb += to_line.eq(burst_beats - (place[low:] & (burst_beats - 1)))
        rest = left - cmd.p.beats
        same = (
            (inner["next_row"] == following)
            & (inner["rows_left"] == rows)
            & (inner["last_row"] == (rows == 1))
            & (inner["row_bytes"] == size)
            & (inner["stride_bytes"] == stride)
            & (inner["beat_addr"] == place[low:])
            & (inner["row_end"] == (left <= to_line))
            & (cmd.p.beats == Mux(left <= to_line, left, to_line))
        )
        lines = (rest + burst_beats - 1) >> exact_log2(burst_beats)
        same &= inner["row_end"] | (
            (inner["lines"] == lines)
            & (inner["one_follows"] == (rest <= burst_beats))
            & (inner["last_beat"] + 1 == rest - ((lines - 1) << exact_log2(burst_beats)))
        )
        claim(m, ~on | (same & (rows != 0) & (left != 0) & (size != 0) & (place[:low] == 0 if low else Const(1))))
        if aligned:
            claim(m, ~on | (Cat(addr[:low], size[:low], stride[:low]) == 0))

    inputs = {"valid": 1, "ready": 1, "addr": 32, "row_bytes": SIZE_WIDTH, "stride_bytes": SIZE_WIDTH, "rows": 16}
    walker = BurstWalker(
        addr_width=32, data_width=data_width, burst_beats=burst_beats, size_width=SIZE_WIDTH, aligned=aligned
    )
    return Claims(walker, inputs, state)


def walker_module(m: Module) -> Module:
    part = m.submodules.part
    assert isinstance(part, Module)
    return part


def _floor(address: Value, low: int) -> Value:
    return Cat(Const(0, low), address[low:]) if low else address


def _beats(address: Value, size: Value, low: int) -> Value:
    """Return how many beats a row touches."""
    return (address[:low] + size + (1 << low) - 1)[low:] if low else size


@pytest.mark.parametrize(
    ("data_width", "burst_beats", "aligned"),
    [(64, 64, False), (64, 64, True), (64, 16, False), (128, 256, False), (512, 64, True), (64, 1, False)],
)
def test_a_walker_commands_the_beats_of_its_rows_once_and_in_order(
    data_width: int, burst_beats: int, aligned: bool
) -> None:
    assert holds_always(walker_claims(data_width=data_width, burst_beats=burst_beats, aligned=aligned), 2)


@pytest.mark.parametrize("planted", WALKER_FAULTS, ids=lambda planted: planted.text)
def test_the_proof_of_the_walker_fails_with_a_fault(planted: SourceFault) -> None:
    with planted.planted():
        assert not holds_always(walker_claims(data_width=64, burst_beats=64), 3)


# ---- the place for one transfer


def skid_claims() -> Claims:
    """A payload that is marked enters once, at any time; it leaves once, and waits at most in one place."""

    def state(m: Module, skid: Any, free: Any) -> None:
        m.d.comb += [
            skid.source.valid.eq(free.valid),
            skid.source.payload.eq(free.payload),
            skid.sink.ready.eq(free.ready),
        ]
        into, out = Signal(), Signal()
        inside, kept = Signal(), Signal(8)
        m.d.comb += [into.eq(free.valid & skid.source.ready), out.eq(skid.sink.valid & free.ready)]
        m.d.sync += inside.eq(inside + into - out)
        with m.If(into):
            m.d.sync += kept.eq(free.payload)
        before, held = Signal(8), Signal()
        m.d.sync += [before.eq(skid.sink.payload), held.eq(skid.sink.valid & ~free.ready)]
        claim(m, ~held | (skid.sink.valid & (skid.sink.payload == before)))
        claim(m, skid.full == inside)
        claim(m, skid.source.ready == ~inside)
        claim(m, skid.sink.valid == (inside | free.valid))
        claim(m, ~skid.sink.valid | (skid.sink.payload == Mux(inside, kept, free.payload)))
        inner = inner_signals(walker_module(m))
        claim(m, ~inside | (inner["kept"] == kept))
        claim(m, ~held | (inside & (before == kept)))

    return Claims(Skid(8), {"valid": 1, "payload": 8, "ready": 1}, state)


def test_what_a_place_keeps_comes_out_once_and_unchanged() -> None:
    assert holds_always(skid_claims(), 2)


@pytest.mark.parametrize("planted", SKID_FAULTS, ids=lambda planted: planted.text)
def test_the_proof_of_the_place_fails_with_a_fault(planted: SourceFault) -> None:
    with planted.planted():
        assert not holds_always(skid_claims(), 4)
