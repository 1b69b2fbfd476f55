import itertools
from dataclasses import replace

import pytest

import vta
from tests.support.compiler.random_operators import environment
from vta.topi.alu.alu_schedule import AluTiles, AluTilesError
from vta.topi.alu.alu_tiles import Demand, Inner, TransferCost, best_tiles, transfer
from vta.topi.alu.elementwise import Binary, BinaryOperation


def runs_of(box: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """Count the runs of neighbouring elements in a box at the origin."""
    places = []
    for index in itertools.product(*map(range, box)):
        place = 0
        for i, extent in zip(index, extents, strict=True):
            place = place * extent + i
        places.append(place)
    return 1 + sum(b != a + 1 for a, b in itertools.pairwise(sorted(places)))


def test_a_transfer_counts_the_runs_of_bytes() -> None:
    extents = (2, 3, 4, 5)
    for box in itertools.product(*(range(1, extent + 1) for extent in extents)):
        count = box[0] * box[1] * box[2] * box[3]
        found = transfer(box, extents, 16)
        assert (found.runs, found.size) == (runs_of(box, extents), 16 * count), box


def test_an_instruction_takes_rows_and_columns() -> None:
    assert transfer((1, 2, 3, 5), (2, 3, 4, 5), 1) == TransferCost(1, 2, 30)
    assert transfer((1, 2, 3, 4), (2, 3, 4, 8), 1) == TransferCost(2, 6, 24)
    assert transfer((2, 2, 3, 4), (2, 3, 4, 8), 1) == TransferCost(4, 12, 48)
    assert transfer((2, 3, 4, 5), (2, 3, 4, 5), 1) == TransferCost(1, 1, 120)


def test_rows_that_do_not_divide_have_an_instruction_each() -> None:
    assert transfer((1, 2, 3, 4), (2, 3, 4, 5), 1) == TransferCost(6, 6, 24)
    assert transfer((1, 2, 3, 4), (2, 3, 4, 8), 1, ragged=True) == TransferCost(6, 6, 24)


def test_transfers_add_up() -> None:
    assert TransferCost(1, 2, 3) + TransferCost(1, 1, 1) == TransferCost(2, 3, 4)
    assert TransferCost(1, 2, 3).times(3) == TransferCost(3, 6, 9)


def cheap(inner: Inner) -> Demand:
    count = inner[0] * inner[1] * inner[2] * inner[3]
    return Demand(2 * count, TransferCost(1, 1, 16 * count), count, kernels=1)


def test_a_large_operator_gets_threads_that_fit() -> None:
    env = vta.get_env()
    tiles = best_tiles(env, (1, 16, 28, 28), cheap, "an operator")
    assert tiles.threads > 1
    assert tiles.threads * cheap(tiles.inner).elements <= env.config.acc_depth
    assert tiles.inner[2] * tiles.inner[3] > 28


def test_a_small_operator_is_one_tile() -> None:
    assert best_tiles(vta.get_env(), (1, 1, 1, 1), cheap, "an operator") == AluTiles(1, 1, 1, 1)


def test_an_operator_of_which_no_tile_fits_is_refused() -> None:
    with pytest.raises(AluTilesError) as caught:
        best_tiles(vta.get_env(), (1, 1, 2, 2), lambda inner: replace(cheap(inner), temporaries=2047), "an operator")
    assert str(caught.value) == (
        "an operator: the smallest tile needs 2049 elements of local.acc_buffer, which has 2048; use a smaller window, "
        "or LOG_ACC_BUFF_SIZE for a larger accumulator"
    )


@pytest.mark.parametrize("shape", [(1, 64, 56, 56), (8, 512), (1, 20, 113, 3), (2, 7, 1, 300)])
def test_no_shape_falls_back_to_tiles_of_one(shape: tuple[int, ...]) -> None:
    env = environment("default")
    scheduled = Binary(BinaryOperation.ADD, shape).schedule(env)
    assert isinstance(scheduled.tiles, AluTiles)
    outputs = 1
    for extent in scheduled.args[-1].shape[:4]:
        outputs *= int(extent)
    b, co, h, w = scheduled.tiles.inner
    assert b * co * h * w >= min(outputs // 16, 100)
