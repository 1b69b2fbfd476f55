import pytest

from tests.support.compiler.random_operators import check, environment
from vta import te
from vta.topi.alu.pool_reduction import Combine, PoolReduction
from vta.topi.alu.pool_window import PoolAxis
from vta.topi.alu.pooling import MaxPool2d
from vta.topi.core.operator import compile  # noqa: A004  # what it does


def square(size: int, kernel: int, stride: int = 1, pad: int = 0) -> tuple[PoolAxis, PoolAxis]:
    return (
        PoolAxis("height", size, kernel, stride, pad, pad),
        PoolAxis("width", size, kernel, stride, pad, pad),
    )


def chosen(axes: tuple[PoolAxis, PoolAxis], combine: Combine = Combine.MAX) -> PoolReduction:
    return PoolReduction.chosen(environment("default"), combine, axes, "int8")


def test_small_windows_are_reduced_at_once() -> None:
    assert chosen(square(56, 3, 2, 1)) == PoolReduction(Combine.MAX, square(56, 3, 2, 1), "int8", 3, 3, separable=False)


def test_large_windows_that_overlap_are_reduced_rows_first() -> None:
    assert chosen(square(13, 5, 1, 2)).separable
    assert not chosen(square(14, 7, 7)).separable


def test_windows_larger_than_the_accumulator_are_reduced_in_pieces() -> None:
    way = chosen(square(112, 112))
    assert not way.separable
    assert way.pieces == (28, 1)
    assert (way.rows, way.columns) == (4, 112)


@pytest.mark.parametrize(("rows", "columns"), [(3, 6), (1, 2)])
@pytest.mark.parametrize("combine", Combine)
def test_every_way_computes_the_same(combine: Combine, rows: int, columns: int) -> None:
    axes = (PoolAxis("height", 9, 6, 2, 1, 2), PoolAxis("width", 11, 6, 1, 2, 0))
    env = environment("default")
    stages = {}
    for way in (
        PoolReduction(combine, axes, "int8", 6, 6, separable=False),
        PoolReduction(combine, axes, "int8", 6, 6, separable=True),
        PoolReduction(combine, axes, "int8", rows, columns, separable=False),
    ):
        data = te.placeholder((1, 1, 9, 11, env.BATCH, env.BLOCK_OUT), "int8", "data")
        reduced = way.reduced(env, data)
        stages[way] = [tensor.op.name for tensor in (*reduced.stages.pieces, *reduced.stages.reductions)]
        assert tuple(int(e) for e in reduced.tensor.shape) == (1, 1, 4, 8, env.BATCH, env.BLOCK_OUT)
        assert way.demand(env, (1, 1, 9, 11), (1, 1, 4, 8)).elements >= 9 * 11
    assert list(stages.values()) == [["pool"], ["pool_rows", "pool"], ["pool_pieces", "pool"]]


@pytest.mark.parametrize("config", ["default", "b2k16"])
def test_a_window_in_pieces_gives_the_right_maximum(config: str) -> None:
    operator = MaxPool2d(1, 20, 60, 70, (50, 60), strides=(5, 3), padding=(2, 0, 3, 4))
    assert compile(operator, environment(config)).scheduled.schedule.stages
    check(operator, config)
