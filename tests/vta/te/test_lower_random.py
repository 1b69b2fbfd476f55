"""Random programs under random legal schedules give what numpy gives; the seed of each is its number."""

from random import Random
from typing import Any

import numpy as np
import pytest

from tests.support.compiler.te_programs import lower_and_run, random_program, random_schedule


def check(seed: int) -> None:
    rng = Random(seed)
    program = random_program(rng)
    func, result = lower_and_run(program, random_schedule(rng, program))
    assert np.array_equal(result, program.expected), f"seed {seed}:\n{func}"


@pytest.mark.parametrize("first", range(0, 500, 50))
def test_a_random_schedule_gives_what_numpy_gives(first: int) -> None:
    for seed in range(first, first + 50):
        check(seed)


@pytest.mark.parametrize("seed", [12189, 17615, 17769, 18640])
def test_a_schedule_that_once_went_wrong_stays_right(seed: int) -> None:
    check(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 21000, 1000))
def test_very_many_random_schedules_give_what_numpy_gives(first: Any) -> None:
    for seed in range(first, first + 1000):
        check(seed)
