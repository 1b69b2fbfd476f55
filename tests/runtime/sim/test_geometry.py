"""The arena: every memory at a page of its own, none over another, and sizes that a configuration says."""

import pytest

from isa.instructions import MemoryId
from runtime.sim.code_path import CodePath
from runtime.sim.geometry import Geometry
from runtime.sim.record import RECORD_BYTES
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS

ALL_CONFIGS = {**CONFIGS, **ODD_CONFIGS}
PAGE = 4096


def geometries(name: str) -> list[Geometry]:
    """Return that of each code path, also of those that this processor cannot run."""
    config = ALL_CONFIGS[name]
    return [Geometry(config, path.unit(config.block_out)) for path in CodePath]


@pytest.mark.parametrize("name", ALL_CONFIGS)
def test_memories_begin_at_pages_and_end_before_the_next_one(name: str) -> None:
    for geometry in geometries(name):
        config = geometry.config
        memories = (MemoryId.UOP, MemoryId.INP, MemoryId.ACC, MemoryId.WGT)
        places = [(*geometry.place(memory), config.depth(memory)) for memory in memories]
        areas = [(0, RECORD_BYTES), *((begin, begin + size * depth) for begin, size, depth in places)]
        excess = config.wgt_depth * config.block_out * 4 if geometry.unit.offset else 0
        areas.append((geometry.excess_at, geometry.excess_at + excess))
        begins = [*(begin for begin, _ in areas), geometry.arena_bytes]
        assert all(begin % PAGE == 0 for begin in begins)
        for (_, end), after in zip(areas, begins[1:], strict=True):
            assert end <= after < end + PAGE


@pytest.mark.parametrize("name", ALL_CONFIGS)
def test_elements_have_room_for_their_numbers(name: str) -> None:
    for geometry in geometries(name):
        config, group = geometry.config, geometry.unit.group
        groups = -(-config.block_in // group)  # the last one is filled up
        assert geometry.groups == groups
        assert geometry.whole_groups == (config.block_in % group == 0)
        assert geometry.place(MemoryId.UOP)[1] == 4
        assert geometry.place(MemoryId.INP)[1] == config.batch * groups * 4
        assert geometry.place(MemoryId.WGT)[1] == config.block_out * groups * 4
        assert geometry.place(MemoryId.OUT) == geometry.place(MemoryId.ACC_8BIT) == geometry.place(MemoryId.ACC)
        assert geometry.place(MemoryId.ACC)[1] == config.batch * geometry.acc_row == config.batch * config.block_out * 4
        assert config.block_out % geometry.lanes == 0
        assert geometry.lanes <= geometry.unit.max_lanes
