"""What waits for what in a run: from instructions, tokens, queues and bursts to a network of events.

Tests: tests/vta/inspect/explain/test_run_model.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from isa.encoding import INSTRUCTION_BYTES
from vta.inspect.explain.events import Burst, Network, asked, begun, came, ended, issued
from vta.inspect.explain.traffic import Transfer

__all__ = ["Wait", "network_of"]

_DISPATCH = 2
"""Cycles from the last beat of an instruction to its queue, at least."""

_FETCHED = 8
"""Bursts that fill the buffer of the fetch."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What an instruction waits for, -1 where that is nobody, and how many cycles then pass.

    It is issued after the start of ``room``, which makes room in the queue, with a lag of ``fetch`` cycles; it starts
    after the start of ``before`` and the completion of ``done``, with a lag of ``delay`` cycles.
    """

    room: int
    fetch: int
    before: int
    done: int
    delay: int


def network_of(
    waits: Sequence[Wait],
    before: Sequence[int],
    givers: Sequence[Sequence[int]],
    transfers: Sequence[Transfer],
    *,
    beat_bytes: int,
    latency: int,
) -> Network:
    """Return the network of a run.

    ``before`` has for each instruction the one before it in its module (-1: none), ``givers`` those whose tokens it
    pops.
    """
    count = len(waits)
    follows: list[list[tuple[int, int]]] = [[] for _ in range(3 * count + 2 * len(transfers))]
    for index, wait in enumerate(waits):
        if index:
            follows[issued(index - 1)].append((issued(index), 1))
        if wait.room >= 0:
            follows[begun(wait.room)].append((issued(index), 1))
        follows[issued(index)].append((begun(index), 1))
        if wait.before >= 0:
            follows[begun(wait.before)].append((begun(index), 1))
        for other in (*givers[index], *([wait.done] if wait.done >= 0 else [])):
            follows[ended(other)].append((begun(index), 1))
        follows[begun(index)].append((ended(index), 0))
        if before[index] >= 0:
            follows[ended(before[index])].append((ended(index), 0))
    _let_data_wait(follows, transfers, count, before)
    _let_fetch_wait(follows, transfers, count, beat_bytes)
    bursts = {
        asked(count, number): Burst(transfer.client, transfer.writes, -(-transfer.nbytes // beat_bytes))
        for number, transfer in enumerate(transfers)
    }
    return Network(follows, bursts, latency)


def _let_data_wait(
    follows: list[list[tuple[int, int]]], transfers: Sequence[Transfer], count: int, before: Sequence[int]
) -> None:
    """Bursts of data wait for the start of their instruction and the burst before; an instruction for its last burst.

    The load and the store module take no further instruction until they have asked for all of that before.
    """
    last: dict[str, int] = {}
    final: dict[int, int] = {}
    following = {earlier: index for index, earlier in enumerate(before)}
    for number, transfer in enumerate(transfers):
        if transfer.client == "fetch":
            continue
        event = asked(count, number)
        follows[begun(transfer.owner)].append((event, 1))
        if transfer.held >= 0:
            follows[ended(transfer.held)].append((event, 1))
        if transfer.client in last:
            follows[asked(count, last[transfer.client])].append((event, 1))
        last[transfer.client] = number
        final[transfer.owner] = number
    for owner, number in final.items():
        follows[came(count, number)].append((ended(owner), 0))
        if transfers[number].client in ("load", "store") and owner in following:
            follows[asked(count, number)].append((begun(following[owner]), 0))


def _let_fetch_wait(
    follows: list[list[tuple[int, int]]], transfers: Sequence[Transfer], count: int, beat_bytes: int
) -> None:
    """Instructions wait for their burst; a burst of instructions for room, and for enough others to have come."""
    fetches = [number for number, transfer in enumerate(transfers) if transfer.client == "fetch"]
    spans = (transfers[number].brings for number in fetches)
    held = _FETCHED * max((end - first for first, end in spans), default=0)
    for place, number in enumerate(fetches):
        first, end = transfers[number].brings
        for index in range(first, end):
            later = (end - 1 - index) * INSTRUCTION_BYTES // beat_bytes
            follows[came(count, number)].append((issued(index), _DISPATCH - later))
        event = asked(count, number)
        if not place:
            continue
        follows[asked(count, fetches[place - 1])].append((event, 1))
        follows[came(count, fetches[(place + 1) // 2 - 1])].append((event, 1))
        leaving = end - held - 2  # makes room when the instruction before it is issued
        if leaving >= 0:
            follows[issued(leaving)].append((event, 1))
        if place >= _FETCHED:
            follows[came(count, fetches[place - _FETCHED])].append((event, 1))
