"""A trace as Chrome's trace event JSON, which https://ui.perfetto.dev opens: tracks, token arrows, counters.

One process per launch, and one for the graph that launches are for: a track per node, launches end to end. Tracks of a
launch: each module's instructions (overlapping ones on further lanes) and what it waited for,
the bursts of each memory client. Arrows lead from the instruction that pushed a token to the one that popped it.
Counters: tokens in each queue, beats of memory that moved. The format has no unit but time: a cycle is a nanosecond, as
it is at 1 GHz, and each launch's name says so. Tests: tests/vta/inspect/trace/test_perfetto.py.
"""

import json
import math
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np

from isa.text.disassembler import format_instruction
from isa.tokens import TokenQueue
from runtime.observe.accounting import WORK
from runtime.observe.timeline import NEVER
from vta.inspect.trace.lanes import end_of, instruction_lanes, lanes
from vta.inspect.trace.model import Recorded
from vta.inspect.trace.tokens import token_flows

__all__ = ["trace_events", "write_perfetto"]

_BUCKET = 64
"""Cycles over which the bandwidth counter sums."""

_GRAPH = 1_000_000
"""The number of the process with the nodes of the graph: more than there are launches."""

Event = dict[str, object]


def write_perfetto(launches: Iterable[Recorded], file: IO[str]) -> int:
    """Write the JSON of ``launches``; return the number of events."""
    count = 0
    file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
    for event in _all_events(launches):
        file.write(",\n" if count else "")
        file.write(json.dumps(event, separators=(",", ":")))
        count += 1
    file.write("\n]}\n")
    return count


def _all_events(launches: Iterable[Recorded]) -> Iterator[Event]:
    """Yield the events of all launches, and at the end those of the graph that they are for, if there is one."""
    nodes = _NodeTracks()
    for launch in launches:
        yield from trace_events(launch)
        nodes.add(launch)
    yield from nodes.events()


class _NodeTracks:
    """A track for every node of a graph; each launch begins where the one before it ended."""

    def __init__(self) -> None:
        self._tracks = _Tracks(_GRAPH)
        self._events: list[Event] = []
        self._time = 0

    def add(self, launch: Recorded) -> None:
        """Note a launch; those for no node take their time all the same."""
        duration = launch.timeline.duration
        if launch.node:
            detail = {"launch": launch.number, "instructions": len(launch)}
            name, length = f"launch {launch.number}", microseconds(duration)
            self._events.append(self._tracks.event(launch.node, "X", name, self._time, dur=length, args=detail))
        self._time += duration

    def events(self) -> Iterator[Event]:
        """Yield everything, if any launch was for a node."""
        if self._events:
            name = {"name": "graph nodes, launches end to end"}
            yield {"ph": "M", "name": "process_name", "pid": _GRAPH, "args": name}
            yield {"ph": "M", "name": "process_sort_index", "pid": _GRAPH, "args": {"sort_index": -1}}
            yield from self._events
            yield from self._tracks.names()


def trace_events(launch: Recorded) -> Iterator[Event]:
    """Yield the events of one launch."""
    process = launch.number + 1
    unit = "step" if launch.timeline.cycles is None else "cycle"
    where = f"launch {launch.number} on {launch.timeline.device}" + (f": {launch.node}" if launch.node else "")
    name = f"{where} (1 {unit} = 1 ns)"
    yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}
    tracks = _Tracks(process)
    places = _instruction_places(launch)
    yield from _instructions(launch, tracks, places)
    yield from _waits(launch, tracks)
    yield from _bursts(launch, tracks)
    yield from _tokens(launch, tracks, places)
    yield from _bandwidth(launch, process)
    yield from tracks.names()


def microseconds(cycles: int) -> float:
    """Return a time of the format for a nanosecond a cycle.

    Readers multiply by a thousand and cut off: where the quotient is a little too small for that, it is the number
    after it.
    """
    time = cycles / 1000
    return time if int(time * 1000) == cycles else math.nextafter(time, math.inf)


class _Tracks:
    """Numbers for the tracks of a process, in the order of their names' first use."""

    def __init__(self, process: int) -> None:
        self.process = process
        self._numbers: dict[str, int] = {}

    def event(self, track: str, phase: str, name: str, time: int, **more: object) -> Event:
        number = self._numbers.setdefault(track, len(self._numbers) + 1)
        return {"ph": phase, "name": name, "ts": microseconds(time), "pid": self.process, "tid": number, **more}

    def names(self) -> Iterator[Event]:
        for name, number in self._numbers.items():
            yield {"ph": "M", "name": "thread_name", "pid": self.process, "tid": number, "args": {"name": name}}
            sort = {"sort_index": number}
            yield {"ph": "M", "name": "thread_sort_index", "pid": self.process, "tid": number, "args": sort}


