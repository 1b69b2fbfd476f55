"""The tiles that are chosen for transposed convolutions, and the refusal of those that cannot be."""

import pytest

import vta
from tests.support.configs import CONFIGS
from vta.topi.conv.conv2d_grouped import ChannelBlocks
from vta.topi.core.epilogue import Bias, Clip, Epilogue, ShiftRight
from vta.topi.tiling import TilingError
from vta.topi.transposed.conv2d_transpose_schedule import TransposedLayer, TransposeTiles
from vta.topi.transposed.conv2d_transpose_tiling import TransposeSearch
from vta.topi.transposed.transposed_window import TransposedWindow

WINDOW = TransposedWindow((4, 4), (2, 2), (1, 1, 1, 1))
STEPS = (ShiftRight(8), Bias(), Clip(0, 127))


def search(
    size: int, blocks_in: int, blocks_out: int, *, config: str = "default", steps: Epilogue = STEPS
) -> TransposeSearch:
    layer = TransposedLayer(
        images=1,
        blocks_in=blocks_in,
        blocks_out=blocks_out,
        taken=blocks_in,
        image=(size, size),
        result=WINDOW.output(size, size),
        window=WINDOW,
    )
    return TransposeSearch(vta.Environment(CONFIGS[config]), layer, ChannelBlocks((0,) * blocks_out, blocks_in), steps)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize(("size", "blocks_in", "blocks_out"), [(4, 64, 32), (16, 16, 8), (1, 1, 1), (7, 5, 3)])
def test_chosen_tiles_can_be_and_fit(config: str, size: int, blocks_in: int, blocks_out: int) -> None:
    wanted = search(size, blocks_in, blocks_out, config=config)
    wanted.require_tiles(wanted.best_tiles("it"), "it")


def test_memory_is_used_in_turn_where_that_hides_loads() -> None:
    tiles = search(16, 16, 8).best_tiles("it")
    assert tiles.rotate_tiles > 1
    assert tiles.rotate_steps > 1
    assert tiles.tile_h * tiles.tile_w * tiles.tile_co > 64


@pytest.mark.parametrize(
    ("tiles", "text"),
    [
        (TransposeTiles(2, 2, 3, 1), "it: tile_ci divides the 4 blocks of input channels, 3 does not"),
        (TransposeTiles(2, 2, 1, 0), "it: tile_co divides the 2 blocks of output channels, 0 does not"),
        (TransposeTiles(3, 2), "it: tile_h is a multiple of the stride, 2; 3 is not"),
        (TransposeTiles(2, 2, rotate_tiles=0), "it: rotate_tiles is 1 or more, not 0"),
        (TransposeTiles(2, 2, rotate_steps=-1), "it: rotate_steps is 1 or more, not -1"),
        (TransposeTiles(2, 0), "it: tile_w is a multiple of the stride, 2; 0 is not"),
        (TransposeTiles(2, 8, run=3), "it: run divides the 4 whole strides of a tile's row, 3 does not"),
        (
            TransposeTiles(64, 64),
            "it: the accumulator buffer would need 4101 elements and has 2048 (64 bytes each); take smaller tiles or "
            "fewer copies",
        ),
    ],
)
def test_tiles_that_cannot_be_are_refused(tiles: TransposeTiles, text: str) -> None:
    with pytest.raises(TilingError) as error:
        search(8, 4, 2).require_tiles(tiles, "it")
    assert str(error.value) == text


def test_blocks_that_read_different_channels_are_not_joined() -> None:
    wanted = search(8, 4, 4)
    apart = TransposeSearch(wanted.env, wanted.layer, ChannelBlocks((0, 0, 1, 3), 1), STEPS)
    with pytest.raises(TilingError) as error:
        apart.require_tiles(TransposeTiles(2, 2, 1, 4), "it")
    assert str(error.value) == "it: tile_co 4 joins blocks that read different channels; take 1"
