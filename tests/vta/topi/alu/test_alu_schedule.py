import pytest

from tests.support.compiler.random_operators import check, environment
from vta.topi.alu.alu_schedule import AluTiles, AluTilesError
from vta.topi.alu.elementwise import Binary, BinaryOperation
from vta.topi.core.epilogue import Bias, Clip, Residual

OPERATOR = Binary(BinaryOperation.ADD, (3, 70, 5, 6), (Bias(), Residual("int32"), Clip(-100, 100)))


@pytest.mark.parametrize("config", ["default", "b2k16", "in16out32"])
@pytest.mark.parametrize(
    "tiles",
    [
        AluTiles(1, 1, 1, 1),
        AluTiles(1, 1, 5, 6, threads=2, thread_axis=1),
        AluTiles(1, 2, 3, 6, threads=2, thread_axis=2),
        AluTiles(1, 3, 4, 5, threads=2, thread_axis=3),
        AluTiles(2, 1, 2, 4),
    ],
    ids=str,
)
def test_tiles_and_threads_change_no_result(tiles: AluTiles, config: str) -> None:
    extents = OPERATOR.schedule(environment(config)).args[-1].shape
    counts = [-(-int(extent) // size) for extent, size in zip(extents, tiles.inner, strict=False)]
    if tiles.tile_b > int(extents[0]) or tiles.tile_co > int(extents[1]) or counts[tiles.thread_axis] % tiles.threads:
        with pytest.raises(AluTilesError):
            OPERATOR.schedule(environment(config), tiles)
        return
    check(OPERATOR, config, tiles=tiles)


@pytest.mark.parametrize(
    ("tiles", "message"),
    [
        (AluTiles(1, 6, 1, 1), "tile_co is from 1 to 5, the output's blocks there, not 6"),
        (AluTiles(1, 1, 0, 1), "tile_h is from 1 to 5, the output's blocks there, not 0"),
        (AluTiles(1, 1, 1, 1, threads=5), "threads is from 1 to 4, not 5"),
        (AluTiles(1, 1, 1, 1, threads=2, thread_axis=4), "thread_axis is a dimension from 0 to 3, not 4"),
        (
            AluTiles(1, 1, 1, 1, threads=2, thread_axis=2),
            "2 threads share the tiles along dimension 2, whose number must be a multiple of 2, not 5; choose other "
            "tiles, or one thread",
        ),
    ],
)
def test_tiles_that_do_not_go_with_the_output_are_refused(tiles: AluTiles, message: str) -> None:
    with pytest.raises(AluTilesError) as caught:
        OPERATOR.schedule(environment("default"), tiles)
    assert str(caught.value) == message
