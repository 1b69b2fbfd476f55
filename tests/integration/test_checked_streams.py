"""The compiler's own output has no races, no missing tokens and no reads of what nothing wrote."""

from collections.abc import Callable

import numpy as np
import pytest

import vta
from runtime.session import Session
from tests.support.compiler.random_schedules import Case, random_alu, random_gemm
from tests.support.configs import CONFIGS
from tests.support.golden.spine_cases import (
    Scheduled,
    blocked_matrix_multiply,
    gemm_benchmark,
    gemm_instruction,
    matrix_multiply,
    vector_add,
)  # fmt: skip
from tests.support.runtime.checked_launches import launch_errors
from vta.nd import EXT_DEV, Device, array, empty

SCHEDULES: dict[str, Callable[[vta.Environment], Scheduled]] = {
    "vector_add": vector_add,
    "matrix_multiply": matrix_multiply,
    "blocked_matrix_multiply": blocked_matrix_multiply,
    "gemm_benchmark": lambda env: gemm_benchmark(env, 128, "normal"),
    "gemm_instruction": lambda env: gemm_instruction(env, threads=False),
    "gemm_with_threads": lambda env: gemm_instruction(env, threads=True),
}
GENERATORS = {"gemm": random_gemm, "alu": random_alu}
SAMPLE, ALL = range(100, 102), range(102, 200)


TUTORIALS = [
    (name, config)
    for name in SCHEDULES
    for config in CONFIGS
    if (name, CONFIGS[config].batch) != ("blocked_matrix_multiply", 2)  # it has one row
]


@pytest.mark.parametrize(("name", "config"), TUTORIALS)
def test_a_tutorial_is_in_order(name: str, config: str) -> None:
    env = vta.Environment(CONFIGS[config])
    session = Session(env.config, "sim", record=True)
    with env:
        scheduled = SCHEDULES[name](env)
        module = vta.build(scheduled.schedule, scheduled.args)
    place = Device(EXT_DEV, 0, session)
    shapes = [[int(e) for e in t.shape] for t in scheduled.args]
    arrays = [empty(shape, t.dtype, place) for shape, t in zip(shapes, scheduled.args, strict=True)]
    module(*arrays)
    assert launch_errors(session) == []


def errors_of_random_schedule(config: str, make: Callable[[vta.Environment, int], Case], seed: int) -> list[str]:
    env = vta.Environment(CONFIGS[config])
    session = Session(env.config, "sim", record=True)
    place = Device(EXT_DEV, 0, session)
    with env:
        case = make(env, seed)
        module = vta.build(case.schedule, case.args)
    arrays = [array(data, place) for data in (*case.inputs, np.zeros_like(case.expected))]
    module(*arrays)
    return launch_errors(session)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("kind", GENERATORS)
def test_random_schedules_are_in_order(config: str, kind: str) -> None:
    for seed in SAMPLE:
        assert errors_of_random_schedule(config, GENERATORS[kind], seed) == [], f"seed {seed}"


@pytest.mark.long
@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("kind", GENERATORS)
def test_a_hundred_random_schedules_are_in_order(config: str, kind: str) -> None:
    for seed in ALL:
        assert errors_of_random_schedule(config, GENERATORS[kind], seed) == [], f"seed {seed}"
