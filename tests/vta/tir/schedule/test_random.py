"""Random primitives in random order: whatever is accepted leaves the numbers as they were."""

import random

import pytest

from bench.host_fuzz import difference
from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from tests.support.compiler.random_block_schedules import random_block_schedule


@pytest.mark.parametrize("seed", range(100))
def test_random_schedules_compute_the_same(seed: int) -> None:
    rng = random.Random(seed)
    func, inputs, expected = rng.choice([gemm_relu, pipeline])()
    sch, done = random_block_schedule(rng, func)
    assert done >= 3
    check(sch.func, inputs, expected, compiled=seed % 6 == 0)


@pytest.mark.parametrize("seed", [1, 2])
def test_random_steps_on_small_sums_compute_the_same(seed: int) -> None:
    for index in range(12):
        assert difference(seed, index, kind="sums") is None
