"""Loads that wait for their memory let others go first, and nothing is loaded before its memory is free."""

from pathlib import Path

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from isa.encoding import encode_uop
from isa.instructions import Gemm, Load, MemoryId, MicroOp
from isa.known_uops import UopRange
from isa.named_config import named_config
from runtime.queue.ends.early_loads import early_loads
from runtime.queue.ends.taking_turns import Known
from runtime.queue.instruction_queue import Entry
from vta.cost import predict
from vta.topi import Conv2d
from vta.topi.conv.conv2d import ConvTiles
from vta.topi.core.epilogue import Clip, ShiftRight
from vta.topi.core.operator import compile  # noqa: A004
from vta.topi.core.resident import Resident

CONFIG = VTAConfig()


def load(memory: MemoryId, begin: int, count: int = 1) -> Known:
    return Entry(Load(memory=memory, sram_base=begin, dram_base=begin, x_size=count, y_size=1, x_stride=count)), None


def data(begin: int, count: int = 1) -> Known:
    return load(MemoryId.INP, begin, count)


def weights(begin: int, count: int = 1) -> Known:
    return load(MemoryId.WGT, begin, count)


def sums(inp: int, wgt: int) -> Known:
    words = np.array([encode_uop(MicroOp(dst=0, src=inp, wgt=wgt), CONFIG)], np.uint32)
    return Entry(Gemm(uop_end=1, iter_out=100)), UopRange.of(words, CONFIG)


FIRST = [
    weights(0, 4), data(0), sums(0, 0), data(1), sums(1, 1), data(0), sums(0, 2), data(1), sums(1, 3),
]  # fmt: skip
SECOND = [data(0), weights(0), sums(0, 0), data(1), weights(1), sums(1, 1)]
TILES = [*FIRST, *SECOND]
"""The memory of the second weight 0 is free after the first sum, that of the data before it after the third."""


def place_of(entry: Known, entries: list[Known]) -> int:
    return next(place for place, each in enumerate(entries) if each[0] is entry[0])


def test_weights_whose_memory_is_free_do_not_wait_behind_data_whose_memory_is_not() -> None:
    found = early_loads(TILES, CONFIG)
    assert sorted(id(each[0]) for each in found) == sorted(id(each[0]) for each in TILES)
    assert place_of(SECOND[1], found) < place_of(SECOND[0], found)
    assert place_of(SECOND[1], found) > place_of(FIRST[2], found)  # which uses what they overwrite


def test_everything_but_loads_stays_in_its_order() -> None:
    found = early_loads(TILES, CONFIG)
    assert [each for each in found if each[1]] == [each for each in TILES if each[1]]


def test_sums_have_what_they_need_and_nothing_newer() -> None:
    def contents(entries: list[Known]) -> list[tuple[int, int]]:
        held: dict[tuple[MemoryId, int], int] = {}
        found = []
        for entry, uops in entries:
            match entry.instruction:
                case Load() as each:
                    held |= {(each.memory, each.sram_base + n): id(entry) for n in range(each.x_size)}
                case _:
                    assert uops is not None
                    found.append((held[MemoryId.INP, uops.src[0]], held[MemoryId.WGT, uops.wgt[0]]))
        return found

    assert contents(early_loads(TILES, CONFIG)) == contents(TILES)


def test_what_nobody_knows_stays_where_it_is() -> None:
    unknown = [*FIRST, *SECOND[:2], (SECOND[2][0], None), *SECOND[3:]]
    assert early_loads(unknown, CONFIG) == unknown


def test_a_layer_whose_weights_stay_waits_less_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    env = vta.Environment(named_config(Path("block32")))
    layer = Conv2d(1, 128, 28, 28, 256, (3, 3), (2, 2), (1, 1, 1, 1), epilogue=(ShiftRight(8), Clip(0, 127)))
    tiles = ConvTiles(tile_h=14, tile_w=7, tile_co=4, run=7, rotate_tiles=2, rotate_steps=2, resident=Resident.KERNEL)
    early = predict(compile(layer, env, tiles))
    monkeypatch.setattr("runtime.queue.ends.finer_ends.early_loads", lambda known, _: known)
    late = predict(compile(layer, env, tiles))
    assert early.load == late.load
    assert early.cycles < late.cycles * 0.97
