"""A load whose rows are asked for one after the other, by those who use them.

Tests: ``tests/runtime/queue/ends/test_late_loads.py``.
"""

from dataclasses import dataclass
from itertools import pairwise

from isa.config import VTAConfig
from isa.instructions import Load, MemoryId
from runtime.queue.ends.cut_transfers import Rows
from runtime.queue.instruction_queue import Entry

__all__ = ["LEAST_PART_BYTES", "Arriving", "mask_of"]

LEAST_PART_BYTES = 512
"""Bytes of a part, on the average: the rows that are asked for are not scattered more, or all are loaded."""


@dataclass(slots=True)
class Arriving:
    """The load at ``place`` into ``memory``; in ``left`` are the rows (``Rows.elements``) that nobody asked for yet."""

    place: int
    rows: Rows
    memory: MemoryId
    left: list[int]
    least: int
    """Elements of a part."""

    @staticmethod
    def of(place: int, entry: Entry, config: VTAConfig) -> "Arriving":
        """Return the load of an entry, none of whose rows has been asked for."""
        rows = Rows.of(entry)
        assert isinstance(rows.transfer, Load)
        least = LEAST_PART_BYTES // config.elem_bytes(rows.transfer.memory)
        return Arriving(place, rows, rows.transfer.scratchpad, list(range(rows.count)), least)

    @property
    def mask(self) -> int:
        """All elements that it writes, as bits."""
        return mask_of(range(self.rows.begin, self.rows.end))

    def needed(self, mask: int) -> list[Entry]:
        """Return loads of the rows that have one of the elements in ``mask`` and were not asked for before.

        They are loads of all rows that are left, where the others would be too short.
        """
        wanted = [row for row in self.left if mask & mask_of(self.rows.elements(row))]
        parts = sum(row - 1 != before for before, row in pairwise([-2, *wanted]))
        return self._take(wanted) if len(wanted) * self.rows.width >= self.least * parts else self.rest()

    def rest(self) -> list[Entry]:
        """Return loads of the rows that are left."""
        return self._take(list(self.left))

    def _take(self, wanted: list[int]) -> list[Entry]:
        entries: list[Entry] = []
        begin = None
        for place, row in enumerate(wanted):
            begin = row if begin is None else begin
            if place + 1 == len(wanted) or wanted[place + 1] != row + 1:
                entries += self.rows.part(begin, row + 1)
                begin = None
        gone = set(wanted)
        self.left = [row for row in self.left if row not in gone]
        return entries


def mask_of(elements: range) -> int:
    """Return neighbouring elements as bits."""
    return (1 << elements.stop) - (1 << elements.start)
