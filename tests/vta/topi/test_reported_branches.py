"""A report in full, as far as operators go: the sum of quantised branches is rescaled, then narrowed, never cut.

Inputs run from 0 to 4 at a scale of 4/127; weights of one are 64 with a shift by 6. The residual is added in 32 bits.
"""

import dataclasses

import numpy as np
import pytest

import vta
from vta.topi.alu.pooling import AveragePool2d
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import Bias, Clip, Epilogue, Requantise, Residual, RoundingShift
from vta.topi.core.operator import compile  # noqa: A004

SHAPE = (1, 16, 8, 8)
SCALE = 4 / 127
INPUT = np.linspace(0, 4, 1024).reshape(SHAPE)
QUANTISED = np.round(INPUT / SCALE).astype(np.int8)
ONE = (np.eye(16) * 64).astype(np.int8).reshape(16, 16, 1, 1)
WHOLE = Clip(-127, 127)


def identity(steps: Epilogue) -> Conv2d:
    return Conv2d(1, 16, 8, 8, 16, (1, 1), epilogue=(RoundingShift(6), *steps))


def on_every_engine(operator: Conv2d | AveragePool2d, *arrays: np.ndarray) -> np.ndarray:
    """Return the result, which numpy and all engines must agree on."""
    expected = operator.reference(*arrays)
    for target in ("sim", "reference", "tsim"):
        env = vta.Environment(dataclasses.replace(vta.get_env().config, target=target))
        np.testing.assert_array_equal(compile(operator, env)(*arrays), expected)
    return expected


def check(result: np.ndarray, scale: float, expected: np.ndarray) -> None:
    real = result.astype(np.float64) * scale
    assert np.abs(real - expected).max() <= 0.25
    assert (np.diff(real.reshape(-1)) >= 0).all()
    assert (real >= 0).all()


def test_br_132_the_sum_of_two_branches_is_rescaled_before_it_is_narrowed() -> None:
    branch = on_every_engine(identity((WHOLE,)), QUANTISED, ONE)
    np.testing.assert_array_equal(branch, QUANTISED)
    total = on_every_engine(identity((Residual(), RoundingShift(1), WHOLE)), QUANTISED, ONE, branch)
    check(on_every_engine(identity((WHOLE,)), total, ONE), 2 * SCALE, 2 * INPUT)


def test_br_132_three_branches() -> None:
    thirds = Requantise(multiplier=21845, shift=16)
    total = on_every_engine(identity((Residual(), Residual(), thirds, WHOLE)), QUANTISED, ONE, QUANTISED, QUANTISED)
    check(on_every_engine(identity((WHOLE,)), total, ONE), 3 * SCALE, 3 * INPUT)


def test_br_132_a_constant_for_each_channel() -> None:
    constant = np.linspace(0, 4, 16)
    bias = np.round(constant / SCALE).astype(np.int32)
    total = on_every_engine(identity((Bias(), RoundingShift(1), WHOLE)), QUANTISED, ONE, bias)
    check(total, 2 * SCALE, INPUT + constant.reshape(1, 16, 1, 1))


def test_br_132_a_sum_that_is_averaged() -> None:
    total = on_every_engine(identity((Residual(), RoundingShift(1), WHOLE)), QUANTISED, ONE, QUANTISED)
    mean = on_every_engine(AveragePool2d(1, 16, 8, 8, (8, 8)), total)
    check(mean, 2 * SCALE, 2 * INPUT.mean(axis=(2, 3), keepdims=True))


@pytest.mark.parametrize("step", [RoundingShift(1), Requantise(1, 1)])
def test_br_132_the_largest_sum_is_the_largest_number(step: RoundingShift | Requantise) -> None:
    most = np.full(SHAPE, 127, np.int8)
    assert (on_every_engine(identity((Residual(), step, WHOLE)), most, ONE, most) == 127).all()
