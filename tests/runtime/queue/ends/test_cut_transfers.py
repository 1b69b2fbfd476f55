"""Parts of transfers move what the whole moves, each element once, from and to the same places."""

from itertools import pairwise

import numpy as np
import pytest

from isa.instructions import Load, MemoryId, Store
from runtime.memory.device_memory import DeviceMemory
from runtime.queue.ends.cut_transfers import Rows
from runtime.queue.instruction_queue import DramSpan, Entry

BUFFER = DeviceMemory().alloc(1 << 16)


def moved(transfer: Load | Store) -> dict[int, int]:
    """Return the DRAM element (or -1: a zero) of each scratchpad element."""
    width = transfer.x_pad_0 + transfer.x_size + transfer.x_pad_1
    found = {}
    for row in range(transfer.y_pad_0 + transfer.y_size + transfer.y_pad_1):
        for column in range(width):
            y, x = row - transfer.y_pad_0, column - transfer.x_pad_0
            inside = 0 <= y < transfer.y_size and 0 <= x < transfer.x_size
            place = transfer.dram_base + y * transfer.x_stride + x if inside else -1
            found[transfer.sram_base + row * width + column] = place
    return found


def random_transfer(rng: np.random.Generator) -> Load | Store:
    rows, columns = int(rng.integers(1, 6)), int(rng.integers(1, 8))
    stride = columns + int(rng.integers(0, 3))
    if rng.random() < 0.4:
        return Store(sram_base=7, dram_base=100, y_size=rows, x_size=columns, x_stride=stride)
    pads = [int(pad) for pad in rng.integers(0, 2, 4) * rng.integers(0, 2)]
    return Load(
        memory=MemoryId.INP, sram_base=7, dram_base=100, y_size=rows, x_size=columns, x_stride=stride,
        x_pad_0=pads[0], x_pad_1=pads[1], y_pad_0=pads[2], y_pad_1=pads[3],
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_the_parts_of_a_transfer_are_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    transfer = random_transfer(rng)
    target = DramSpan(BUFFER, transfer.dram_base - 60, 0, 16)
    rows = Rows.of(Entry(transfer, target=target))
    cuts = sorted({0, rows.count, *rng.integers(0, rows.count + 1, 3).tolist()})
    found: dict[int, int] = {}
    for first, last in pairwise(cuts):
        elements = {element for row in range(first, last) for element in rows.elements(row)}
        mine: dict[int, int] = {}
        for part in rows.part(first, last):
            assert isinstance(part.instruction, Load | Store)
            assert part.target is not None
            assert part.target.offset == part.instruction.dram_base - 60
            places = moved(part.instruction)
            touched = [place for place in places.values() if place >= 0]
            whole = (first, last) == (0, rows.count)
            assert whole or part.target.reach == max(touched) + 1 - part.instruction.dram_base
            assert not mine.keys() & places.keys()
            mine |= places
        assert mine.keys() == elements
        found |= mine
    assert found == moved(transfer)
    assert (rows.begin, rows.end) == (min(found), max(found) + 1)


def test_a_part_without_a_buffer_has_none() -> None:
    [part] = Rows.of(Entry(Load(memory=MemoryId.INP, x_size=8, y_size=1, x_stride=8))).part(2, 5)
    assert part.target is None
