"""Where a debugger stops: before the instruction at a place, one that touches something, or one with a finding.

Tests: tests/vta/inspect/debug/test_debugger.py.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from isa.check.findings import FindingKind
from isa.errors import VTAError
from isa.index_sets import Elements, spans_text
from isa.instructions import Alu, Gemm, Load, MemoryId
from isa.program import Program
from vta.inspect.debug.reversible import ReplayMachine
from vta.inspect.diff.state import names_of_dram

__all__ = ["Breakpoint", "BreakpointError", "decimal", "parse_breakpoint", "parse_range"]


class BreakpointError(VTAError, ValueError):
    """A text that does not describe a breakpoint."""


class Breakpoint(Protocol):
    """Something to stop for."""

    def hit(self, machine: ReplayMachine) -> str:
        """Say why to stop before the next instruction of ``machine`` (there is one); an empty text to go on."""
        ...

    def __str__(self) -> str: ...


@dataclass(frozen=True, slots=True)
class _AtInstruction:
    index: int

    def hit(self, machine: ReplayMachine) -> str:
        return "the instruction is reached" if machine.position == self.index else ""

    def __str__(self) -> str:
        return f"instruction {self.index}"


@dataclass(frozen=True, slots=True)
class _OnElements:
    memory: MemoryId
    begin: int
    end: int

    def hit(self, machine: ReplayMachine) -> str:
        if self.memory == MemoryId.UOP:
            return self._uops(machine)
        footprint = machine.footprint()
        for verb, touched in (("writes", footprint.writes), ("reads", footprint.reads)):
            for memory, elements in touched:
                common = self._common(elements) if memory == self.memory else np.zeros(0, np.int64)
                if common.size:
                    return f"it {verb} {self.memory.name} {spans_text(common)}"
        return ""

    def _uops(self, machine: ReplayMachine) -> str:
        match machine.next:
            case Load(memory=MemoryId.UOP) as load:
                verb, touched = "writes", slice(load.sram_base, load.sram_base + load.x_size)
            case Gemm() | Alu() as loops:
                verb, touched = "reads", slice(loops.uop_bgn, max(loops.uop_bgn, loops.uop_end))
            case _:
                return ""
        common = self._common(touched)
        return f"it {verb} UOP {spans_text(common)}" if common.size else ""

    def _common(self, elements: Elements) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        places = np.arange(elements.start, elements.stop) if isinstance(elements, slice) else elements
        return places[(places >= self.begin) & (places < self.end)]

    def __str__(self) -> str:
        return f"{self.memory.name} {spans_text(range(self.begin, self.end))}"


@dataclass(frozen=True, slots=True)
class _OnDram:
    begin: int
    end: int

    def hit(self, machine: ReplayMachine) -> str:
        for begin, end in machine.rows():
            low, high = max(begin, self.begin), min(end, self.end)
            if low < high:
                verb = "reads" if isinstance(machine.next, Load) else "writes"
                return f"it {verb} DRAM bytes {low:#x} to {high - 1:#x}"
        return ""

    def __str__(self) -> str:
        return f"DRAM bytes {self.begin:#x} to {self.end - 1:#x}"


@dataclass(frozen=True, slots=True)
class _OnFinding:
    kind: FindingKind

    def hit(self, machine: ReplayMachine) -> str:
        found = (f for f in machine.findings if f.kind == self.kind and f.index == machine.position)
        return next((finding.message for finding in found), "")

    def __str__(self) -> str:
        return "a number that wraps or is cut" if self.kind == FindingKind.VALUE else "a read of what was never written"


_MEMORIES = {memory.name.lower(): memory for memory in (MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.ACC)}

_MOST_DIGITS = 18

_HOW = "the number of an instruction, 'acc N', 'inp N', 'wgt N', 'uop N', 'dram ADDRESS', 'value' or 'unwritten'"


def decimal(text: str) -> int | None:
    """Return the number that ``text`` is in the digits 0 to 9, None for anything else and for absurdly long ones."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def parse_breakpoint(text: str, program: Program) -> Breakpoint:
    """Return what to stop for: see ``_HOW``; ``dram`` also takes a name of the program."""
    kind, *rest = text.split() or [""]
    match kind.lower(), rest:
        case ("value", []):
            return _OnFinding(FindingKind.VALUE)
        case ("unwritten", []):
            return _OnFinding(FindingKind.UNWRITTEN)
        case ("dram", [place]):
            return _OnDram(*parse_range(place, names_of_dram(program)))
        case (name, [place]) if name in _MEMORIES:
            memory = _MEMORIES[name]
            begin, end = parse_range(place)
            depth = program.config.depth(memory)
            if end > depth:
                raise BreakpointError(f"{memory.name} has {depth} elements, so there is no element {end - 1}")
            return _OnElements(memory, begin, end)
        case (number, []) if (index := decimal(number)) is not None:
            count = len(program.instructions)
            if index >= count:
                raise BreakpointError(f"the program has {count} instructions, so there is no instruction {index}")
            return _AtInstruction(index)
        case _:
            raise BreakpointError(f"{text!r} is nothing to stop for; expected {_HOW}")


def parse_range(text: str, names: Sequence[tuple[str, int, str, tuple[int, ...]]] = ()) -> tuple[int, int]:
    """Return begin and end of ``N``, ``N:M`` or one of ``names`` (name, address, type and shape)."""
    for name, address, dtype, shape in names:
        if text == name:
            return address, address + math.prod(shape) * np.dtype(dtype).itemsize
    match = re.fullmatch(r"(\w+)(?::(\w+))?", text)
    try:
        begin = int(match[1], 0) if match else -1
        end = begin + 1 if match is None or match[2] is None else int(match[2], 0)
    except ValueError:
        raise BreakpointError(f"{text!r} is no number, no range N:M and no name of the program") from None
    if not 0 <= begin < end:
        raise BreakpointError(f"{text!r} is no number, no range N:M and no name of the program")
    return begin, end
