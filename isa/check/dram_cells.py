"""DRAM cut into cells, each of which a transfer touches as a whole or not at all: bookkeeping without an array of
bytes.

Tests: ``tests/isa/check/test_checker.py``.
"""

import numpy as np
import numpy.typing as npt

from isa.footprint import dram_rows
from isa.index_sets import Elements
from isa.instructions import Load, MemoryId, Store
from isa.program import Program

__all__ = ["ABSENT", "RESERVED", "WRITTEN", "DramCells"]

ABSENT, RESERVED, WRITTEN = 0, 1, 2
"""What a cell holds at first: nothing that the program names, an output, or contents."""


class DramCells:
    """The cells of a program. ``initial`` says what each holds before it runs.

    A program that names no data and no outputs says nothing about memory: then every cell counts as written.
    """

    def __init__(self, program: Program) -> None:
        config = program.config
        sizes = {memory: config.elem_bytes(memory) for memory in MemoryId}
        depths = {memory: config.depth(memory) for memory in MemoryId}
        begins: list[int] = []
        ends: list[int] = []
        places: list[int] = []
        counts: list[int] = []
        for index, instruction in enumerate(program.instructions):
            if not isinstance(instruction, Load | Store):
                continue
            if 0 < instruction.x_size * instruction.y_size <= depths[instruction.memory]:
                rows = dram_rows(instruction, sizes[instruction.memory])
                places.append(index)
                counts.append(len(rows))
                begins += [row[0] for row in rows]
                ends += [row[1] for row in rows]
        contents, outputs = _named(program)
        named = np.array([edge for region in contents + outputs for edge in region], np.int64)
        self._edges = np.unique(np.concatenate([np.array(begins, np.int64), np.array(ends, np.int64), named]))
        self._low = np.searchsorted(self._edges, np.array(begins, np.int64))
        self._high = np.searchsorted(self._edges, np.array(ends, np.int64))
        stops = np.cumsum(counts).tolist()
        self._rows = dict(zip(places, zip([0, *stops], stops, strict=False), strict=True))
        knows = bool(program.memory.segments or program.memory.outputs)
        self.initial = np.full(max(len(self._edges) - 1, 0), ABSENT if knows else WRITTEN, np.int8)
        for regions, state in ((outputs, RESERVED), (contents, WRITTEN)):
            for begin, end in regions:
                self.initial[np.searchsorted(self._edges, begin) : np.searchsorted(self._edges, end)] = state

    def of(self, index: int) -> Elements | None:
        """Return the cells that instruction ``index`` touches; None if it moves nothing, or more than fits on chip."""
        span = self._rows.get(index)
        if span is None:
            return None
        first, stop = span
        if stop - first == 1:
            return slice(int(self._low[first]), int(self._high[first]))
        low, high = self._low[first:stop], self._high[first:stop]
        return np.concatenate([np.arange(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)])

    def text(self, cells: npt.NDArray[np.int64]) -> str:
        """Return ascending ``cells`` in words: ``DRAM bytes 0x1000 to 0x103f``, and how many more there are."""
        breaks = np.flatnonzero(np.diff(cells) != 1)
        last = int(cells[breaks[0]] if breaks.size else cells[-1])
        begin, end = int(self._edges[cells[0]]), int(self._edges[last + 1])
        size = int((self._edges[cells + 1] - self._edges[cells]).sum())
        more = f" and {size - (end - begin)} more" if size > end - begin else ""
        return f"DRAM bytes {begin:#x} to {end - 1:#x}{more}"


def _named(program: Program) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the byte ranges that have contents, and those of outputs."""
    contents = [(segment.address, segment.address + segment.nbytes) for segment in program.memory.segments]
    contents.append((program.uop_base, program.uop_base + program.uop_bytes))
    outputs = [(region.address, region.address + region.nbytes) for region in program.memory.outputs]
    return contents, outputs
