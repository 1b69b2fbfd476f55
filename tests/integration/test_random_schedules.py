"""Random schedules against numpy, on every configuration: a sample always, 200 of them with `make test-long`."""

from collections.abc import Callable

import numpy as np
import pytest

import vta
from tests.support.compiler.random_schedules import Case, random_alu, random_gemm
from tests.support.configs import CONFIGS
from vta.environment import Environment
from vta.passes.alu.kinds import AluKind

GENERATORS = {"gemm": random_gemm, "alu": random_alu}
SAMPLE, ALL = range(6), range(6, 100)


def run_and_compare(env: Environment, make: Callable[[Environment, int], Case], seed: int) -> None:
    with env:
        case = make(env, seed)
        function = vta.build(case.schedule, case.args, target=env.target, name="random_program")
        device = vta.rpc.LocalSession().ext_dev(0)
        inputs = [vta.nd.array(data, device) for data in case.inputs]
        guard = np.full(case.expected.shape, 0x55, dtype=case.expected.dtype)
        output = vta.nd.array(guard, device)
        function(*inputs, output)
        np.testing.assert_array_equal(output.numpy(), case.expected, err_msg=case.text)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("seed", SAMPLE)
def test_a_random_schedule_equals_numpy(config: str, kind: str, seed: int) -> None:
    run_and_compare(Environment(CONFIGS[config]), GENERATORS[kind], seed)


def test_every_operation_of_the_compiler_is_drawn() -> None:
    env = Environment(CONFIGS["default"])
    with env:
        texts = [random_alu(env, seed).text for seed in range(20)]
    assert [kind for kind in AluKind if not any(f"{kind.name} " in text for text in texts)] == []


@pytest.mark.long
@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("kind", GENERATORS)
def test_a_hundred_random_schedules_equal_numpy(config: str, kind: str) -> None:
    env = Environment(CONFIGS[config])
    for seed in (*SAMPLE, *ALL):
        run_and_compare(env, GENERATORS[kind], seed)
