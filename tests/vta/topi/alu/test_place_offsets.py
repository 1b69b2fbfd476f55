"""What zero points add to sums of windows: nothing, a number, or a table of the places."""

import numpy as np
import pytest

from tests.support.compiler.random_operators import check, environment
from tests.support.configs import CONFIGS
from vta.topi.alu.place_offsets import PlaceOffsets
from vta.topi.alu.pooling import AveragePool2d, SumPool2d
from vta.topi.core.epilogue import Bias, Clip, RoundingShift
from vta.topi.core.fixed_point import FixedPoint, output_steps
from vta.topi.core.operator import OperatorError, compile  # noqa: A004

STEPS = (RoundingShift(3), Bias(), Clip(-128, 127))
SUMS = [
    SumPool2d(1, 40, 7, 7, (7, 7), epilogue=STEPS, zero_point=-128),
    SumPool2d(2, 20, 9, 8, (3, 3), (2, 1), (1, 1, 0, 1), epilogue=STEPS, zero_point=-3),
    SumPool2d(1, 17, 9, 9, (2, 2), (2, 2), ceil_mode=True, epilogue=STEPS, zero_point=100),
    SumPool2d(1, 33, 6, 6, (2, 2), (2, 2), epilogue=STEPS),
    SumPool2d(
        1,
        33,
        5,
        6,
        (2, 2),
        (2, 2),
        (1, 0, 0, 0),
        epilogue=STEPS,
        zero_point=7,
        row_factors=(3, 1, 2),
        column_factors=(1, 5, 4),
    ),
    SumPool2d(2, 17, 4, 4, (2, 2), (2, 2), epilogue=STEPS, column_factors=(3, 3)),
    AveragePool2d(1, 20, 9, 9, (3, 3), (2, 2), (1, 1, 1, 1), count_include_pad=True, zero_point=-128),
    AveragePool2d(1, 20, 9, 9, (3, 3), (2, 2), (1, 1, 1, 1), zero_point=5),
    AveragePool2d(1, 20, 9, 8, (3, 3), (2, 2), (1, 0, 1, 1), ceil_mode=True, count_include_pad=True, zero_point=9),
]


@pytest.mark.parametrize("number", range(len(SUMS)))
def test_zero_points_of_pools_are_those_of_numpy(number: int) -> None:
    for config in [[*CONFIGS][number % 5], [*CONFIGS][(number + 3) % 5]]:
        check(SUMS[number], config, seed=number)


def test_the_hardware_gives_the_same() -> None:
    check(SUMS[1], "default", engine="tsim")
    check(SUMS[4], "default", engine="tsim")
    check(SUMS[6], "default", engine="tsim")


def test_a_sum_takes_the_zero_point_off_each_cell_and_pads_add_nothing() -> None:
    data = np.full((1, 1, 2, 2), 10, np.int8)
    pool = SumPool2d(1, 1, 2, 2, (2, 2), (1, 1), (1, 1, 0, 0), zero_point=4)
    assert pool.reference(data).tolist() == [[[[6, 12], [12, 24]]]]


def test_a_sum_is_times_the_factors_of_its_row_and_its_column() -> None:
    data = np.full((1, 1, 2, 2), 3, np.int8)
    pool = SumPool2d(1, 1, 2, 2, (1, 1), row_factors=(1, 2), column_factors=(3, 5))
    assert pool.reference(data).tolist() == [[[[9, 15], [18, 30]]]]


def test_factors_are_one_for_each_row_and_column() -> None:
    with pytest.raises(OperatorError) as caught:
        SumPool2d(1, 1, 2, 2, (1, 1), row_factors=(1, 0))
    assert str(caught.value) == "SumPool2d: row_factors takes 2 numbers from 1 (window 0, window 1), not (1, 0)"


def test_pads_of_an_average_that_counts_them_are_the_zero_point() -> None:
    data = np.full((1, 1, 2, 2), -128, np.int8)
    pool = AveragePool2d(1, 1, 2, 2, (3, 3), (1, 1), (1, 1, 1, 1), count_include_pad=True, zero_point=-128)
    assert (pool.reference(data) == -128).all()


def test_a_global_average_of_another_scale_is_rounded_once() -> None:
    """As a quantised network has it: 49 cells, from scale and zero point to others."""
    rng = np.random.default_rng(3)
    scale = 0.021 / 0.017
    made = output_steps(FixedPoint.nearest(scale / 49), zero_point=-7)
    data = rng.integers(-128, 128, (1, 64, 7, 7)).astype(np.int8)
    got = compile(SumPool2d(1, 64, 7, 7, (7, 7), epilogue=made.steps, zero_point=-100), environment("default"))(data)
    exact = (data.astype(np.int64) + 100).sum(axis=(2, 3)) / 49 * scale - 7
    assert np.abs(got[:, :, 0, 0] - np.clip(exact, -128, 127)).max() <= 0.5 + 2**-6


def test_where_all_places_are_alike_there_is_no_table() -> None:
    env = environment("default")
    assert PlaceOffsets(np.full((2, 3), 7)).arguments(env) == ()
    [table] = PlaceOffsets(np.arange(6).reshape(2, 3)).arguments(env)
    assert table.pack().shape == (1, 1, 2, 3, env.BATCH, env.BLOCK_OUT)
    assert table.pack()[0, 0, 1, 2].max() == table.pack()[0, 0, 1, 2].min() == 5


@pytest.mark.parametrize("kind", [SumPool2d, AveragePool2d])
def test_zero_points_that_no_cell_has_are_refused(kind: type[SumPool2d | AveragePool2d]) -> None:
    with pytest.raises(OperatorError) as caught:
        kind(1, 1, 4, 4, (2, 2), zero_point=-129)
    assert str(caught.value) == f"{kind.__name__}: zero_point takes a number from -128 to 127, not -129"
