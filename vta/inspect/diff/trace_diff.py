"""Two recorded traces: the first instruction that is not the same, or did not happen at the same time.

Tests: tests/vta/inspect/diff/test_trace_diff.py.
"""

from collections.abc import Iterable
from itertools import zip_longest

import numpy as np

from isa.text.disassembler import format_instruction
from vta.inspect.diff.differ import Difference
from vta.inspect.trace.model import Recorded

__all__ = ["diff_traces"]


def diff_traces(first: Iterable[Recorded], second: Iterable[Recorded]) -> Difference | None:
    """Return the first difference of the launches of two traces: words, then micro-ops, then times."""
    for number, (a, b) in enumerate(zip_longest(first, second)):
        if a is None or b is None:
            names = ("first", "second") if b is None else ("second", "first")
            return Difference(None, "", (f"the {names[0]} trace has a launch {number}, the {names[1]} one has not",))
        found = _words(a, b) or _uops(a, b) or _times(a, b)
        if found is not None:
            return Difference(found.index, found.instruction, (f"launch {number}", *found.details))
    return None


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
    for index in sorted(a.uops.keys() & b.uops.keys()):
        wrong = np.flatnonzero(a.uops[index] != b.uops[index])
        if wrong.size:
            place = int(wrong[0])
            words = f"{int(a.uops[index][place]):#x} in the first, {int(b.uops[index][place]):#x} in the second"
            return Difference(index, _line(a, index), (f"micro-op {place} that it loads: {words}",))
    return None


def _times(a: Recorded, b: Recorded) -> Difference | None:
    """Return the first instruction, in program order, that started or completed at another time."""
    mine, other = a.timeline, b.timeline
    wrong = np.flatnonzero((mine.begun != other.begun) | (mine.ended != other.ended))
    if not wrong.size:
        return None
    index = int(wrong[0])
    spans = [f"from {int(t.begun[index])} to {int(t.ended[index])}" for t in (mine, other)]
    return Difference(index, _line(a, index), (f"the first ran {spans[0]}, the second {spans[1]}",))


def _line(recorded: Recorded, index: int) -> str:
    if index >= recorded.legal:
        return "(no legal word)"
    text = format_instruction(recorded.instructions[index], recorded.config)
    origin = recorded.timeline.origins[index]
    return text if origin is None else f"{text}  ; {origin}"
