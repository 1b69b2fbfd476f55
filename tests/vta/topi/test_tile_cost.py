from dataclasses import replace

import pytest

from isa.config import VTAConfig
from vta.topi.tile_cost import TileCost

CONFIG = VTAConfig()
COST = TileCost(
    tiles=4, steps=8, inp=64, wgt=16, rows=20, products=1024, uops=16, outputs=256, extra=8, alu=3, threads=2
)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, ""),
        ({"inp": 1025}, "the tiles need 2050 elements of the input buffer, which holds 2048"),
        ({"wgt": 513}, "the tiles need 1026 elements of the weight buffer, which holds 1024"),
        ({"outputs": 1020}, "the tiles need 2056 elements of the accumulator buffer, which holds 2048"),
        ({"uops": 8193}, "the tiles need 8193 elements of the micro-op buffer, which holds 8192"),
    ],
)
def test_a_scratchpad_that_is_too_small_is_named(changes: dict[str, int], text: str) -> None:
    assert replace(COST, **changes).excess(CONFIG) == text


def test_taking_turns_hides_loads_behind_products() -> None:
    alone = replace(COST, threads=1)
    assert COST.cycles(CONFIG) < alone.cycles(CONFIG)
    assert alone.cycles(CONFIG) > COST.tiles * COST.steps * (COST.products + COST.wgt * 32)


def test_the_busiest_part_decides() -> None:
    least = COST.tiles * COST.steps * COST.products
    assert least < COST.cycles(CONFIG) < 1.2 * least
    loads = replace(COST, products=1)
    assert COST.tiles * COST.steps * COST.wgt * 32 < loads.cycles(CONFIG) < least
