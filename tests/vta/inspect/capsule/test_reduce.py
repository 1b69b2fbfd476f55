"""Reduction: planted failures of four kinds, in big compiled programs, end under ten instructions and fail alike."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from isa.check.checker import check
from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Gemm, Instruction, Load, MemoryId, Store
from isa.program import Program
from runtime.memory.device_memory import FIRST_ADDRESS, DeviceMemory
from runtime.session import Session
from tests.support.compiler.tutorial_programs import tutorial_program
from tests.support.faults.engine_faults import EngineFault, FaultyDevice
from tests.support.golden.golden import load_case
from tests.support.golden.golden_program import golden_program
from tests.support.runtime.recorded_runs import some_program
from vta.inspect.capsule import Capsule, DeviceSpec, reduce_capsule, replay, run_launches
from vta.inspect.capsule.failures import fails_alike
from vta.inspect.capsule.reduce import reduce_program

SPEC = DeviceSpec("sim")


@dataclass(frozen=True, slots=True)
class FaultySpec(DeviceSpec):
    """A machine whose engine has a fault."""

    fault: EngineFault = field(kw_only=True)

    def session(self, config: VTAConfig) -> Session:
        return Session(config, FaultyDevice(config, DeviceMemory(1 << 29), self.fault))


@pytest.fixture(scope="module")
def layer() -> Program:
    """The matrix multiplication in blocks, as the compiler makes it: 142 instructions and a megabyte of data."""
    return tutorial_program("matrix_multiply_blocked")


@pytest.fixture(scope="module")
def big() -> Program:
    """The convolution tutorial with two virtual threads."""
    program = golden_program(load_case("default", "tut.convolution_opt"))
    assert len(program.instructions) > 3000
    return program


def capsule_of(spec: DeviceSpec, *programs: Program) -> Capsule:
    return Capsule(spec, programs, tuple(run_launches(spec, programs)))


def deadlock(program: Program) -> Program:
    """Drop the tokens that a module gives to the next one, in the middle."""
    givers = [at for at, i in enumerate(program.instructions) if i.deps.push_next]
    at = givers[len(givers) // 2]
    broken = replace(program.instructions[at], deps=replace(program.instructions[at].deps, push_next=False))
    return changed(program, at, broken)


def store_out_of_bounds(program: Program) -> Program:
    """Have a store read beyond the accumulator."""
    at, last = [(at, i) for at, i in enumerate(program.instructions) if isinstance(i, Store) and i.x_size][-1]
    return changed(program, at, replace(last, sram_base=program.config.acc_depth - 1, x_size=40))


def loop_out_of_bounds(program: Program) -> Program:
    """Have a GEMM run beyond the accumulator."""
    at, last = [(at, i) for at, i in enumerate(program.instructions) if isinstance(i, Gemm) and i.uop_end > i.uop_bgn][
        -1
    ]
    return changed(program, at, replace(last, iter_out=100, iter_in=1, dst_factor_out=2000))


def changed(program: Program, at: int, instruction: Instruction) -> Program:
    instructions = list(program.instructions)
    instructions[at] = instruction
    return replace(program, instructions=tuple(instructions))


@pytest.mark.parametrize(
    ("plant", "message"),
    [
        (deadlock, r"deadlock: load: instruction \d+ waits for a token compute->load; "),
        (store_out_of_bounds, r"instruction \d: OUT elements 2047 to 2\d+ are out of range, the buffer has 2048 "),
        (loop_out_of_bounds, r"instruction \d: accumulator index \d+ is out of range, the buffer has 2048 elements"),
    ],
)
def test_a_planted_failure_ends_under_ten_instructions(
    big: Program, plant: Callable[[Program], Program], message: str
) -> None:
    program = plant(big)
    capsule = capsule_of(SPEC, some_program(2), program)
    said: list[str] = []
    small = reduce_capsule(capsule, progress=said.append)
    assert len(small.programs) == 1
    assert len(small.programs[-1].instructions) < 10
    assert re.match(message, small.outcomes[-1].message)
    assert small.outcomes[-1].signature == capsule.outcomes[-1].signature
    assert run_launches(SPEC, small.programs)[-1] == small.outcomes[-1]
    assert said[0] == "1 of 2 launches are needed"
    assert sum(len(s.data) for s in small.programs[-1].memory.segments) <= 64


def shift_fault() -> EngineFault:
    """Have shifts to the right go one place less."""

    def change(entry: Instruction) -> Instruction:
        if isinstance(entry, Alu) and entry.alu_opcode == AluOpcode.SHR:
            return replace(entry, imm=entry.imm - 1)
        return entry

    return EngineFault("shift", change)


def stride_fault() -> EngineFault:
    """Have loads of several rows of weights take them to be dense."""

    def change(entry: Instruction) -> Instruction:
        if isinstance(entry, Load) and entry.memory == MemoryId.WGT and entry.y_size > 1:
            return replace(entry, x_stride=entry.x_size)
        return entry

    return EngineFault("stride", change)


@pytest.mark.parametrize("fault", [shift_fault(), stride_fault()], ids=lambda fault: fault.text)
def test_a_wrong_result_ends_under_ten_instructions(layer: Program, fault: EngineFault) -> None:
    spec = FaultySpec("faulty", fault=fault)
    capsule = capsule_of(spec, some_program(2), layer)
    assert not capsule.outcomes[-1].failed
    said: list[str] = []
    small = reduce_capsule(capsule, progress=said.append)
    assert said[0] == "launch 1 leaves another memory than on the reference interpreter"
    [program] = small.programs
    assert len(program.instructions) < 10
    assert sum(len(s.data) for s in layer.memory.segments) > 1 << 20
    assert sum(len(s.data) for s in program.memory.segments) < 1 << 15
    [difference] = replay(small)
    assert difference.startswith("launch 0: memory differs afterwards: expected digest ")
    assert replay(replace(small, spec=SPEC)) == []  # a sound engine gives what the small capsule expects
    assert check(program, first_address=FIRST_ADDRESS) == []


def test_what_does_not_fail_is_refused() -> None:
    capsule = capsule_of(SPEC, some_program(1))
    with pytest.raises(ValueError, match="no failure to keep") as caught:
        reduce_capsule(capsule)
    assert str(caught.value) == (
        "the capsule's launches all finish, with the memory that the reference interpreter leaves, so there is no "
        "failure to keep; reduce one that fails"
    )
    outcome = replace(capsule.outcomes[0], kind="DeadlockError", message="deadlock: once")
    with pytest.raises(ValueError, match=r"^the failure does not happen again on this machine, so nothing can be"):
        reduce_capsule(replace(capsule, outcomes=(outcome,)))


def test_the_numbers_of_a_message_do_not_tell_failures_apart() -> None:
    program = some_program(1)
    [outcome] = run_launches(SPEC, (program,))
    a = replace(outcome, kind="ExecutionError", message="instruction 7: bytes 0x10 to 0x1f are out of range")
    b = replace(outcome, kind="ExecutionError", message="instruction 0: bytes 0x400 to 0x41f are out of range")
    assert a.signature == b.signature == "ExecutionError: instruction N: bytes N to N are out of range"
    assert [a.failed, outcome.failed] == [True, False]


def test_an_interrupted_reduction_gives_the_smallest_program_so_far(layer: Program) -> None:
    wrong, tries = deadlock(layer), 0
    capsule = capsule_of(SPEC, wrong)
    fails = fails_alike(capsule, ())

    def impatient(program: Program) -> bool:
        nonlocal tries
        tries += 1
        if tries == 12:
            raise KeyboardInterrupt
        return fails(program)

    said: list[str] = []
    small = reduce_program(wrong, impatient, progress=said.append)
    count = len(small.instructions)
    assert tries == 12
    assert 4 < count < len(wrong.instructions)
    assert fails(small)
    assert said == [f"interrupted: {count} instructions is the smallest so far"]
