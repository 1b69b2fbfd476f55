"""Tiles that were tuned: which lookup is asked, and which operators take them."""

import pytest

import vta
from vta.topi import Conv2d, ConvTiles, Dense
from vta.topi.core.tuned import tuned_by, tuned_tiles
from vta.topi.matmul.batch_matmul import Matmul
from vta.topi.matmul.matmul_schedule import MatmulTiles
from vta.topi.tiling import TilingError

CONV = Conv2d(1, 32, 8, 8, 32, (3, 3), padding=(1, 1, 1, 1))


def test_the_innermost_lookup_that_knows_tiles_is_taken() -> None:
    env = vta.get_env()
    assert tuned_tiles(CONV, env) is None
    with tuned_by(lambda *_: "outer"), tuned_by(lambda operator, _: "inner" if operator is CONV else None):
        assert tuned_tiles(CONV, env) == "inner"
        assert tuned_tiles(None, env) == "outer"
    assert tuned_tiles(CONV, env) is None


def test_operators_take_tuned_tiles_unless_they_are_given_some() -> None:
    env, tiles = vta.get_env(), ConvTiles(tile_h=2, tile_w=8)
    with tuned_by(lambda *_: tiles):
        assert CONV.schedule(env).tiles == tiles
        assert CONV.schedule(env, ConvTiles(tile_h=4)).tiles == ConvTiles(tile_h=4)
    assert CONV.schedule(env).tiles != tiles
    for layer in (Dense(4, 32, 32), Matmul(4, 32, 32)):
        with tuned_by(lambda *_: MatmulTiles(1, 2, 1)):
            assert layer.schedule(env).tiles == MatmulTiles(1, 2, 1)


def test_tuned_tiles_that_do_not_fit_are_refused() -> None:
    with tuned_by(lambda *_: ConvTiles(tile_co=3)), pytest.raises(TilingError) as caught:
        CONV.schedule(vta.get_env())
    assert str(caught.value).endswith("tile_co divides the 2 blocks of output channels, 3 does not")