def _instruction_places(launch: Recorded) -> dict[int, str]:
    """Return the track of each instruction that began: module by module, lane by lane, as the tracks are to stand."""
    found = sorted(instruction_lanes(launch).items(), key=lambda item: (launch.modules[item[0]], item[1], item[0]))
    return {index: launch.modules[index].name.lower() + (f", lane {lane + 1}" if lane else "") for index, lane in found}


def _instructions(launch: Recorded, tracks: _Tracks, places: dict[int, str]) -> Iterator[Event]:
    timeline = launch.timeline
    for index, track in places.items():
        text = format_instruction(launch.instructions[index], launch.config)
        begin, end = int(timeline.begun[index]), int(end_of(timeline, index))
        detail: dict[str, object] = {"index": index, "text": text}
        if timeline.ended[index] == NEVER:
            detail["completed"] = False
        if timeline.issued is not None:
            detail["issued"] = int(timeline.issued[index])
        origin = timeline.origins[index]
        if origin is not None:
            known = {"stage": origin.stage, "source": origin.source, "call": origin.call, "node": origin.node}
            detail |= {name: text for name, text in known.items() if text}
        yield tracks.event(track, "X", text.split(" ", 1)[0], begin, dur=microseconds(end - begin + 1), args=detail)


def _waits(launch: Recorded, tracks: _Tracks) -> Iterator[Event]:
    for module, states in launch.timeline.states.items():
        durations = states.durations(launch.timeline.duration).tolist()
        for begin, duration, cause in zip(states.begins.tolist(), durations, states.causes, strict=True):
            if cause != WORK:
                yield tracks.event(f"{module} waits", "X", cause, begin, dur=microseconds(duration))


def _bursts(launch: Recorded, tracks: _Tracks) -> Iterator[Event]:
    bursts = launch.timeline.bursts
    for number, client in enumerate(bursts.clients):
        chosen = np.flatnonzero((bursts.client == number) & (bursts.end != NEVER))
        begins, ends = bursts.begin[chosen].tolist(), bursts.end[chosen].tolist()
        where, sizes = bursts.address[chosen].tolist(), bursts.nbytes[chosen].tolist()
        rows = zip(lanes(begins, ends), begins, ends, where, sizes, strict=True)
        for lane, begin, end, address, nbytes in rows:
            track = f"memory: {client}" + (f", lane {lane + 1}" if lane else "")
            detail = {"address": f"{address:#x}", "bytes": nbytes}
            yield tracks.event(track, "X", f"{nbytes} B", begin, dur=microseconds(end - begin + 1), args=detail)


def _tokens(launch: Recorded, tracks: _Tracks, places: dict[int, str]) -> Iterator[Event]:
    """Yield the arrows, and the number of tokens in each queue whenever it changes."""
    timeline = launch.timeline
    changes: dict[TokenQueue, list[tuple[int, int]]] = {queue: [] for queue in TokenQueue}
    for number, flow in enumerate(token_flows(launch)):
        pushed = int(timeline.pushed(flow.queue)[flow.giver])
        changes[flow.queue].append((pushed, 1))
        if flow.taker is None:
            continue
        popped = int(timeline.begun[flow.taker])
        changes[flow.queue].append((popped, -1))
        key = launch.number * 10_000_000 + number
        name = flow.queue.value
        yield tracks.event(places[flow.giver], "s", name, pushed, cat="token", id=key)
        yield tracks.event(places[flow.taker], "f", name, popped, cat="token", id=key, bp="e")
    for queue, steps in changes.items():
        count = 0
        for time, step in sorted(steps):
            count += step
            args: Event = {"tokens": count}
            yield {
                "ph": "C",
                "name": f"tokens {queue.value}",
                "ts": microseconds(time),
                "pid": tracks.process,
                "args": args,
            }


def _bandwidth(launch: Recorded, process: int) -> Iterator[Event]:
    """Yield bytes that finished moving, per cycle, over buckets of cycles in which some did, and zero for the next."""
    bursts, duration = launch.timeline.bursts, launch.timeline.duration
    if launch.timeline.cycles is None:
        return
    for kind, of_kind in (("read", False), ("written", True)):
        numbers = [n for n, client in enumerate(bursts.clients) if (client in bursts.writers) is of_kind]
        chosen = np.isin(bursts.client, numbers) & (bursts.end != NEVER) & (bursts.end < duration)
        busy, place = np.unique(bursts.end[chosen] // _BUCKET, return_inverse=True)
        sums = dict(zip(busy.tolist(), np.bincount(place, bursts.nbytes[chosen], len(busy)).tolist(), strict=True))
        idle = {0, *(bucket + 1 for bucket in sums if (bucket + 1) * _BUCKET < duration)} - sums.keys()
        for bucket, nbytes in sorted([*sums.items(), *((bucket, 0.0) for bucket in idle)]):
            args: Event = {"bytes": nbytes / _BUCKET}
            yield {
                "ph": "C",
                "name": f"bytes a cycle, {kind}",
                "ts": microseconds(bucket * _BUCKET),
                "pid": process,
                "args": args,
            }
