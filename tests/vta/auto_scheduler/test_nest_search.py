"""Choices of definitions: knobs and tiles, validity, and which the model likes."""

from dataclasses import replace

import pytest

import vta
from isa.config import VTAConfig
from tests.support.tuning import definitions as d
from vta.auto_scheduler.nest import Nest
from vta.auto_scheduler.nest_search import knob_values, nest_choices, ranked
from vta.auto_scheduler.nest_tiles import NestTiles
from vta.auto_scheduler.parts import parts_of
from vta.autotvm.space import ConfigEntity, ConfigSpace, OtherOptionEntity
from vta.topi.tiling import TilingError


def test_knobs_mean_the_tiles_that_they_were_made_of() -> None:
    env = vta.get_env()
    nest = Nest(parts_of(d.two_products()[-1], env), env)
    choices, space = nest_choices(nest), ConfigSpace()
    choices.knobs(space)
    tiles = NestTiles((1, 1, 2, 4), ((1, 3, 3), (1, 1, 3)), 2, (1, 3), (), shared=True)
    values = {name: OtherOptionEntity(value) for name, value in knob_values(tiles).items()}
    config = space.get(space.index_of(ConfigEntity(None, values)))
    assert choices.tiles(config) == tiles
    assert not choices.allows(replace(tiles, rotate_tiles=3))


def test_all_that_is_ranked_is_valid_and_the_first_ones_take_least() -> None:
    env = vta.get_env()
    for tensors in (d.gated(2, 14, 14, 2), d.pool_with_residual(3, 9)):
        nest = Nest(parts_of(tensors[-1], env), env)
        choices, found = nest_choices(nest), ranked(nest, "x")
        costs = [choices.price(tiles).cycles for tiles in found]
        assert all(map(choices.allows, found))
        assert costs == sorted(costs)
        assert len(set(found)) == len(found) > 10


def test_a_scratchpad_for_which_everything_is_too_large_is_named() -> None:
    env = vta.Environment(replace(VTAConfig(), log_acc_buff_size=6))
    with env:
        nest = Nest(parts_of(d.gated(2, 4, 4, 2)[-1], env), env)
    with pytest.raises(TilingError) as caught:
        ranked(nest, "stage 'x'")
    assert str(caught.value) == (
        "stage 'x': no tiles fit this configuration: even in the smallest ones the accumulator buffer would need 6 "
        "elements and has 1 (64 bytes each)"
    )
