"""Faults in parts of the hardware about which something is proved: with each of them the proof has to fail."""

from collections.abc import Mapping

from hw.compute import lane_parts
from hw.compute.fused_lane import FusedLane
from hw.dma.address import BurstWalker
from hw.instruction_check import InstructionCheck
from hw.memory_engine import MemoryEngine
from hw.skid import Skid
from hw.token_counter import TokenCounter
from tests.support.faults.source_faults import SourceFault, method_fault

__all__ = [
    "ALL_PROOF_FAULTS",
    "DECODER_FAULTS",
    "ENGINE_FAULTS",
    "FUNNEL_FAULT",
    "LANE_FAULTS",
    "SKID_FAULTS",
    "TOKEN_FAULTS",
    "WALKER_FAULTS",
]


def _tokens(text: str, old: str, new: str) -> SourceFault:
    return method_fault(text, TokenCounter, "elaborate", old, new)


TOKEN_FAULTS = (
    _tokens("a token that is not there is taken", "self.pop & self.available", "self.pop"),
    _tokens("of two tokens one is lost", "count != 2", "count != 3"),
    _tokens("there are always two", "two.eq(self.available)", "two.eq(1)"),
)


def _decoder(text: str, name: str, old: str, new: str) -> SourceFault:
    return method_fault(text, InstructionCheck, name, old, new)


DECODER_FAULTS = (
    _decoder(
        "every word goes to compute, too", "elaborate", "self.to_compute.eq(~fills_load)", "self.to_compute.eq(1)"
    ),
    _decoder("bits that nothing uses may be set", "_check", "m.If(is_unused)", "m.If(0)"),
    _decoder("some broken words pass", "_check", "m.Elif(is_broken)", "m.Elif(is_broken & ~self.word[127])"),
)


def _walker(text: str, name: str, old: str, new: str) -> SourceFault:
    return method_fault(text, BurstWalker, name, old, new)


WALKER_FAULTS = (
    _walker("bursts cross 4 KiB", "_begin_row", "self.burst_beats - begins", "self.burst_beats"),
    _walker("a row is lost", "elaborate", "request.rows == 1", "request.rows <= 2"),
    _walker("a beat too many", "_end_of", "addr[: self.line_log] + size - 1", "addr[: self.line_log] + size"),
    _walker("a line too many", "_look_ahead", "burst.lines == 2", "burst.lines == 3"),
    _walker("the last burst is not waited for", "elaborate", "(self.last & self.cmd.ready)", "self.last"),
    _walker(
        "a request takes what follows from the row before it", "elaborate", "self.busy & ~rows.is_last", "self.busy"
    ),
    _walker("of a first request nothing is known", "_look_ahead", "~self.busy | burst.ends_row", "burst.ends_row"),
    _walker("a beat that is begun is left out", "_row_beats", "((1 << low) - 1)", "0"),
)


def _skid(text: str, old: str, new: str) -> SourceFault:
    return method_fault(text, Skid, "elaborate", old, new)


SKID_FAULTS = (
    _skid("what was taken is kept, too", "self.sink.valid & ~self.sink.ready", "self.sink.valid"),
    _skid("it always has room", "self.source.ready.eq(room)", "self.source.ready.eq(1)"),
    _skid(
        "it has room only when it is empty", "room.eq(~self.sink.valid | self.sink.ready)", "room.eq(~self.sink.valid)"
    ),
    _skid("what is kept is written over", "with m.If(~self.full)", "with m.If(1)"),
)


def _engine(text: str, name: str, old: str, new: str) -> SourceFault:
    return method_fault(text, MemoryEngine, name, old, new)


ENGINE_FAULTS = (
    _engine(
        "beats go to another reader",
        "_elaborate_reads",
        "order.r_rdy & order.r_data[index]",
        "order.r_rdy & order.r_data[0]",
    ),
    _engine(
        "a burst is forgotten at its first beat", "_elaborate_reads", "self.read_beat & beat.p.last", "self.read_beat"
    ),
    _engine("a beat too many is asked for", "_elaborate_reads", "reader.cmd.p.beats - 1", "reader.cmd.p.beats"),
    _engine(
        "it is idle while a burst is under way",
        "_elaborate_reads",
        "return ~address.full & ~order.r_rdy",
        "return ~order.r_rdy | ~address.full",
    ),
    _engine(
        "the last beat of a second burst is not marked",
        "_elaborate_write_beats",
        "Mux(last, 0, sent + 1)",
        "sent + 1",
    ),
    _engine("one write is none", "_elaborate_writes", "return outstanding == 0", "return outstanding[1] == 0"),
    _engine(
        "writes begin in a flush",
        "_elaborate_writes",
        "(outstanding != self.write_bursts) & ~self.flush",
        "(outstanding != self.write_bursts)",
    ),
    _engine("beats come in a flush", "_route", "here & beat.valid & ~self.flush", "here & beat.valid"),
)

LANE_FAULTS: Mapping[str, SourceFault] = {
    "single": SourceFault("far is farther", lane_parts.is_far, "count[5:]", "count[6:]"),
    "product": SourceFault("a bit is lost", lane_parts.product_terms, "x[x_width:], x_width", "x[x_width:-1], x_width"),
    "fused, single": method_fault("a shift adds", FusedLane, "_first", "Mux(shifts, 0, y)", "y"),
    "fused, product": method_fault("a term is lost", FusedLane, "_first", "terms[1:]", "terms[2:]"),
    "fused limits": method_fault("the other limit", FusedLane, "elaborate", "limits & ~less", "limits & less"),
    "fused product": method_fault(
        "far is near", FusedLane, "_shift", "above.eq(shifts & left & ~far)", "above.eq(shifts & left)"
    ),
}
"""By the claims that fail."""

FUNNEL_FAULT = SourceFault(
    "the funnel takes other bits", lane_parts.finely_shifted, "last_count.eq(count)", "last_count.eq(count & 1)"
)

ALL_PROOF_FAULTS = (
    *TOKEN_FAULTS,
    *DECODER_FAULTS,
    *WALKER_FAULTS,
    *SKID_FAULTS,
    *ENGINE_FAULTS,
    *LANE_FAULTS.values(),
    FUNNEL_FAULT,
)
