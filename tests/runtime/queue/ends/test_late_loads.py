"""Operands that serve several sums come in parts, each just before the first sum that needs it."""

import pytest

import vta
from isa.config import VTAConfig
from isa.instructions import Gemm, Load, MemoryId
from isa.program import Program
from runtime.queue.ends.late_loads import late_loads
from runtime.queue.instruction_queue import Entry
from tests.support.runtime.launched import program_of
from vta.topi import Conv2d
from vta.topi.conv.conv2d import ConvTiles
from vta.topi.core.resident import Resident

CONFIG = VTAConfig()
LAYER = Conv2d(1, 64, 7, 7, 64, (3, 3), padding=(1, 1, 1, 1))


def before_sums(program: Program, memory: MemoryId) -> list[int]:
    """Return how many elements are loaded before each of the first sums, of all those that were not loaded before."""
    counts, seen = [0], set[int]()
    for instruction in program.instructions:
        if isinstance(instruction, Load) and instruction.memory is memory:
            rows = range(instruction.y_size)
            new = {
                instruction.dram_base + y * instruction.x_stride + x for y in rows for x in range(instruction.x_size)
            }
            counts[-1] += len(new - seen)
            seen |= new
        elif isinstance(instruction, Gemm) and not instruction.reset and counts[-1]:
            counts.append(0)
    return counts


@pytest.mark.parametrize("resident", [Resident.KERNEL, Resident.DATA])
def test_what_stays_on_the_chip_comes_step_by_step(resident: Resident) -> None:
    tiles = ConvTiles(
        tile_h=7 if resident is Resident.DATA else 1, tile_w=7, tile_co=1, run=7, rotate_tiles=2, rotate_steps=2,
        resident=resident,
    )  # fmt: skip
    memory = MemoryId.WGT if resident is Resident.KERNEL else MemoryId.INP
    counts = before_sums(program_of(LAYER, vta.Environment(CONFIG), tiles), memory)
    step = 9 if resident is Resident.KERNEL else 49
    assert sum(counts[: 2 if resident is Resident.DATA else 1]) == step  # in data, the first step has two parts
    assert sum(counts[:4]) == (4 if resident is Resident.KERNEL else 2) * step


def test_what_is_loaded_for_every_sum_is_left_alone() -> None:
    entries = [
        (Entry(instruction), None)
        for instruction in (
            Load(memory=MemoryId.INP, x_size=64, y_size=1, x_stride=64),
            Load(memory=MemoryId.WGT, x_size=9, y_size=1, x_stride=9),
            Gemm(uop_end=1),
        )
    ]
    assert late_loads(entries, CONFIG) == entries


def test_sums_that_nobody_knows_bring_all_rows_at_once() -> None:
    wide = Load(memory=MemoryId.WGT, x_size=9, y_size=1, x_stride=9)
    entries = [(Entry(wide), None), (Entry(Load(memory=MemoryId.INP, x_size=1, y_size=1, x_stride=1)), None)]
    entries += [(Entry(Gemm(uop_end=1)), None), (Entry(Gemm(uop_end=1)), None)]
    found = [entry.instruction for entry, _ in late_loads(entries, CONFIG)]
    assert found == [entries[place][0].instruction for place in (1, 0, 2, 3)]
