"""Shrinking a failing capsule: fewer launches, instructions, loops, micro-ops and bytes, as long as it fails alike.

Delta debugging over the instructions (Zeller and Hildebrandt, 2002), then smaller fields, then memory without contents.
FINISH stays, as every launch ends in it. May import ``isa`` and ``runtime``. Tests: tests/vta/capsule/test_reduce.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace

from isa.encoding import EncodingError
from isa.instructions import Alu, Gemm, Instruction
from isa.program import MemoryImage, Program
from vta.capsule.model import Capsule
from vta.capsule.replay import run_launches

__all__ = ["Fails", "fails_alike", "reduce_capsule", "reduce_program"]

Fails = Callable[[Program], bool]
"""Whether a program still shows the failure that is being reduced."""

Progress = Callable[[str], None]
"""Takes a line about how far it is."""


def reduce_capsule(capsule: Capsule, *, progress: Progress | None = None) -> Capsule:
    """Return a smaller capsule whose last launch fails with the same signature.

    Raises ``ValueError`` if the capsule does not fail, or not again.
    """
    if not capsule.outcomes[-1].failed:
        raise ValueError("the capsule's launches all finish, so there is no failure to keep; reduce one that fails")
    earlier = capsule.programs[:-1]
    program = capsule.programs[-1]
    if not fails_alike(capsule, earlier)(program):
        raise ValueError("the failure does not happen again on this machine, so nothing can be reduced")
    for drop in (len(earlier), len(earlier) - 1):
        if drop > 0 and fails_alike(capsule, earlier[drop:])(program):
            earlier = earlier[drop:]
            break
    _tell(progress, f"{len(earlier) + 1} of {len(capsule.programs)} launches are needed")
    program = reduce_program(program, fails_alike(capsule, earlier), progress=progress)
    outcomes = tuple(run_launches(capsule.machine, (*earlier, program)))
    return replace(capsule, programs=(*earlier, program), outcomes=outcomes)


def fails_alike(capsule: Capsule, earlier: Sequence[Program]) -> Fails:
    """Return the test whether a program, after ``earlier`` ones, fails as the capsule's last launch did."""
    wanted = capsule.outcomes[-1].signature

    def fails(program: Program) -> bool:
        try:
            outcomes = run_launches(capsule.machine, (*earlier, program))
        except EncodingError:  # a smaller number can make an instruction illegal
            return False
        return len(outcomes) == len(earlier) + 1 and outcomes[-1].failed and outcomes[-1].signature == wanted

    return fails


def reduce_program(program: Program, fails: Fails, *, progress: Progress | None = None) -> Program:
    """Return a smaller program for which ``fails`` still holds; ``program`` itself must fail."""
    program = _fewer_instructions(program, fails)
    _tell(progress, f"{len(program.instructions)} instructions")
    program = _smaller_fields(program, fails)
    program = _fewer_instructions(program, fails)
    program = _less_memory(program, fails)
    _tell(progress, f"{len(program.instructions)} instructions, {len(program.memory.segments)} segments of memory")
    return program


def _tell(progress: Progress | None, text: str) -> None:
    if progress is not None:
        progress(text)


def _fewer_instructions(program: Program, fails: Fails) -> Program:
    """Return the program without whatever is not needed, the last instruction aside: delta debugging."""
    kept = list(range(len(program.instructions) - 1))
    chunk = max(1, len(kept) // 2)
    while kept:
        before, at = len(kept), 0
        while at < len(kept):
            without = kept[:at] + kept[at + chunk :]
            if fails(_subset(program, without)):
                kept = without
            else:
                at += chunk
        if len(kept) == before and chunk == 1:
            break
        if len(kept) == before:
            chunk //= 2
        chunk = max(1, min(chunk, len(kept)))
    return _subset(program, kept)


def _subset(program: Program, indices: Sequence[int]) -> Program:
    places = [*indices, len(program.instructions) - 1]
    return replace(
        program,
        instructions=tuple(program.instructions[place] for place in places),
        origins=tuple(program.origins[place] for place in places),
    )


def _smaller_fields(program: Program, fails: Fails) -> Program:
    """Return the program with every number as near to its smallest value as the failure allows, and without tokens."""
    for index in range(len(program.instructions)):
        for move in _MOVES:
            current = program.instructions[index]
            changed = move(current)
            if changed != current and fails(_with(program, index, changed)):
                program = _with(program, index, changed)
    return program


def _set(name: str, value: int) -> Callable[[Instruction], Instruction]:
    def move(instruction: Instruction) -> Instruction:
        if name not in {entry.name for entry in fields(instruction)}:
            return instruction
        return replace(instruction, **{name: value})  # type: ignore[arg-type]  # a field that holds a number

    return move


def _without(flag: str) -> Callable[[Instruction], Instruction]:
    def move(instruction: Instruction) -> Instruction:
        return replace(instruction, deps=replace(instruction.deps, **{flag: False}))

    return move


def _one_uop(instruction: Instruction) -> Instruction:
    if isinstance(instruction, Gemm | Alu) and instruction.uop_end > instruction.uop_bgn + 1:
        return replace(instruction, uop_end=instruction.uop_bgn + 1)
    return instruction


_FACTORS = ("dst_factor_in", "dst_factor_out", "src_factor_in", "src_factor_out", "wgt_factor_in", "wgt_factor_out")
_MOVES = (
    *(_set(name, 1) for name in ("x_size", "y_size", "iter_in", "iter_out", "x_stride")),
    *(_set(name, 0) for name in ("sram_base", "x_pad_0", "x_pad_1", "y_pad_0", "y_pad_1", "imm", *_FACTORS)),
    _one_uop,
    *(_without(flag) for flag in ("pop_prev", "pop_next", "push_prev", "push_next")),
)
"""Ways to make an instruction smaller, tried in this order."""


def _with(program: Program, index: int, instruction: Instruction) -> Program:
    instructions = list(program.instructions)
    instructions[index] = instruction
    return replace(program, instructions=tuple(instructions))


def _less_memory(program: Program, fails: Fails) -> Program:
    """Return the program without the segments and outputs that the failure does not need, the rest zero if possible."""
    for segment in program.memory.segments:
        for rest in ((), (replace(segment, data=bytes(segment.nbytes)),)):
            segments = tuple(s for s in program.memory.segments if s.address != segment.address) + rest
            candidate = replace(program, memory=MemoryImage(segments=segments, outputs=program.memory.outputs))
            if fails(candidate):
                program = candidate
                break
    without = replace(program, memory=MemoryImage(segments=program.memory.segments))
    return without if fails(without) else program
