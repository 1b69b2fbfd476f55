"""The tiles that are chosen for matrix products."""

import pytest

import vta
from isa.config import VTAConfig
from tests.support.configs import CONFIGS
from vta.topi.epilogue import Bias, Clip, Residual, ShiftRight, Step
from vta.topi.matmul_schedule import MatmulTiles, choose_tiles
from vta.topi.operator import OperatorError

SIZES = [(7, 5, 3), (128, 8, 8), (1, 64, 64), (1024, 64, 64), (61, 97, 13), (1, 1, 509)]


def chosen(
    sizes: tuple[int, int, int], *steps: Step, config: VTAConfig = CONFIGS["default"], groups: int = 1
) -> MatmulTiles:
    return choose_tiles(sizes, steps, vta.Environment(config), groups=groups)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), *SIZES])
def test_chosen_tiles_fit_the_scratchpads(config: VTAConfig, sizes: tuple[int, int, int]) -> None:
    tiles = chosen(sizes, ShiftRight(8), Bias(), Residual(), Clip(0, 127), config=config)
    threads = tiles.row_threads * tiles.column_threads
    residual_and_bias = tiles.rows * tiles.columns + tiles.columns
    assert threads * tiles.rows * tiles.inner <= config.inp_depth
    assert threads * tiles.columns * tiles.inner <= config.wgt_depth
    assert threads * (tiles.rows * tiles.columns + residual_and_bias) <= config.acc_depth


@pytest.mark.parametrize("sizes", SIZES)
def test_no_product_falls_back_to_tiles_of_one(sizes: tuple[int, int, int]) -> None:
    tiles = chosen(sizes)
    assert tiles.rows * tiles.inner * tiles.columns >= min(sizes[0] * sizes[1] * sizes[2], 64)


def test_several_tiles_are_worked_on_in_turn_where_that_hides_loads() -> None:
    large, small = chosen((1024, 64, 64)), chosen((1, 1, 1))
    assert large.row_threads * large.column_threads > 1
    assert (small.row_threads, small.column_threads) == (1, 1)


def test_tiles_divide_each_of_several_products() -> None:
    tiles = chosen((25, 4, 13), groups=3)
    assert (25 % tiles.rows, 13 % tiles.columns) == (0, 0)


def test_whole_tiles_may_reach_beyond_a_product() -> None:
    assert MatmulTiles(4, 1, 8).whole(9, 8) == (12, 8)


def test_a_memory_that_is_too_small_is_named() -> None:
    config = VTAConfig(log_acc_buff_size=6, log_uop_buff_size=10)
    with pytest.raises(OperatorError) as error:
        choose_tiles((4, 4, 4), (Residual(),), vta.Environment(config), what="Matmul")
    assert str(error.value) == "Matmul: the tiles need 2 elements of the accumulator buffer, which holds 1"
