"""When everything in a run happens, event by event, in the order of time.

Each instruction is issued, starts and completes; each burst is asked for and comes. An event happens some cycles, its
*lag*, after the last of those that it waits for. Timed with measured times, every lag comes out; with lags, the times:
both take the same steps in the same order, so the lags of a run give its times back exactly, whatever they are.
Tests: tests/vta/inspect/explain/test_run_model.py, tests/vta/inspect/explain/test_memory_bus.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from vta.inspect.explain.memory_bus import Channel

__all__ = ["Burst", "Network", "Times", "asked", "begun", "came", "ended", "issued", "timed"]

_WRITE_DELAY = 3
"""Cycles from the address of a write to its first beat, at least."""


def issued(index: int) -> int:
    """Return the event that an instruction reaches its module's queue."""
    return 3 * index


def begun(index: int) -> int:
    """Return the event that an instruction starts."""
    return 3 * index + 1


def ended(index: int) -> int:
    """Return the event that an instruction completes."""
    return 3 * index + 2


def asked(instructions: int, burst: int) -> int:
    """Return the event that a burst's address is there, in a run of so many instructions."""
    return 3 * instructions + 2 * burst


def came(instructions: int, burst: int) -> int:
    """Return the event that a burst's last beat has come, or that memory has answered."""
    return 3 * instructions + 2 * burst + 1


@dataclass(frozen=True, slots=True)
class Burst:
    """A burst of ``beats`` of ``client``."""

    client: str
    writes: bool
    beats: int


@dataclass(frozen=True, slots=True)
class Network:
    """What waits for what: ``follows[event]`` has the events after it, each with the cycles in between.

    ``bursts`` has the burst of each event that is an address; the event after it is that it has come. Cycles in between
    are negative where what is waited for comes before the last beat.
    """

    follows: Sequence[Sequence[tuple[int, int]]]
    bursts: Mapping[int, Burst]
    latency: int


@dataclass(frozen=True, slots=True)
class Times:
    """For each event when it happens, the event that it waited for longest (-1: none), and its lag."""

    times: list[int]
    causes: list[int]
    lags: list[int]


def timed(network: Network, *, lags: Sequence[int] = (), measured: Sequence[int] = ()) -> Times:
    """Return when everything happens, with lags or as it was measured."""
    return _Clock(network, lags, measured).run()


class _Clock:
    """A run of the network; ``_heap`` has what happens next: time, event, and for bursts whether they need not wait."""

    def __init__(self, network: Network, lags: Sequence[int], measured: Sequence[int]) -> None:
        count = len(network.follows)
        self._network = network
        self._given = lags
        self._measured = measured
        self._waiting = [0] * count
        for followers in network.follows:
            for other, _ in followers:
                self._waiting[other] += 1
        self._times, self._causes, self._lags = [-1] * count, [-1] * count, [0] * count
        self._heap: list[tuple[int, int, bool]] = []
        self._reads = Channel(network.latency, frozenset({"acc", "load"}))
        self._writes = Channel(network.latency + _WRITE_DELAY)

    def run(self) -> Times:
        """Return when everything happens; all that waits for nothing begins."""
        for event, waiting in enumerate(self._waiting):
            if not waiting and (event - 1) not in self._network.bursts:
                self._ready(event)
        while self._heap:
            now, event, settled = heappop(self._heap)
            burst = self._network.bursts.get(event)
            if burst is None:
                self._happens(event)
            elif settled:
                self._happens(event)
                self._move(event, burst, now)
            else:
                channel = self._writes if burst.writes else self._reads
                free = now if burst.writes else channel.may_ask(burst.client, now)
                self._push(event, free, True)
        assert not any(self._waiting)
        return Times(self._times, self._causes, self._lags)

    def _push(self, event: int, earliest: int, settled: bool) -> None:
        """Let an event happen its lag after ``earliest``."""
        time = self._measured[event] if self._measured else earliest + self._given[event]
        self._lags[event] = time - earliest
        self._times[event] = time
        heappush(self._heap, (time, event, settled))

    def _ready(self, event: int) -> None:
        if event in self._network.bursts:
            heappush(self._heap, (self._times[event], event, False))
        else:
            self._push(event, self._times[event], True)

    def _happens(self, event: int) -> None:
        now = self._times[event]
        for other, between in self._network.follows[event]:
            if now + between > self._times[other]:
                self._times[other], self._causes[other] = now + between, event
            self._waiting[other] -= 1
            if not self._waiting[other]:
                self._ready(other)

    def _move(self, event: int, burst: Burst, now: int) -> None:
        """Give a burst its beats: after those of the bursts before, or a latency after its address."""
        channel = self._writes if burst.writes else self._reads
        answer = event + 1
        earliest = channel.earliest(now) + burst.beats
        self._causes[answer] = event if channel.last < 0 or channel.busy < earliest - burst.beats else channel.last
        time = self._measured[answer] if self._measured else earliest + self._given[answer]
        self._times[answer], self._lags[answer] = time, time - earliest
        channel.move(burst.client, answer, beats=burst.beats, last=time)
        self._happens(answer)
