"""The lines of a track on which spans are drawn, so that none covers another.

Tests: tests/vta/inspect/trace/test_lanes.py.
"""

import heapq
from collections.abc import Mapping, Sequence

from isa.instructions import Module
from runtime.observe.timeline import NEVER, Timeline
from vta.inspect.trace.model import Recorded

__all__ = ["end_of", "instruction_lanes", "lanes"]


def lanes(begins: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Return a lane for each span (both ends included), so that no two in one lane overlap; begins ascend."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    used, chosen = 0, []
    for begin, end in zip(begins, ends, strict=True):
        while busy and busy[0][0] < begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, used = used, used + 1
        heapq.heappush(busy, (end, lane))
        chosen.append(lane)
    return chosen


def instruction_lanes(launch: Recorded) -> Mapping[int, int]:
    """Return the lane of each instruction that began, among those of its module."""
    timeline = launch.timeline
    found: dict[int, int] = {}
    for module in Module:
        indices = [i for i, owner in enumerate(launch.modules) if owner is module and timeline.begun[i] != NEVER]
        ends = [end_of(timeline, index) for index in indices]
        found.update(zip(indices, lanes(timeline.begun[indices].tolist(), ends), strict=True))
    return found


def end_of(timeline: Timeline, index: int) -> int:
    """Return the last time of an instruction that began: the launch's if that failed before it completed."""
    ended = int(timeline.ended[index])
    return max(timeline.duration - 1, int(timeline.begun[index])) if ended == NEVER else ended
