"""The two channels of the memory port in a run that is timed again: who waits for whose beats.

The memory serves bursts in the order of their addresses; the first beat comes a latency after its address, further
bursts follow one beat a cycle. A reader with too many beats on their way has to wait before it asks again
(``hw.memory_engine``). Tests: tests/vta/inspect/explain/test_memory_bus.py.
"""

from collections import deque
from dataclasses import dataclass, field

__all__ = ["Channel"]

_FIRST_BEATS, _MORE_BEATS, _MOST_BEATS = 8, 8, 128
"""How many beats on their way make a reader wait: at first, by how much this grows in an idle cycle, and at most."""


@dataclass(frozen=True, slots=True)
class _Span:
    """The beats of a burst: in the cycles after ``first``, up to and with ``last``."""

    first: int
    last: int
    client: str


@dataclass(slots=True)
class Channel:
    """One direction of the port, which answers after ``latency`` cycles: ``asked`` in the order of the addresses.

    ``patient`` clients look no further ahead than the memory makes them.
    """

    latency: int
    patient: frozenset[str] = frozenset()
    busy: int = -1
    """When the last beat of all that has been asked for comes."""
    last: int = -1
    """Which event that is."""
    _ahead: int = _FIRST_BEATS
    _spans: deque[_Span] = field(default_factory=deque)

    def may_ask(self, client: str, now: int) -> int:
        """Return when a client may ask for a further burst, from ``now`` on.

        A client that is not patient may at once, but the others may look further ahead, too, if that finds it waiting.
        """
        while self._spans and self._spans[0].last < now:
            self._spans.popleft()
        away = sum(span.last - max(span.first, now - 1) for span in self._spans if span.client == client)
        if client not in self.patient and away < _MOST_BEATS:
            if away >= self._ahead and self._spans[0].first >= now:
                self._ahead = min(self._ahead + _MORE_BEATS, _MOST_BEATS)
            return now
        return now if away < self._ahead else self._allowed(client, now, away)

    def _allowed(self, client: str, now: int, away: int) -> int:
        """Return when fewer beats than allowed are on their way to a client; ``away`` of them are at ``now``."""
        time = now
        for span in self._spans:
            idle = span.first - time + 1
            if idle > 0 and self._ahead < _MOST_BEATS:
                grows = min(-(-(away + 1 - self._ahead) // _MORE_BEATS), idle)
                self._ahead = min(self._ahead + grows * _MORE_BEATS, _MOST_BEATS)
                if away < self._ahead:
                    return time + grows
            if span.client == client:
                begin = max(span.first, now - 1)
                if away - (span.last - begin) < self._ahead:
                    return begin + away - self._ahead + 2
                away -= span.last - begin
            time = max(time, span.last + 1)
        return time

    def earliest(self, now: int) -> int:
        """Return the cycle before the first beat of a burst whose address is there ``now``."""
        return max(now + self.latency - 1, self.busy)

    def move(self, client: str, event: int, *, beats: int, last: int) -> None:
        """Note a burst of ``beats`` whose last one comes at ``last``, which is ``event``."""
        self.busy, self.last = last, event
        self._spans.append(_Span(last - beats, last, client))
