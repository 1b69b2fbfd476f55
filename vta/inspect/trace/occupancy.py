"""What lies in each scratchpad and for how long: from the instruction that writes an element to its last reader.

Tests: tests/vta/inspect/trace/test_occupancy.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from isa.footprint import Footprints
from isa.index_sets import Elements
from isa.instructions import Load, MemoryId
from isa.known_uops import UopBuffer
from runtime.observe.timeline import NEVER
from vta.inspect.trace.model import Recorded

__all__ = ["SCRATCHPADS", "Residence", "occupancy"]

SCRATCHPADS = (MemoryId.INP, MemoryId.WGT, MemoryId.ACC)
"""The memories whose contents are followed."""

_ANYWHERE = range(1 << 63)
_NOBODY = -1

Column = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Residence:
    """Elements ``first`` to ``last`` of ``memory`` held what instruction ``writer`` wrote from ``begin`` to ``end``.

    ``end`` is when the last of ``reads`` reading instructions, ``reader``, was done (the writer itself if none did).
    """

    memory: MemoryId
    first: int
    last: int
    begin: int
    end: int
    writer: int
    reader: int
    reads: int


class _Scratchpad:
    """The elements of one memory: who wrote each, who read it last, and how many did."""

    def __init__(self, memory: MemoryId, depth: int, timeline_begun: Column, timeline_ended: Column) -> None:
        self._memory = memory
        self._writer = np.full(depth, _NOBODY, np.int64)
        self._reader = np.full(depth, _NOBODY, np.int64)
        self._reads = np.zeros(depth, np.int64)
        self._begun = timeline_begun
        self._ended = timeline_ended

    def read(self, elements: Elements, index: int) -> None:
        self._reads[elements] += self._reader[elements] != index  # an addition reads an element as both operands
        self._reader[elements] = index

    def write(self, elements: Elements, index: int) -> Iterator[Residence]:
        yield from self.take(elements)
        self._writer[elements] = index
        self._reader[elements] = _NOBODY
        self._reads[elements] = 0

    def take(self, elements: Elements) -> Iterator[Residence]:
        """Yield what these elements held until now, in runs of equal history."""
        places = np.arange(len(self._writer))[elements]
        if not places.size:
            return
        history = np.stack([self._writer[places], self._reader[places], self._reads[places]])
        changes = (np.diff(places) != 1) | (np.diff(history, axis=1) != 0).any(axis=0)
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
        stops = np.concatenate([starts[1:], [len(places)]])
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            writer, reader, reads = history[:, start].tolist()
            if writer == _NOBODY:
                continue
            last = writer if reader == _NOBODY else reader
            times = int(self._begun[writer]), int(self._ended[last])
            yield Residence(self._memory, int(places[start]), int(places[stop - 1]), *times, writer, last, reads)


def occupancy(launch: Recorded) -> list[Residence]:
    """Return what the scratchpads held during a launch, as far as its instructions completed, in order of begin."""
    timeline, config = launch.timeline, launch.config
    footprints = Footprints(config, _ANYWHERE)
    uops = UopBuffer(config)
    pads = {m: _Scratchpad(m, config.depth(m), timeline.begun, timeline.ended) for m in SCRATCHPADS}
    held: list[Residence] = []
    for index, instruction in enumerate(launch.instructions):
        if timeline.ended[index] == NEVER:
            continue
        if isinstance(instruction, Load) and index in launch.uops:
            room = max(0, config.uop_depth - instruction.sram_base)  # of a load that reaches behind the end, too
            uops.put(instruction.sram_base, launch.uops[index][:room])
            continue
        footprint = footprints.of(instruction, uops.read)
        for memory, elements in footprint.reads:
            pads[memory].read(elements, index)
        for memory, elements in footprint.writes:
            held.extend(pads[memory].write(elements, index))
    for pad in pads.values():
        held.extend(pad.take(slice(None)))
    return sorted(_joined(held), key=lambda item: (item.begin, item.memory, item.first))


def _joined(held: list[Residence]) -> Iterator[Residence]:
    """Yield the entries with neighbours of one history in one: they were overwritten at different times."""
    last: Residence | None = None
    for item in sorted(held, key=lambda entry: (entry.memory, entry.writer, entry.reader, entry.reads, entry.first)):
        if last is not None and item == replace(last, first=last.last + 1, last=item.last):
            last = replace(last, last=item.last)
            continue
        if last is not None:
            yield last
        last = item
    if last is not None:
        yield last
