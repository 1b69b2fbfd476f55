"""Footprints: the same elements as stepping through every loop, on random programs of every configuration."""

import numpy as np
import pytest

from isa.footprint import Footprints, dram_hull, dram_rows
from isa.index_sets import Elements
from isa.instructions import Load, MemoryId, Store
from isa.known_uops import KnownUops
from tests.support.compiler.schedules import brute_footprints
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program
from tests.support.odd_configs import ODD_CONFIGS


def _places(touched: tuple[tuple[MemoryId, Elements], ...]) -> set[tuple[str, int]]:
    return {
        (memory.name, place)
        for memory, elements in touched
        for place in (range(elements.start, elements.stop) if isinstance(elements, slice) else elements.tolist())
    }


@pytest.mark.parametrize("name", [*CONFIGS, "depthwise", "depthwise_int4", "fused", "fused_all"])
def test_a_footprint_has_what_the_loops_step_through(name: str) -> None:
    for seed in range(12):
        program = random_program(np.random.default_rng([seed, 5]), (CONFIGS | ODD_CONFIGS)[name])
        uops, footprints = KnownUops(program), Footprints(program.config, range(1 << 32))
        for instruction, (reads, writes) in zip(program.instructions, brute_footprints(program), strict=True):
            footprint = footprints.of(instruction, uops.read)
            assert footprint.problems == ()
            assert _places(footprint.reads) == {p for p in reads if p[0] != "DRAM"}
            assert _places(footprint.writes) == {p for p in writes if p[0] not in ("DRAM", "UOP")}
            if isinstance(instruction, Load) and instruction.memory == MemoryId.UOP and instruction.x_size:
                uops.load(instruction)


def test_rows_without_a_gap_are_one_range() -> None:
    assert dram_rows(Store(dram_base=2, y_size=3, x_size=4, x_stride=4), 16) == [(32, 224)]
    assert dram_rows(Store(dram_base=2, y_size=3, x_size=4, x_stride=1), 16) == [(32, 128)]
    assert dram_rows(Store(dram_base=2, y_size=2, x_size=4, x_stride=8), 16) == [(32, 96), (160, 224)]
    assert dram_hull(Store(dram_base=2, y_size=2, x_size=4, x_stride=8), 16) == (32, 224)
    assert dram_hull(Load(memory=MemoryId.UOP, dram_base=1, y_size=1, x_size=3, x_stride=9), 4) == (4, 16)
    assert dram_rows(Load(memory=MemoryId.UOP, dram_base=1, y_size=1, x_size=3, x_stride=9), 4) == [(4, 16)]
