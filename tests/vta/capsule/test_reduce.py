"""Reduction: planted failures of three kinds end under ten instructions, and fail in the same way."""

from dataclasses import replace

import numpy as np
import pytest

from isa.instructions import Gemm, Store
from isa.program import Program
from tests.support.recorded_runs import some_program
from vta.capsule import Capsule, Machine, reduce_capsule, run_launches

MACHINE = Machine("sim")


def long_program() -> Program:
    return max((some_program(seed) for seed in range(30)), key=lambda program: len(program.instructions))


def deadlock(program: Program) -> Program:
    """Drop the tokens that a module gives to the next one, in the middle."""
    givers = [at for at, i in enumerate(program.instructions) if i.deps.push_next]
    at = givers[len(givers) // 2]
    broken = replace(program.instructions[at], deps=replace(program.instructions[at].deps, push_next=False))
    return changed(program, at, broken)


def out_of_bounds(program: Program) -> Program:
    """Have a store read beyond the accumulator."""
    at = max(at for at, i in enumerate(program.instructions) if isinstance(i, Store) and i.x_size)
    return changed(program, at, replace(program.instructions[at], sram_base=program.config.acc_depth - 1, x_size=40))


def bad_loop(program: Program) -> Program:
    """Have a GEMM run beyond the accumulator."""
    at = max(at for at, i in enumerate(program.instructions) if isinstance(i, Gemm) and i.uop_end > i.uop_bgn)
    return changed(program, at, replace(program.instructions[at], iter_out=100, iter_in=1, dst_factor_out=2000))


def changed(program: Program, at: int, instruction: object) -> Program:
    instructions = list(program.instructions)
    instructions[at] = instruction  # type: ignore[call-overload]
    return replace(program, instructions=tuple(instructions))


@pytest.mark.parametrize("plant", [deadlock, out_of_bounds, bad_loop])
def test_a_planted_failure_ends_under_ten_instructions(plant: object) -> None:
    assert callable(plant)
    program = plant(long_program())
    assert len(program.instructions) >= 30
    capsule = Capsule(MACHINE, (some_program(2), program), tuple(run_launches(MACHINE, (some_program(2), program))))
    assert capsule.outcomes[-1].failed
    said: list[str] = []
    small = reduce_capsule(capsule, progress=said.append)
    assert len(small.programs) == 1
    assert len(small.programs[-1].instructions) < 10
    assert small.outcomes[-1].signature == capsule.outcomes[-1].signature
    assert run_launches(MACHINE, small.programs)[-1] == small.outcomes[-1]
    assert said[0] == "1 of 2 launches are needed"
    assert sum(len(s.data) for s in small.programs[-1].memory.segments) <= sum(
        len(s.data) for s in program.memory.segments
    )


def test_what_does_not_fail_is_refused() -> None:
    program = some_program(1)
    capsule = Capsule(MACHINE, (program,), tuple(run_launches(MACHINE, (program,))))
    with pytest.raises(ValueError, match=r"^the capsule's launches all finish, so there is no failure to keep"):
        reduce_capsule(capsule)
    outcome = replace(capsule.outcomes[0], kind="DeadlockError", message="deadlock: once")
    with pytest.raises(ValueError, match=r"^the failure does not happen again on this machine, so nothing can be"):
        reduce_capsule(replace(capsule, outcomes=(outcome,)))


def test_the_numbers_of_a_message_do_not_tell_failures_apart() -> None:
    program = some_program(1)
    [outcome] = run_launches(MACHINE, (program,))
    a = replace(outcome, kind="ExecutionError", message="instruction 7: bytes 0x10 to 0x1f are out of range")
    b = replace(outcome, kind="ExecutionError", message="instruction 0: bytes 0x400 to 0x41f are out of range")
    assert a.signature == b.signature == "ExecutionError: instruction N: bytes N to N are out of range"
    assert np.array_equal([a.failed, outcome.failed], [True, False])
