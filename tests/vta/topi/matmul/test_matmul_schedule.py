"""The tiles that are chosen for matrix products."""

from dataclasses import replace

import pytest

import vta
from isa.config import VTAConfig
from tests.support.configs import CONFIGS
from vta.topi.core.epilogue import Bias, Clip, Residual, ShiftRight, Step
from vta.topi.core.resident import Resident
from vta.topi.matmul.matmul_schedule import MatmulTiles, Product
from vta.topi.tiling import TilingError

SIZES = [(7, 5, 3), (128, 8, 8), (1, 64, 64), (1024, 64, 64), (61, 97, 13), (1, 1, 509)]


def problem(
    sizes: tuple[int, int, int], *steps: Step, config: VTAConfig = CONFIGS["default"], groups: int | None = None
) -> Product:
    return Product(vta.Environment(config), *sizes, steps, groups)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), *SIZES])
def test_chosen_tiles_fit_the_scratchpads(config: VTAConfig, sizes: tuple[int, int, int]) -> None:
    wanted = problem(sizes, ShiftRight(8), Bias(), Residual(), Clip(0, 127), config=config)
    tiles = wanted.best_tiles("it")
    wanted.require_tiles(tiles, "it")
    residual_and_bias = tiles.rows * tiles.columns + tiles.columns
    copies = tiles.rotate_steps
    assert tiles.rotate_tiles * (tiles.rows * tiles.columns + residual_and_bias) <= config.acc_depth
    assert (sizes[1] if tiles.resident is Resident.DATA else tiles.inner * copies) * tiles.rows <= config.inp_depth
    assert (sizes[1] if tiles.resident is Resident.KERNEL else tiles.inner * copies) * tiles.columns <= config.wgt_depth


@pytest.mark.parametrize("sizes", SIZES)
def test_no_product_falls_back_to_tiles_of_one(sizes: tuple[int, int, int]) -> None:
    tiles = problem(sizes).best_tiles("it")
    assert tiles.rows * tiles.inner * tiles.columns >= min(sizes[0] * sizes[1] * sizes[2], 15)


def test_memory_is_used_in_turn_where_that_hides_loads() -> None:
    large, small = (problem(sizes, ShiftRight(8)).best_tiles("it") for sizes in ((1024, 64, 64), (1, 1, 1)))
    assert large.rotate_tiles > 1
    assert large.rotate_steps > 1
    assert (small.rotate_tiles, small.rotate_steps) == (1, 1)


def test_tiles_divide_each_of_several_products() -> None:
    tiles = problem((25, 4, 13), groups=3).best_tiles("it")
    assert (25 % tiles.rows, 13 % tiles.columns) == (0, 0)


def test_whole_tiles_may_reach_beyond_a_product() -> None:
    assert MatmulTiles(4, 1, 8).whole(9, 8) == (12, 8)


def test_a_memory_that_is_too_small_is_named() -> None:
    config = VTAConfig(log_acc_buff_size=6, log_uop_buff_size=10)
    wanted = problem((4, 4, 4), Residual(), config=config)
    with pytest.raises(TilingError) as error:
        wanted.best_tiles("a product")
    assert str(error.value) == (
        "a product: no tiles fit this configuration: even in the smallest ones the accumulator buffer would need 2 "
        "elements and has 1 (64 bytes each)"
    )
    with pytest.raises(TilingError, match=r"a product: the weight buffer would need 2048 elements and has 1024"):
        problem((4, 64, 64)).require_tiles(MatmulTiles(1, 32, 64), "a product")


@pytest.mark.parametrize("name", ["rows", "inner", "columns", "rotate_tiles", "rotate_steps"])
def test_tiles_of_nothing_are_refused(name: str) -> None:
    tiles = replace(MatmulTiles(1, 1, 1), **{name: 0})  # type: ignore[arg-type]  # numbers all of them
    with pytest.raises(TilingError) as error:
        Product(vta.get_env(), 4, 4, 4, ()).require_tiles(tiles, "it")
    assert str(error.value) == f"it: {name} is 1 or more, not 0"
