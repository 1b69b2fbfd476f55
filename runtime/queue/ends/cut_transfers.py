"""Parts of LOAD and STORE instructions: neighbouring rows, or neighbouring elements where there are no pads.

Tests: ``tests/runtime/queue/ends/test_cut_transfers.py``.
"""

import dataclasses
from dataclasses import dataclass

from isa.extents import dram_reach
from isa.instructions import Load, Store
from runtime.queue.instruction_queue import DramSpan, Entry

__all__ = ["Rows"]


@dataclass(frozen=True, slots=True)
class Rows:
    """A transfer as ``count`` units of ``width`` scratchpad elements each, which can be moved by themselves.

    Units are elements; with pads they are rows. Rows of pads alone belong to the row of data beside them, so the first
    and the last may have several.
    """

    entry: Entry
    transfer: Load | Store
    count: int
    width: int

    @staticmethod
    def of(entry: Entry) -> "Rows":
        """Return the units of a LOAD or STORE that moves something."""
        transfer = entry.instruction
        assert isinstance(transfer, Load | Store)
        if transfer.x_pad_0 or transfer.x_pad_1 or transfer.y_pad_0 or transfer.y_pad_1:
            return Rows(entry, transfer, transfer.y_size, transfer.x_pad_0 + transfer.x_size + transfer.x_pad_1)
        return Rows(entry, transfer, transfer.x_size * transfer.y_size, 1)

    @property
    def begin(self) -> int:
        """The first scratchpad element."""
        return self.transfer.sram_base

    @property
    def end(self) -> int:
        """The element after the last."""
        return self.begin + (self.transfer.y_pad_0 + self.count + self.transfer.y_pad_1) * self.width

    def elements(self, unit: int) -> range:
        """Return the scratchpad elements of a unit."""
        above = self.transfer.y_pad_0
        first = 0 if unit == 0 else above + unit
        last = above + unit + 1 + (self.transfer.y_pad_1 if unit == self.count - 1 else 0)
        return range(self.begin + first * self.width, self.begin + last * self.width)

    def part(self, first: int, last: int) -> list[Entry]:
        """Return entries that move units ``first`` to ``last - 1``: one, or one more for each row that is cut."""
        row = self.transfer.x_size
        if (first, last) == (0, self.count):
            return [Entry(self.transfer, origin=self.entry.origin, target=self.entry.target)]
        if self.transfer.x_stride == row and self.transfer.y_size > 1 and self._has_elements:
            row = self.count  # rows without gaps are one row
        if not self._has_elements:
            return [self._moved(first, y_pads=(first == 0, last == self.count), y_size=last - first)]
        entries = []
        while first < last:
            line, column = divmod(first, row)
            whole = (last - first) // row if column == 0 else 0
            if whole:
                entries.append(self._moved(line, first=first, y_size=whole))
                first += whole * row
            else:
                stop = min(last, (line + 1) * row)
                entries.append(self._moved(line, column, first=first, x_size=stop - first, y_size=1))
                first = stop
        return entries

    @property
    def _has_elements(self) -> bool:
        return self.count == self.transfer.x_size * self.transfer.y_size and self.width == 1

    def _moved(
        self,
        line: int,
        column: int = 0,
        *,
        y_size: int,
        x_size: int | None = None,
        first: int | None = None,
        y_pads: tuple[bool, bool] = (True, True),
    ) -> Entry:
        """Return the entry for ``y_size`` rows from ``line`` on, or ``x_size`` elements of one, from ``column`` on."""
        old, target = self.transfer, self.entry.target
        distance = line * old.x_stride + column
        new = dataclasses.replace(
            old,
            sram_base=self.elements(line if first is None else first).start,
            dram_base=old.dram_base + distance,
            x_size=old.x_size if x_size is None else x_size,
            x_stride=old.x_stride if x_size is None else x_size,
            y_size=y_size,
            y_pad_0=old.y_pad_0 if y_pads[0] else 0,
            y_pad_1=old.y_pad_1 if y_pads[1] else 0,
        )
        span = None
        if target is not None:
            span = DramSpan(target.buffer, target.offset + distance, dram_reach(new), target.element_bytes)
        return Entry(new, origin=self.entry.origin, target=span)
