"""Shrinking a capsule that fails or computes a wrong result: fewer launches, instructions, loops, micro-ops and bytes.

Delta debugging over the instructions (Zeller and Hildebrandt, 2002), then smaller fields, then memory without contents;
``vta.inspect.capsule.failures`` says what has to stay. FINISH stays, as every launch ends in it. Tests:
tests/vta/inspect/capsule/test_reduce.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace

from isa.instructions import Alu, Gemm, Instruction
from isa.program import MemoryImage, MemorySegment, Program
from vta.inspect.capsule.failures import Fails, expected_outcomes, fails_alike, gives_wrong_result, wrong_launch
from vta.inspect.capsule.model import Capsule, CapsuleError
from vta.inspect.capsule.replay import run_launches

__all__ = ["reduce_capsule", "reduce_program"]

Progress = Callable[[str], None]
"""Takes a line about how far the reduction has come."""


def reduce_capsule(capsule: Capsule, *, progress: Progress | None = None) -> Capsule:
    """Return a smaller capsule whose last launch fails with the same signature.

    If all launches finish, one whose memory is not the reference interpreter's is what stays, and the outcome of the
    small capsule has the right digest: it replays where the result is right. Raises ``CapsuleError`` if nothing fails.
    """
    if not capsule.outcomes[-1].failed:
        return _reduce_wrong_result(capsule, progress)
    earlier = capsule.programs[:-1]
    program = capsule.programs[-1]
    if not fails_alike(capsule, earlier)(program):
        raise CapsuleError("the failure does not happen again on this machine, so nothing can be reduced")
    for drop in (len(earlier), len(earlier) - 1):
        if drop > 0 and fails_alike(capsule, earlier[drop:])(program):
            earlier = earlier[drop:]
            break
    _tell(progress, f"{len(earlier) + 1} of {len(capsule.programs)} launches are needed")
    program = reduce_program(program, fails_alike(capsule, earlier), progress=progress)
    outcomes = tuple(run_launches(capsule.spec, (*earlier, program)))
    return replace(capsule, programs=(*earlier, program), outcomes=outcomes)


def _reduce_wrong_result(capsule: Capsule, progress: Progress | None) -> Capsule:
    spec = capsule.spec
    at = wrong_launch(spec, capsule.programs)
    if at is None:
        raise CapsuleError(
            "the capsule's launches all finish, with the memory that the reference interpreter leaves, so there is no "
            "failure to keep; reduce one that fails"
        )
    earlier, program = capsule.programs[:at], capsule.programs[at]
    if earlier and gives_wrong_result(spec, (), program)(program):
        earlier = ()
    _tell(progress, f"launch {at} leaves another memory than on the reference interpreter")
    program = reduce_program(program, gives_wrong_result(spec, earlier, program), progress=progress)
    programs = (*earlier, program)
    return replace(capsule, programs=programs, outcomes=expected_outcomes(spec, programs))


def reduce_program(program: Program, fails: Fails, *, progress: Progress | None = None) -> Program:
    """Return a smaller program for which ``fails`` still holds; ``program`` itself must fail.

    ``KeyboardInterrupt`` ends it early, with the smallest one so far.
    """
    smallest = program

    def noted(candidate: Program) -> bool:
        nonlocal smallest
        found = fails(candidate)
        smallest = candidate if found else smallest
        return found

    try:
        return _reduced(program, noted, progress)
    except KeyboardInterrupt:
        _tell(progress, f"interrupted: {len(smallest.instructions)} instructions is the smallest so far")
        return smallest


def _reduced(program: Program, fails: Fails, progress: Progress | None) -> Program:
    """Return the program without all that ``fails`` does not need; whatever fails is taken."""
    before = 0
    while before != len(program.instructions):
        before = len(program.instructions)
        program = _fewer_instructions(program, fails)
        _tell(progress, f"{len(program.instructions)} instructions")
        program = _smaller_fields(program, fails)
        program = _without_handing_over(program, fails)
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


def _without_handing_over(program: Program, fails: Fails) -> Program:
    """Return the program without instructions that are there for their tokens, which their neighbours take over."""
    for index in reversed(range(len(program.instructions) - 1)):
        candidate = _handed_over(program, index)
        if fails(candidate):
            program = candidate
    return program


def _handed_over(program: Program, index: int) -> Program:
    """Return the program without an instruction; those around it in its module have its pushes and pops."""
    instructions, deps = list(program.instructions), program.instructions[index].deps
    mine = [at for at, entry in enumerate(instructions) if entry.module == instructions[index].module]
    place = mine.index(index)
    if place > 0:
        giver = instructions[mine[place - 1]]
        pushes = replace(
            giver.deps,
            push_prev=giver.deps.push_prev or deps.push_prev,
            push_next=giver.deps.push_next or deps.push_next,
        )
        instructions[mine[place - 1]] = replace(giver, deps=pushes)
    if place + 1 < len(mine):
        taker = instructions[mine[place + 1]]
        pops = replace(
            taker.deps, pop_prev=taker.deps.pop_prev or deps.pop_prev, pop_next=taker.deps.pop_next or deps.pop_next
        )
        instructions[mine[place + 1]] = replace(taker, deps=pops)
    handed = replace(program, instructions=tuple(instructions))
    return _subset(handed, [at for at in range(len(instructions) - 1) if at != index])


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


def _first_uop(instruction: Instruction) -> Instruction:
    if isinstance(instruction, Gemm | Alu) and instruction.uop_end > instruction.uop_bgn:
        return replace(instruction, uop_bgn=0, uop_end=1)
    return instruction


def _one_uop(instruction: Instruction) -> Instruction:
    if isinstance(instruction, Gemm | Alu) and instruction.uop_end > instruction.uop_bgn + 1:
        return replace(instruction, uop_end=instruction.uop_bgn + 1)
    return instruction


_FACTORS = ("dst_factor_in", "dst_factor_out", "src_factor_in", "src_factor_out", "wgt_factor_in", "wgt_factor_out")
_MOVES = (
    *(_set(name, 1) for name in ("x_size", "y_size", "iter_in", "iter_out", "x_stride")),
    *(_set(name, 0) for name in ("sram_base", "x_pad_0", "x_pad_1", "y_pad_0", "y_pad_1", "imm", *_FACTORS)),
    _one_uop,
    _first_uop,
    *(_without(flag) for flag in ("pop_prev", "pop_next", "push_prev", "push_next")),
)
"""Ways to make an instruction smaller, tried in this order."""


def _with(program: Program, index: int, instruction: Instruction) -> Program:
    instructions = list(program.instructions)
    instructions[index] = instruction
    return replace(program, instructions=tuple(instructions))


def _less_memory(program: Program, fails: Fails) -> Program:
    """Return the program with only the segments and outputs that the failure needs, short or zero if possible."""
    for segment in program.memory.segments:
        others = tuple(s for s in program.memory.segments if s.address != segment.address)
        zero = replace(segment, data=bytes(segment.nbytes))
        for rest in ((), *((shorter,) for shorter in _shorter(segment)), (zero,)):
            candidate = replace(program, memory=MemoryImage(segments=(*others, *rest), outputs=program.memory.outputs))
            if fails(candidate):
                program = candidate
                break
    without = replace(program, memory=MemoryImage(segments=program.memory.segments))
    return _fewer_uops(without if fails(without) else program, fails)


def _fewer_uops(program: Program, fails: Fails) -> Program:
    """Return the program with the first micro-ops only, the fewest that will do of 0, 1, 2, 4 ..."""
    counts = [0, *(1 << bit for bit in range(len(program.uops).bit_length()))]
    shorter = (replace(program, uops=program.uops[:count]) for count in counts if count < len(program.uops))
    return next((candidate for candidate in shorter if fails(candidate)), program)


def _with_memory(program: Program, memory: MemoryImage) -> Program:
    return replace(program, memory=memory)


def _shorter(segment: MemorySegment) -> list[MemorySegment]:
    """Return beginnings of a segment, the shortest first; whole numbers of any type."""
    found, nbytes = [], segment.nbytes // 2 // _GRAIN * _GRAIN
    while nbytes:
        found.append(replace(segment, data=segment.data[:nbytes], shape=None))
        nbytes = nbytes // 2 // _GRAIN * _GRAIN
    return found[::-1]


_GRAIN = 16
"""A shortened segment has a multiple of this many bytes."""
