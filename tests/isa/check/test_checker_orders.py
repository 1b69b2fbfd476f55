"""What the checker passes gives one result in every order that queues and tokens allow; valid programs are passed."""

from dataclasses import replace

import numpy as np
import pytest

from isa.check.checker import FindingKind, Severity, check
from isa.instructions import Module
from isa.program import Program
from tests.support.configs import CONFIGS
from tests.support.hw.small_designs import SMALL_DESIGNS
from tests.support.isa.execution_orders import dram_after
from tests.support.isa.random_programs import random_program

FLAGS = {
    Module.LOAD: ("pop_next", "push_next"),
    Module.COMPUTE: ("pop_prev", "pop_next", "push_prev", "push_next"),
    Module.STORE: ("pop_prev", "push_prev"),
}
ORDERS = 12


def drawn(seed: int) -> tuple[Program, Program]:
    """Return a valid program, and the same with up to three token flags flipped."""
    rng = np.random.default_rng(seed)
    configs = [*CONFIGS.values(), *SMALL_DESIGNS.values()]
    program = random_program(rng, configs[seed % len(configs)], length=int(rng.integers(5, 40)))
    changed = list(program.instructions)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(changed)))
        entry = changed[place]
        flag = FLAGS[entry.module][int(rng.integers(len(FLAGS[entry.module])))]
        changed[place] = replace(entry, deps=replace(entry.deps, **{flag: not getattr(entry.deps, flag)}))
    return program, replace(program, instructions=tuple(changed))


def is_passed(program: Program) -> bool:
    """Whether the checker finds no error; a read of what nothing wrote gives zeros, and the same in every order."""
    found = check(program, first_address=0x1000)
    return not any(f.severity is Severity.ERROR and f.kind is not FindingKind.UNWRITTEN for f in found)


def results(program: Program) -> set[bytes | None]:
    """Return what is in DRAM after some orders of execution, None for one that cannot go on."""
    memories = (dram_after(program, np.random.default_rng(order)) for order in range(ORDERS))
    return {None if memory is None else memory.tobytes() for memory in memories}


def judge(seed: int) -> tuple[bool, int]:
    """Assert what holds for both programs of ``seed``; return whether the changed one is passed, and its results."""
    valid, changed = drawn(seed)
    assert is_passed(valid)
    assert len(results(valid)) == 1
    passed, found = is_passed(changed), results(changed)
    assert not passed or (len(found) == 1 and None not in found), f"seed {seed}"
    return passed, len(found)


def test_what_the_checker_passes_gives_one_result_in_every_order() -> None:
    outcomes = [judge(seed) for seed in range(60)]
    assert any(passed for passed, _ in outcomes)
    assert any(count > 1 for _, count in outcomes), "some of the changes matter"


@pytest.mark.long
def test_a_thousand_changes_of_tokens() -> None:
    for seed in range(60, 1060):
        judge(seed)
