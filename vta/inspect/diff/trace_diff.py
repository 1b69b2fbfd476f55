"""Two recorded traces: the first thing that is not the same, or did not happen at the same time.

Tests: tests/vta/inspect/diff/test_trace_diff.py.
"""

from collections.abc import Iterable
from itertools import zip_longest

import numpy as np

from isa.printable import in_one_line
from isa.text.disassembler import format_instruction
from runtime.observe.timeline import NEVER, Timeline
from vta.inspect.diff.differ import Difference
from vta.inspect.trace.model import Recorded

__all__ = ["diff_traces"]

_NOTHING = np.zeros(0, np.uint32)


def diff_traces(first: Iterable[Recorded], second: Iterable[Recorded]) -> Difference | None:
    """Return the first difference of the launches of two traces: words, micro-ops, how they ended, and when what was.

    Whether a recording was cut off is for whoever has the files to say.
    """
    for number, (a, b) in enumerate(zip_longest(first, second)):
        if a is None or b is None:
            names = ("first", "second") if b is None else ("second", "first")
            return Difference(None, "", (f"the {names[0]} trace has a launch {number}, the {names[1]} one has not",))
        found = _config(a, b) or _words(a, b) or _uops(a, b) or _times(a, b) or _ends(a, b) or _rest(a, b)
        if found is not None:
            return Difference(found.index, found.instruction, (f"launch {number}", *found.details, *_errors(a, b)))
    return None


def _config(a: Recorded, b: Recorded) -> Difference | None:
    if a.config.digest == b.config.digest:
        return None
    return Difference(None, "", (f"the first is for {a.config.bitstream}, the second for {b.config.bitstream}",))


def _words(a: Recorded, b: Recorded) -> Difference | None:
    count = min(len(a), len(b))
    wrong = np.flatnonzero((a.timeline.array[:count] != b.timeline.array[:count]).any(axis=1))
    if wrong.size:
        index = int(wrong[0])
        return Difference(index, "", (f"the first: {_line(a, index)}", f"the second: {_line(b, index)}"))
    if len(a) == len(b):
        return None
    return Difference(count, "", (f"the first has {len(a)} instructions, the second {len(b)}",))


def _uops(a: Recorded, b: Recorded) -> Difference | None:
    for index in sorted(a.uops.keys() | b.uops.keys()):
        mine, other = a.uops.get(index, _NOTHING), b.uops.get(index, _NOTHING)
        if len(mine) != len(other):
            counts = f"{len(mine)} micro-ops in the first, {len(other)} in the second"
            return Difference(index, _line(a, index), (f"it loads {counts}",))
        wrong = np.flatnonzero(mine != other)
        if wrong.size:
            place = int(wrong[0])
            words = f"{int(mine[place]):#x} in the first, {int(other[place]):#x} in the second"
            return Difference(index, _line(a, index), (f"micro-op {place} that it loads: {words}",))
    return None


def _times(a: Recorded, b: Recorded) -> Difference | None:
    """Return the first instruction, in program order, that was issued, started or completed at another time."""
    mine, other = a.timeline, b.timeline
    columns = [(mine.begun, other.begun), (mine.ended, other.ended)]
    for x, y in ((mine.issued, other.issued), (mine.settled, other.settled)):
        if x is not None and y is not None:
            columns.append((x, y))
    wrong = np.flatnonzero(np.any([x != y for x, y in columns], axis=0))
    if not wrong.size:
        return None
    index = int(wrong[0])
    spans = [_span(timeline, index) for timeline in (mine, other)]
    return Difference(index, _line(a, index), (f"the first ran {spans[0]}, the second {spans[1]}",))


def _span(timeline: Timeline, index: int) -> str:
    begun, ended = int(timeline.begun[index]), int(timeline.ended[index])
    times = "never" if begun == NEVER else f"from {begun} to {'the end' if ended == NEVER else ended}"
    parts = [("issued", timeline.issued), ("settled", timeline.settled)]
    more = [
        f"{name} at {int(column[index])}" for name, column in parts if column is not None and column[index] != NEVER
    ]
    return f"{times} ({', '.join(more)})" if more else times


def _ends(a: Recorded, b: Recorded) -> Difference | None:
    """Return how the launches ended, or how long they took, if that differs."""
    mine, other = a.timeline, b.timeline
    if mine.error != other.error:
        return Difference(None, "", ())  # the caller says how each ended
    if (mine.duration, mine.cycles is None) == (other.duration, other.cycles is None):
        return None
    lengths = [f"{t.duration} {'steps' if t.cycles is None else 'cycles'}" for t in (mine, other)]
    return Difference(None, "", (f"the first took {lengths[0]}, the second {lengths[1]}",))


def _errors(a: Recorded, b: Recorded) -> tuple[str, ...]:
    """Return lines that say how each launch ended, if they did not end alike."""
    if a.timeline.error == b.timeline.error:
        return ()
    ends = [
        "finished" if error is None else f"failed: {in_one_line(error)}"
        for error in (a.timeline.error, b.timeline.error)
    ]
    return (f"the first {ends[0]}", f"the second {ends[1]}")


def _rest(a: Recorded, b: Recorded) -> Difference | None:
    """Return a difference in what modules waited for, or in the transfers, of launches with the same times."""
    mine, other = a.timeline, b.timeline
    for module in dict.fromkeys([*mine.states, *other.states]):
        x, y = mine.states.get(module), other.states.get(module)
        if x is None or y is None or not (np.array_equal(x.begins, y.begins) and x.causes == y.causes):
            return Difference(None, "", (f"what {module} waited for is not the same",))
    columns = ("begin", "end", "address", "nbytes")
    same = all(np.array_equal(getattr(mine.bursts, name), getattr(other.bursts, name)) for name in columns)
    return None if same else Difference(None, "", ("the transfers on the memory bus are not the same",))


def _line(recorded: Recorded, index: int) -> str:
    if index >= recorded.legal:
        return "(no legal word)"
    text = format_instruction(recorded.instructions[index], recorded.config)
    origin = recorded.timeline.origins[index]
    return text if origin is None else f"{text}  ; {origin}"
