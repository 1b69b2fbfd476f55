"""The search of ``Conv2d``: the quick model leaves out nothing that it likes better, and the better model decides."""

import logging

import numpy as np
import pytest

import vta
from isa.progress import LOGGER
from tests.support.compiler.random_operators import random_operator
from tests.support.configs import CONFIGS
from vta.topi.conv.conv2d_finalists import finalists, searched
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.conv.conv2d_shape import ConvShape
from vta.topi.conv.conv2d_tiling import conv_candidates
from vta.topi.core.epilogue import Bias, Clip, ShiftRight
from vta.topi.core.resident import Resident
from vta.topi.tiling import cycles, followed_cycles

POINTWISE = Conv2d(1, 256, 14, 14, 512, (1, 1), (2, 2), epilogue=(ShiftRight(8), Bias(), Clip(0, 127)))


def shape_of(seed: int, config: str) -> ConvShape:
    operator = random_operator(np.random.default_rng(seed), "grouped_conv2d" if seed == 5 else "conv2d")
    assert isinstance(operator, Conv2d)
    return operator.shape_on(vta.Environment(CONFIGS[config]))


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("seed", range(3, 6))
def test_the_finalists_begin_with_the_first_of_the_cheapest_candidates(seed: int, config: str) -> None:
    shape = shape_of(seed, config)
    chosen = finalists(shape, thorough=False) or finalists(shape, thorough=True)
    costs = [(cycles(each.work, shape.bus), number, each.tiles) for number, each in enumerate(conv_candidates(shape))]
    nothing_resident = [cost for cost in costs if cost[2].resident is Resident.NONE]
    assert chosen[0].cost <= min(nothing_resident)[0]
    assert [each.cost for each in chosen] == sorted(each.cost for each in chosen)
    by_tiles = {tiles: cost for cost, _, tiles in costs}
    assert [by_tiles[each.tiles] for each in chosen] == [each.cost for each in chosen]


@pytest.mark.parametrize("seed", range(3, 6))
def test_of_the_finalists_the_one_whose_instructions_end_first_is_taken(seed: int) -> None:
    shape = shape_of(seed, "default")
    chosen = finalists(shape, thorough=False)
    followed = {each.tiles: followed_cycles(each.work, shape.bus) for each in chosen}
    assert followed[searched(shape, "a layer")] == min(followed.values())


def test_no_two_finalists_differ_in_their_copies_alone() -> None:
    chosen = finalists(POINTWISE.shape_on(vta.get_env()), thorough=False)
    plain = {(t.tile_h, t.tile_w, t.tile_ci, t.tile_co, t.tile_kh, t.resident) for t in (one.tiles for one in chosen)}
    assert len(plain) == len(chosen) > 1


def test_residents_are_looked_at_where_loads_are_not_hidden() -> None:
    chosen = finalists(POINTWISE.shape_on(vta.get_env()), thorough=False)
    assert any(each.tiles.resident is not Resident.NONE for each in chosen)


def test_a_search_says_how_far_it_is(caplog: pytest.LogCaptureFixture) -> None:
    shape = POINTWISE.shape_on(vta.Environment(CONFIGS["default"], hardware={"memory_latency": 77}))
    with caplog.at_level(logging.DEBUG, LOGGER):
        searched(shape, "a layer")
    assert "searching tiles for a convolution: 0 candidates" in caplog.messages
