"""Schedules of definitions: their numbers are those of the definitions, whatever the tiles are."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from isa.config import VTAConfig
from tests.support.tuning import definitions as d
from tests.support.tuning.nest_run import run_nest
from tests.support.tuning.random_definitions import random_definition, random_tiles
from vta import te
from vta.auto_scheduler.nest_tiles import NestTiles

DEFAULT = VTAConfig()
BLOCK_8 = VTAConfig(log_block=3, log_inp_buff_size=14, log_wgt_buff_size=16, log_acc_buff_size=16)
TAPS = replace(VTAConfig(), depthwise_taps=3)
WHOLE, ROWS = (2, 3, 3), (1, 1, 3)


def run(define: Callable[[], Sequence[te.Tensor]], tiles: NestTiles, config: VTAConfig = DEFAULT) -> dict[str, int]:
    return run_nest(define, tiles, config)


@pytest.mark.parametrize(
    ("define", "tiles", "config"),
    [
        (lambda: d.gated(2, 6, 5, 2), NestTiles((1, 2, 3, 5), (WHOLE, ROWS), 2, (1, 3)), DEFAULT),
        (lambda: d.gated(2, 6, 5, 2), NestTiles((1, 1, 2, 5), (ROWS, WHOLE), 1, (2, 1), (1,)), BLOCK_8),
        (lambda: d.gated(2, 6, 5, 2, 1), NestTiles((1, 1, 3, 1), ((1, 1, 1),) * 2, 2, (2, 2), (2, 3)), DEFAULT),
        (d.two_products, NestTiles((1, 1, 2, 4), ((1, 3, 3),) * 2, 2, (1, 1), (), shared=True), DEFAULT),
        (lambda: d.depthwise(3, 7, 5), NestTiles((1, 3, 7, 1), ((1, 3, 3),), 5, (1,)), DEFAULT),
        (lambda: d.depthwise(3, 7, 5, 2), NestTiles((1, 1, 2, 3), ((1, 1, 3),), 3, (3,)), BLOCK_8),
        (lambda: d.depthwise_taps(2, 3, 5), NestTiles((1, 1, 3, 5), ((),), 2, (1,)), TAPS),
        (lambda: d.dense(6, 4, 3), NestTiles((2, 1), ((2,),), 3, (2,), (0,)), DEFAULT),
        (lambda: d.dense(1, 3, 2), NestTiles((1, 1), ((1,),), 1, (3,)), BLOCK_8),
        (lambda: d.convolution(2, 5, 2, 1, 2), NestTiles((1, 2, 3, 1), ((2, 1, 1),), 3, (1,)), DEFAULT),
        (lambda: d.pool_with_residual(3, 5), NestTiles((1, 1, 2, 5), (), 2, ()), DEFAULT),
        (lambda: d.pool_with_residual(2, 3, "avg"), NestTiles((1, 1, 3, 3), (), 2, ()), BLOCK_8),
    ],
)
def test_results_are_those_of_the_definition(
    define: Callable[[], Sequence[te.Tensor]], tiles: NestTiles, config: VTAConfig
) -> None:
    run(define, tiles, config)


def test_what_several_products_read_is_loaded_once_for_a_tile_if_shared() -> None:
    tiles = NestTiles((1, 1, 4, 4), ((1, 3, 3),) * 2, 1, (1, 1))
    apart, shared = (run(d.two_products, replace(tiles, shared=each)) for each in (False, True))
    assert apart["inp_load_nbytes"] == 2 * shared["inp_load_nbytes"] == 2 * 4 * 4 * 16


def test_what_is_resident_is_loaded_once_for_all_tiles_inside() -> None:
    tiles = NestTiles((1, 1, 3, 5), (WHOLE, WHOLE), 1, (1, 1))
    define = lambda: d.gated(2, 6, 5, 2)  # noqa: E731
    again, once = (run(define, replace(tiles, resident=each)) for each in ((), (1,)))
    assert again["wgt_load_nbytes"] == 2 * once["wgt_load_nbytes"] == 2 * 2 * 2 * 2 * 9 * 256


def test_rows_and_columns_that_nobody_reads_are_not_loaded() -> None:
    counted = run(lambda: d.convolution(2, 5, 2, 1, 2), NestTiles((1, 2, 3, 3), ((2, 1, 1),), 1, (1,)))
    assert counted["inp_load_nbytes"] == 2 * 3 * 3 * 16


def test_windows_that_do_not_overlap_are_reduced_where_they_lie() -> None:
    counted = run(lambda: d.pool_with_residual(2, 4), NestTiles((1, 1, 4, 4), (), 2, ()))
    assert counted["alu_counter"] == 2 * 4 * 4 * (3 + 1 + 2)  # three cells with the first one, a sum, two limits


@pytest.mark.long
@pytest.mark.parametrize("seed", range(24))
def test_random_definitions_in_random_tiles(seed: int) -> None:
    rng = random.Random(seed)
    config = rng.choice((DEFAULT, BLOCK_8, replace(DEFAULT, log_batch=1)))
    run_nest(lambda: random_definition(rng), lambda nest: random_tiles(nest, rng), config, seed=seed)
