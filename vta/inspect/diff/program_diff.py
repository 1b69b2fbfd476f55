"""Two programs in step on one engine: the first instruction after which they have not done the same.

Tests: tests/vta/inspect/diff/test_program_diff.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from isa.encoding import EncodingError
from isa.program import Program
from runtime.devices.device import DeviceError
from runtime.memory.placement import page_ranges
from vta.inspect.diff.differ import Difference, DiffError, describe
from vta.inspect.diff.state import SPACES, Space, first_mismatch, space_written
from vta.inspect.diff.stepping import Engine, engine

__all__ = ["ProgramComparison", "diff_programs"]

NAMES = ("the first", "the second")


@dataclass(frozen=True, slots=True)
class ProgramComparison:
    """The first ``difference`` in what two programs do; ``unequal`` instructions do the same with other words."""

    difference: Difference | None
    unequal: tuple[int, ...] = ()


def diff_programs(first: Program, second: Program, *, device: str = "reference") -> ProgramComparison:
    """Compare what two programs do, in program order. ``DiffError`` if they are for different configurations.

    Micro-ops are compared when they are loaded; other contents of memory that differ are a difference before the first
    instruction.
    """
    if first.config.digest != second.config.digest:
        names = f"{first.config.bitstream} and {second.config.bitstream}"
        raise DiffError(f"the programs are for different configurations, {names}")
    before = _memory_before(first, second)
    if before is not None:
        return ProgramComparison(before)
    try:
        engines = [engine(program, device) for program in (first, second)]
    except EncodingError as error:
        raise DiffError(f"a program with an illegal instruction cannot be run: {error}") from None
    return ProgramComparison(_in_step(engines), tuple(_unequal(first, second)))


def _unequal(first: Program, second: Program) -> list[int]:
    pairs = enumerate(zip(first.instructions, second.instructions, strict=False))
    return [index for index, (a, b) in pairs if a != b]


def _memory_before(first: Program, second: Program) -> Difference | None:
    """Return the first difference of the memory contents, micro-ops aside."""
    a, b = ({s.address: s for s in program.memory.segments} for program in (first, second))
    for address in sorted({*a, *b}):
        one, two = a.get(address), b.get(address)
        if one is None or two is None or one.nbytes != two.nbytes:
            sizes = ["nothing" if s is None else f"{s.nbytes} bytes" for s in (one, two)]
            return Difference(None, "", (f"memory at {address:#x}: {sizes[0]} in the first, {sizes[1]} in the second",))
        wrong = np.flatnonzero(np.frombuffer(one.data, np.uint8) != np.frombuffer(two.data, np.uint8))
        if wrong.size:
            at = int(wrong[0])
            values = f"{one.data[at]} in the first, {two.data[at]} in the second"
            name = one.name or "memory"
            return Difference(None, "", (f"{name}, DRAM byte {address + at:#x}: {values} ({wrong.size} bytes differ)",))
    outputs = [sorted((o.address, o.nbytes, o.name) for o in program.memory.outputs) for program in (first, second)]
    for mine, other in zip_longest(*outputs):
        if mine != other:
            names = [f"{o[2] or 'output'} at {o[0]:#x}, {o[1]} bytes" if o else "nothing" for o in (mine, other)]
            return Difference(None, "", (f"outputs: {names[0]} in the first, {names[1]} in the second",))
    return None


def _in_step(engines: Sequence[Engine]) -> Difference | None:
    lengths = [len(e.program.instructions) for e in engines]
    for index in range(max(lengths)):
        outcomes = [_stepped(e, index) for e in engines]
        if outcomes[0] != outcomes[1]:
            said = zip(NAMES, outcomes, strict=True)
            return _difference(engines, index, [f"{name}: {outcome or 'goes on'}" for name, outcome in said])
        if outcomes[0]:
            return None
        written = {
            space
            for e in engines
            if index < len(e.program.instructions)
            for space in space_written(e.program.instructions[index])
        }
        found = _compared(engines, index, [space for space in SPACES if space in written])
        if found is not None:
            return found
    return _compared(engines, max(lengths) - 1, SPACES)


def _stepped(machine: Engine, index: int) -> str:
    """Execute an instruction if there is one; return what the machine says against it."""
    if index >= len(machine.program.instructions):
        return ""
    try:
        machine.step(index)
    except DeviceError as error:
        return str(error).partition(": ")[2]
    return ""


def _compared(engines: Sequence[Engine], index: int, spaces: Sequence[Space]) -> Difference | None:
    for space in spaces:
        a, b = (e.contents(space) for e in engines)
        program = engines[0].program
        mismatch = first_mismatch(space, a, b, program, _data_ranges(program))
        if mismatch is not None:
            return _difference(engines, index, [mismatch.text(*NAMES)])
    return None


def _data_ranges(program: Program) -> list[tuple[int, int]]:
    """Return the bytes of the pages that a program names, without its micro-ops: those are compared when loaded."""
    first, end = program.uop_base, program.uop_base + program.uop_bytes
    pieces = []
    for low, high in page_ranges(program):
        pieces += (
            [(low, min(high, max(low, first))), (max(low, min(high, end)), high)] if first < end else [(low, high)]
        )
    return [(low, high) for low, high in pieces if low < high]


def _difference(engines: Sequence[Engine], index: int, details: list[str]) -> Difference:
    texts = [describe(e.program, index) if index < len(e.program.instructions) else "(has ended)" for e in engines]
    if texts[0] != texts[1]:
        details = [*(f"{name}: {text}" for name, text in zip(NAMES, texts, strict=True)), *details]
        return Difference(index, "", tuple(details))
    return Difference(index, texts[0], tuple(details))
