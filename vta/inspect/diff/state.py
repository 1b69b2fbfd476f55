"""What a program can see of a machine: scratchpads and the DRAM that it names, and where two of them differ first.

Tests: tests/vta/inspect/diff/test_state.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from isa.instructions import Alu, Gemm, Instruction, Load, MemoryId, Store
from isa.program import Program
from runtime.memory.placement import page_ranges

__all__ = ["DRAM", "SPACES", "Mismatch", "Space", "first_mismatch", "names_of_dram", "space_written"]

Numbers = npt.NDArray[Any]
Space = MemoryId | None
"""A scratchpad, or ``DRAM``."""

DRAM: Space = None

SPACES: tuple[Space, ...] = (MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.ACC, DRAM)
"""Everything that a program can see, in the order in which it is compared."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first element that differs, in words (``ACC[3, row 0, lane 5]``), both values, and how many differ."""

    place: str
    expected: int
    found: int
    count: int

    def text(self, expected: str, found: str) -> str:
        """Return one line; the arguments name the two machines."""
        more = f" ({self.count - 1} more differ)" if self.count > 1 else ""
        return f"{self.place}: {expected} has {self.expected}, {found} has {self.found}{more}"


def space_written(instruction: Instruction) -> tuple[Space, ...]:
    """Return what an instruction may write."""
    match instruction:
        case Load():
            return (instruction.scratchpad,)
        case Gemm() | Alu():
            return (MemoryId.ACC,)
        case Store():
            return (DRAM,)
        case _:
            return ()


def first_mismatch(
    space: Space, expected: Numbers, found: Numbers, program: Program, ranges: Sequence[tuple[int, int]] | None = None
) -> Mismatch | None:
    """Return the first difference of two arrays of one shape, or None.

    DRAM is given as bytes, an index an address; its ``ranges`` are compared, by default the pages that the program
    names.
    """
    if space is None:
        return _dram_mismatch(expected, found, program, page_ranges(program) if ranges is None else ranges)
    if np.array_equal(expected, found):
        return None
    wrong = np.argwhere(expected != found)
    at = tuple(wrong[0].tolist())
    match space:
        case MemoryId.UOP:
            place = f"UOP[{at[0]}]"
        case MemoryId.WGT:
            place = f"WGT[{at[0]}, row {at[1]}, lane {at[2]}]"
        case _:
            place = f"{space.name}[{at[0]}, row {at[1]}, lane {at[2]}]"
    return Mismatch(place, int(expected[at]), int(found[at]), len(wrong))


def _dram_mismatch(
    expected: Numbers, found: Numbers, program: Program, ranges: Sequence[tuple[int, int]]
) -> Mismatch | None:
    unequal = [(b, e) for b, e in ranges if not np.array_equal(expected[b:e], found[b:e])]
    wrong = [b + np.flatnonzero(expected[b:e] != found[b:e]) for b, e in unequal]
    places = np.concatenate(wrong) if wrong else np.zeros(0, np.int64)
    if not places.size:
        return None
    address = int(places[0])
    for name, begin, dtype, shape in names_of_dram(program):
        kind = np.dtype(dtype)
        offset, count = (address - begin) // kind.itemsize, math.prod(shape)
        if begin <= address and offset < count:
            index = ", ".join(str(int(i)) for i in np.unravel_index(offset, shape))
            at = begin + offset * kind.itemsize
            values = [int(m[at : at + kind.itemsize].view(kind)[0]) for m in (expected, found)]
            return Mismatch(f"{name}[{index}] (DRAM byte {at:#x})", values[0], values[1], len(places))
    return Mismatch(f"DRAM byte {address:#x}", int(expected[address]), int(found[address]), len(places))


def names_of_dram(program: Program) -> Sequence[tuple[str, int, str, tuple[int, ...]]]:
    """Return name, address, type and shape of everything that a program names, outputs first."""
    named = [(o.name or "output", o.address, o.dtype, o.shape) for o in program.memory.outputs]
    named += [(s.name or "data", s.address, s.dtype, s.shape or (s.nbytes,)) for s in program.memory.segments]
    named.append(("micro-ops", program.uop_base, "uint32", (len(program.uops),)))
    return [entry for entry in named if 0 not in entry[3]]
