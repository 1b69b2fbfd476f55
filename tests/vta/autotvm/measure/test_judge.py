"""What results are judged by: numpy for operators, the definition for other templates."""

import numpy as np
import pytest

import vta
from tests.support.configs import CONFIGS
from vta import autotvm, te
from vta.autotvm.measure.judge import case_of
from vta.autotvm.task import create, extract_from_operators
from vta.topi import Conv2d
from vta.topi.core.epilogue import Bias, Clip, ShiftRight


@pytest.mark.parametrize("config", CONFIGS)
def test_an_operator_is_judged_by_its_meaning_in_numpy(config: str) -> None:
    env = vta.Environment(CONFIGS[config])
    layer = Conv2d(1, 20, 5, 5, 24, (3, 3), epilogue=(ShiftRight(4), Bias(), Clip(-8, 7)), fold=(1, 1))
    [task] = extract_from_operators([layer], env=env)
    operator = task.operator
    assert operator is not None
    choice = task.config_space.get(next(task.config_space.valid_indices()))
    schedule, args = task.instantiate(choice)
    case = case_of(task, args)
    again = case_of(task, args)
    assert all(np.array_equal(one, two) for one, two in zip(case.arrays, again.arrays, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(case.arrays, case_of(task, args, seed=1).arrays, strict=True))
    with env:
        module = vta.build(schedule, list(args))
        place = vta.nd.ext_dev(0)
        out = vta.nd.empty(tuple(map(int, args[-1].shape)), str(args[-1].dtype), place)
        module(*(vta.nd.array(v, place, dtype=str(t.dtype)) for v, t in zip(case.arrays, args, strict=False)), out)
    assert case.is_right(out.numpy())
    wrong = out.numpy()
    wrong.flat[0] += 1
    assert not case.is_right(wrong)


@autotvm.template("test_judge.square")
def square(size: int) -> tuple[te.Schedule, list[te.Tensor]]:
    cfg = autotvm.get_config()
    cfg.define_split("tile", size)
    a = te.placeholder((size,), name="a", dtype="int32")
    b = te.compute((size,), lambda i: a(i) * a(i), name="b")
    return te.create_schedule(b.op), [a, b]


def test_another_template_is_judged_by_its_definition() -> None:
    task = create("test_judge.square", (8,))
    _, args = task.instantiate(task.config_space.get(0))
    case = case_of(task, args)
    assert case.is_right(case.arrays[0] ** 2)
    assert not case.is_right(case.arrays[0] ** 2 + 1)
