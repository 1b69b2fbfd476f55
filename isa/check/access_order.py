"""Who touched what last, in program order: which instruction another one must wait for, and what nobody has written.

Each element of a scratchpad, and each DRAM cell, remembers the last instruction of every module that wrote or read it.
Instructions of one module are in order by themselves, so that only accesses of two modules matter here. Tests:
``tests/isa/check/test_checker.py``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from isa.check.dram_cells import RESERVED, WRITTEN, DramCells
from isa.check.findings import FindingKind
from isa.footprint import Footprint
from isa.index_sets import Elements, spans_text
from isa.instructions import Instruction, MemoryId, Module
from isa.program import Program

__all__ = ["NOBODY", "AccessOrder", "Need"]

NOBODY = -1
"""Stands for no instruction, or for one that is not known."""

_NEVER = -2
"""Nothing has written this element."""

Last = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Need:
    """Before an access that ``does`` something to ``what`` can start, ``index``, which ``did``, must complete."""

    module: Module
    index: int
    what: str
    does: str
    did: str


@dataclass(frozen=True, slots=True)
class _Rival:
    """One access and the last touches that it must come after."""

    module: Module
    last: Last
    elements: Elements
    memory: MemoryId | None
    does: str
    did: str

    @property
    def index(self) -> int:
        """The latest of those touches, ``NOBODY`` if there is none."""
        return int(self.last[self.elements].max(initial=NOBODY))


class AccessOrder:
    """Follows the accesses of a program, one instruction after the other.

    ``needs[index]`` are, by ``Module``, the highest index that must be complete before the instruction starts (or -1).
    """

    def __init__(self, program: Program) -> None:
        config = program.config
        depths = {MemoryId.INP: config.inp_depth, MemoryId.WGT: config.wgt_depth, MemoryId.ACC: config.acc_depth}
        self.needs: list[tuple[int, int, int, int]] = []
        self._cells = DramCells(program)
        self._state = self._cells.initial
        self._written: dict[MemoryId, Last] = {m: np.full(n, _NEVER, np.int32) for m, n in depths.items()}
        self._read: dict[MemoryId, Last] = {m: np.full(n, NOBODY, np.int32) for m, n in depths.items()}
        count = len(self._state)
        self._dram: dict[Module, Last] = {module: np.full(count, NOBODY, np.int32) for module in Module}
        self._rivals: list[_Rival] = []

    def inherit(self, other: Self) -> None:
        """Start with the scratchpads as ``other`` left them: what was written is written."""
        for memory, last in self._written.items():
            last[other._written[memory] != _NEVER] = NOBODY

    def visit(self, index: int, instruction: Instruction, footprint: Footprint) -> list[tuple[FindingKind, str]]:
        """Follow an instruction whose indices are in bounds; say what it reads that nothing has written.

        Afterwards, what was read counts as written, so that a mistake is reported once. DRAM that the program does not
        name is out of bounds.
        """
        module = instruction.module
        cells = self._cells.of(index)
        self._rivals = rivals = [*self._scratchpad_rivals(module, footprint), *self._dram_rivals(module, cells)]
        self.needs.append(_latest(rivals))
        missing = [*self._unwritten(footprint), *self._unwritten_dram(module, cells)]
        self._record(index, module, footprint, cells)
        return missing

    def skip(self, instruction: Instruction, index: int) -> None:
        """Pass over an instruction that is out of bounds, or whose accesses are unknown: it may write anything."""
        self._rivals = []
        self.needs.append((NOBODY,) * 4)
        cells = self._cells.of(index)
        if instruction.module == Module.STORE:
            self._state[:] = WRITTEN
            return
        for memory, last in self._written.items():
            if instruction.module == Module.COMPUTE or memory != MemoryId.ACC:
                last[last == _NEVER] = NOBODY
        if cells is not None:
            self._dram[instruction.module][cells] = index

    def conflict(self, module: Module) -> Need:
        """Return which access of the instruction visited last must wait for ``module``."""
        rival = max((r for r in self._rivals if r.module == module), key=lambda r: r.index)
        places = _places(rival.elements)
        last = rival.last[places]
        index = int(last.max())
        return Need(module, index, self._text(rival.memory, places[last == index]), rival.does, rival.did)

    # --- what must come first ----------------------------------------------------------------------------------------

    def _scratchpad_rivals(self, module: Module, footprint: Footprint) -> Iterator[_Rival]:
        for memory, elements in footprint.writes:
            reader = Module.STORE if memory == MemoryId.ACC else Module.COMPUTE
            if module != reader:
                yield _Rival(reader, self._read[memory], elements, memory, "writes", "reads")
        for memory, elements in footprint.reads:
            writer = Module.COMPUTE if memory == MemoryId.ACC else Module.LOAD
            if module != writer:
                yield _Rival(writer, self._written[memory], elements, memory, "reads", "writes")

    def _dram_rivals(self, module: Module, cells: Elements | None) -> Iterator[_Rival]:
        if cells is None:
            return
        if module != Module.STORE:
            yield _Rival(Module.STORE, self._dram[Module.STORE], cells, None, "reads", "writes")
            return
        for reader in (Module.LOAD, Module.COMPUTE):
            yield _Rival(reader, self._dram[reader], cells, None, "writes", "reads")

    # --- what was never written --------------------------------------------------------------------------------------

    def _unwritten(self, footprint: Footprint) -> Iterator[tuple[FindingKind, str]]:
        for memory, elements in footprint.reads:
            last = self._written[memory]
            if last[elements].min(initial=NOBODY) == _NEVER:
                places = _places(elements)
                never = places[last[places] == _NEVER]
                last[never] = NOBODY
                yield FindingKind.UNWRITTEN, f"reads {self._text(memory, never)}, which nothing has written"

    def _unwritten_dram(self, module: Module, cells: Elements | None) -> Iterator[tuple[FindingKind, str]]:
        if cells is None or self._state[cells].min() == WRITTEN:
            return
        places = _places(cells)
        absent = places[self._state[places] < RESERVED]
        if absent.size:
            does = "writes" if module == Module.STORE else "reads"
            text = f"{does} {self._cells.text(absent)}, which are in no data and no output of the program"
            yield FindingKind.BOUNDS, text
        reserved = places[self._state[places] == RESERVED]
        if reserved.size and module != Module.STORE:
            yield FindingKind.UNWRITTEN, f"reads {self._cells.text(reserved)}, which nothing has written"
        self._state[places] = WRITTEN

    # --- notes -------------------------------------------------------------------------------------------------------

    def _record(self, index: int, module: Module, footprint: Footprint, cells: Elements | None) -> None:
        for memory, elements in footprint.reads:
            if memory != MemoryId.ACC or module == Module.STORE:  # compute is in order with itself
                self._read[memory][elements] = index
        for memory, elements in footprint.writes:
            self._written[memory][elements] = index
        if cells is not None:
            self._dram[module][cells] = index
            if module == Module.STORE:
                self._state[cells] = WRITTEN

    def _text(self, memory: MemoryId | None, places: npt.NDArray[np.int64]) -> str:
        return self._cells.text(places) if memory is None else f"{memory.name} {spans_text(places)}"


def _latest(rivals: list[_Rival]) -> tuple[int, int, int, int]:
    latest = [NOBODY] * 4
    for rival in rivals:
        latest[rival.module] = max(latest[rival.module], rival.index)
    return (latest[0], latest[1], latest[2], latest[3])


def _places(elements: Elements) -> npt.NDArray[np.int64]:
    return np.arange(elements.start, elements.stop) if isinstance(elements, slice) else elements
