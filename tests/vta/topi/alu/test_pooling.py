from dataclasses import replace

import numpy as np
import pytest

from tests.support.compiler.random_operators import check, environment
from tests.support.configs import CONFIGS
from tests.support.turns import in_turn
from vta.topi.alu.division import Rounding
from vta.topi.alu.elementwise import Elementwise
from vta.topi.alu.pooling import AveragePool2d, MaxPool2d
from vta.topi.core.epilogue import Bias, Clip, Relu, Residual, ShiftLeft
from vta.topi.core.operator import OperatorError, compile  # noqa: A004  # what it does

MAXIMA = [
    MaxPool2d(1, 48, 7, 7, (3, 3), (2, 2), (1, 1, 1, 1)),
    MaxPool2d(2, 5, 9, 12, (2, 3), (2, 1), (0, 1, 1, 0), epilogue=(Bias(), Residual(), Clip(-128, 127))),
    MaxPool2d(1, 20, 11, 10, (3, 2), (2, 3), (1, 0, 1, 1), (2, 1), ceil_mode=True),
    MaxPool2d(1, 33, 13, 13, (5, 5), (1, 1), (2, 2, 2, 2)),
    MaxPool2d(3, 17, 6, 5, (6, 5), dtype="int32"),
    MaxPool2d(1, 16, 6, 6, (2, 2), (2, 2), (1, 1, 1, 1), dtype="int32", epilogue=(ShiftLeft(1),)),
]
AVERAGES = [
    AveragePool2d(1, 48, 7, 7, (7, 7)),
    AveragePool2d(1, 48, 7, 7, (7, 7), epilogue=(Relu(),)),
    AveragePool2d(2, 20, 8, 8, (2, 2), (2, 2)),
    AveragePool2d(1, 20, 9, 9, (3, 3), (2, 2), (1, 1, 1, 1)),
    AveragePool2d(1, 20, 9, 9, (3, 3), (2, 2), (1, 1, 1, 1), count_include_pad=True),
    AveragePool2d(1, 20, 10, 9, (3, 2), (2, 2), (0, 1, 1, 0), ceil_mode=True, count_include_pad=True),
    AveragePool2d(1, 20, 9, 9, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2)),
    AveragePool2d(1, 7, 31, 31, (31, 31)),
    AveragePool2d(1, 40, 13, 13, (7, 7), (1, 1), (3, 3, 3, 3), count_include_pad=True),
]


@pytest.mark.parametrize("number", range(len(MAXIMA)))
def test_max_pooling_is_that_of_numpy(number: int) -> None:
    for config in [[*CONFIGS][number % 5], [*CONFIGS][(number + 2) % 5]]:
        check(MAXIMA[number], config, seed=number)


@pytest.mark.parametrize(("number", "rounding"), in_turn(range(len(AVERAGES)), Rounding, quick=1))
def test_average_pooling_is_that_of_numpy(number: int, rounding: Rounding) -> None:
    operator = replace(AVERAGES[number], rounding=rounding)
    check(operator, [*CONFIGS][(number + [*Rounding].index(rounding)) % 5], seed=number)


@pytest.mark.parametrize("engine", ["reference", "tsim"])
def test_other_engines_give_the_same(engine: str) -> None:
    check(MAXIMA[0], "default", engine=engine)
    check(AVERAGES[3], "default", engine=engine)


@pytest.mark.parametrize("config", CONFIGS)
def test_br_107_pads_never_win_and_relu6_follows(config: str) -> None:
    rng = np.random.default_rng(107)
    data = rng.integers(-128, 0, (1, 48, 7, 7)).astype(np.int8)
    env = environment(config)
    pool = compile(MaxPool2d(1, 48, 7, 7, (3, 3), (2, 2), (1, 1, 1, 1)), env)
    padded = np.pad(data, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-128)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    expected = windows.max(axis=(4, 5))
    assert (expected < 0).all()
    np.testing.assert_array_equal(pool(data), expected)
    relu6 = compile(Elementwise((1, 48, 4, 4), (Clip(0, 6),)), env)
    positive = rng.integers(-20, 20, (1, 48, 4, 4)).astype(np.int8)
    np.testing.assert_array_equal(relu6(positive), np.clip(positive, 0, 6))
    np.testing.assert_array_equal(relu6(expected), np.zeros_like(expected))


def test_an_average_of_ones_is_one_whatever_the_pads() -> None:
    ones = np.ones((1, 16, 5, 5), np.int8)
    env = environment("default")
    apart = AveragePool2d(1, 16, 5, 5, (3, 3), (1, 1), (1, 1, 1, 1), epilogue=())
    assert (compile(apart, env)(ones) == 1).all()
    with_pads = AveragePool2d(1, 16, 5, 5, (3, 3), (1, 1), (1, 1, 1, 1), count_include_pad=True)
    np.testing.assert_array_equal(
        compile(with_pads, env)(9 * ones)[0, 0], [[4, 6, 6, 6, 4], *[[6, 9, 9, 9, 6]] * 3, [4, 6, 6, 6, 4]]
    )


def test_windows_of_pads_alone_are_refused() -> None:
    with pytest.raises(OperatorError) as caught:
        MaxPool2d(1, 16, 5, 5, (2, 2), padding=(2, 0, 0, 0))
    assert str(caught.value) == (
        "MaxPool2d: window 0 along height has pads alone (kernel 2, pads 2 and 0, dilation 1); use pads smaller than "
        "the window"
    )
    with pytest.raises(OperatorError):
        AveragePool2d(1, 16, 1, 5, (2, 1), padding=(1, 0, 2, 0), dilation=(3, 1))
