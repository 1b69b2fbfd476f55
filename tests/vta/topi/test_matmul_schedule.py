"""The tiles that are chosen for matrix products."""

import dataclasses

import pytest

import vta
from tests.support.configs import CONFIGS
from vta import te
from vta.topi import epilogue
from vta.topi.epilogue import Bias, Clip, Residual, ShiftRight
from vta.topi.matmul_schedule import MatmulTiles, TilesError, choose_tiles


def chosen(rows: int, inner: int, columns: int, *steps: epilogue.Step, config: str = "default") -> MatmulTiles:
    env = vta.Environment(CONFIGS[config])
    sums = te.placeholder((rows, columns, env.BATCH, env.BLOCK_OUT), env.acc_dtype, "sums")
    return choose_tiles(rows, inner, columns, epilogue.append(sums, steps, env), env)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 5, 3), (128, 8, 8), (1, 64, 64), (1024, 64, 64), (61, 97, 13)])
def test_chosen_tiles_fit_the_scratchpads(config: str, sizes: tuple[int, int, int]) -> None:
    tiles = chosen(*sizes, ShiftRight(8), Bias(), Residual(), Clip(0, 127), config=config)
    limits = CONFIGS[config]
    residual_and_bias = tiles.rows * tiles.columns + tiles.columns
    assert tiles.threads * tiles.rows * tiles.inner <= limits.inp_depth
    assert tiles.threads * tiles.columns * tiles.inner <= limits.wgt_depth
    assert tiles.threads * (tiles.rows * tiles.columns + residual_and_bias) <= limits.acc_depth


@pytest.mark.parametrize("sizes", [(7, 5, 3), (128, 8, 8), (1, 64, 64), (1024, 64, 64), (61, 97, 13), (1, 1, 509)])
def test_no_product_falls_back_to_tiles_of_one(sizes: tuple[int, int, int]) -> None:
    tiles = chosen(*sizes)
    assert tiles.rows * tiles.inner * tiles.columns >= min(sizes[0] * sizes[1] * sizes[2], 64)


def test_two_tiles_are_worked_on_in_turn_where_that_hides_loads() -> None:
    assert chosen(1024, 64, 64).threads == 2
    assert chosen(1, 1, 1).threads == 1


def test_a_memory_that_is_too_small_is_named() -> None:
    config = dataclasses.replace(CONFIGS["default"], log_acc_buff_size=6, log_uop_buff_size=10)
    env = vta.Environment(config)
    sums = te.placeholder((4, 4, 1, 16), "int32", "sums")
    appended = epilogue.append(sums, (Residual(),), env)
    with pytest.raises(TilesError) as error:
        choose_tiles(4, 4, 4, appended, env)
    assert str(error.value) == (
        "a product of 4 x 4 x 4 blocks: tiles need 2 elements of the accumulator buffer, which holds 1"
    )
