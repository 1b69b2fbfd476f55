"""Random programs through the passes that every function takes: each leaves what the program computes as it is.

Any loop may be marked, also those whose iterations depend on each other: a pass must see that itself.
"""

from random import Random

import pytest

from isa.config import VTAConfig
from tests.support.compiler.host_programs import (
    check_native,
    check_result,
    lowered_step_by_step,
    marked,
    random_function,
    widened,
)
from vta.tir.stmt import ForKind


def check(seed: int) -> None:
    rng = Random(seed)
    program, func = random_function(rng)
    func = widened(rng, marked(rng, func)) if seed % 2 else marked(rng, func)
    for name, after in lowered_step_by_step(func, VTAConfig()):
        check_result(program, after, f"seed {seed} after {name}")


def check_machine_code(seed: int) -> None:
    rng = Random(seed)
    program, func = random_function(rng)
    for _, after in lowered_step_by_step(marked(rng, func, (ForKind.VECTORIZED,)), VTAConfig()):
        func = after
    check_native(program, func, f"seed {seed}")


@pytest.mark.parametrize("first", range(0, 24, 8))
def test_no_pass_changes_what_a_random_program_computes(first: int) -> None:
    for seed in range(first, first + 8):
        check(seed)


@pytest.mark.parametrize("seed", range(40, 45))
def test_machine_code_computes_what_the_random_program_does(seed: int) -> None:
    check_machine_code(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 1800, 100))
def test_no_pass_changes_what_very_many_random_programs_compute(first: int) -> None:
    for seed in range(first, first + 100):
        check(seed)
        if seed % 5 == 0:
            check_machine_code(seed)
