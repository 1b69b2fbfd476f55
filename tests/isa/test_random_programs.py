"""The programs that the fuzzers run are valid: any order of execution that tokens allow gives the same memory."""

from collections import deque

import numpy as np
import pytest

from isa.check.checker import is_valid
from isa.instructions import Alu, AluOpcode, Load, MemoryId, Module
from isa.program import Program
from isa.reference import Reference, execute
from isa.tokens import TokenQueue, pops, pushes, token_order
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program
from tests.support.odd_configs import ODD_CONFIGS

PROGRAMS = 20
ALL = {**CONFIGS, **ODD_CONFIGS}


def _run_in_any_order(program: Program, rng: np.random.Generator) -> Reference:
    """Step a random ready module until all are through."""
    machine = Reference(program.config, program.dram())
    queues = {module: deque(i for i in program.instructions if i.module == module) for module in Module}
    tokens = dict.fromkeys(TokenQueue, 0)
    while any(queues.values()):
        ready = [
            module
            for module, queue in queues.items()
            if queue and all(tokens[token] for token in pops(module, queue[0].deps))
        ]
        module = ready[int(rng.integers(len(ready)))]
        instruction = queues[module].popleft()
        for token in pops(module, instruction.deps):
            tokens[token] -= 1
        machine.step(instruction)
        for token in pushes(module, instruction.deps):
            tokens[token] += 1
    return machine


@pytest.mark.parametrize("name", CONFIGS)
def test_every_order_that_tokens_allow_gives_the_same_memory(name: str) -> None:
    for seed in range(PROGRAMS):
        rng = np.random.default_rng([seed, 20])
        program = random_program(rng, CONFIGS[name])
        expected = execute(program)
        machine = _run_in_any_order(program, rng)
        assert np.array_equal(machine.memory, expected.memory), f"seed {seed}"
        assert np.array_equal(machine.acc, expected.acc), f"seed {seed}"


@pytest.mark.parametrize("name", ALL)
def test_the_smallest_ready_index_first_is_program_order(name: str) -> None:
    for seed in range(5):
        program = random_program(np.random.default_rng(seed), ALL[name])
        order = token_order(program.instructions)
        assert order.executed == tuple(range(len(program.instructions)))
        assert is_valid(program, memory_bytes=program.dram().size)


def test_every_operation_is_drawn_in_both_forms_and_every_memory_is_loaded() -> None:
    programs = [random_program(np.random.default_rng(seed), CONFIGS["default"]) for seed in range(PROGRAMS)]
    drawn = [instruction for program in programs for instruction in program.instructions]
    forms = {(entry.alu_opcode, entry.use_imm) for entry in drawn if isinstance(entry, Alu)}
    assert forms == {(opcode, use_imm) for opcode in AluOpcode for use_imm in (False, True)}
    assert {entry.memory for entry in drawn if isinstance(entry, Load)} == {*MemoryId} - {MemoryId.OUT}


def test_the_same_seed_gives_the_same_program() -> None:
    first, second = (random_program(np.random.default_rng(7), CONFIGS["default"]) for _ in range(2))
    assert first == second
