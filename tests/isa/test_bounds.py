"""Sentences about accesses out of range, and which row of a transfer is the first."""

import pytest

from isa.bounds import index_text, outside_text, row_outside, sram_text
from isa.instructions import Load, MemoryId, Store

DRAM = range(0x1000, 0x2000)


def test_an_index_and_a_range_name_the_limit() -> None:
    assert index_text("weight", 1024, 1024) == "weight index 1024 is out of range, the buffer has 1024 elements"
    assert sram_text("INP", 2040, 9, 2048) == "INP elements 2040 to 2048 are out of range, the buffer has 2048 elements"


@pytest.mark.parametrize(
    ("begin", "end", "text"),
    [
        (0x1000, 0x2000, None),
        (0xFFF, 0x1001, "it is out of range, memory begins at 0x1000"),
        (0x1FFF, 0x2001, "it is out of range, memory ends at 0x2000"),
        (0xFFF, 0x2001, "it is out of range, memory begins at 0x1000"),
    ],
)
def test_memory_begins_and_ends_somewhere(begin: int, end: int, text: str | None) -> None:
    assert outside_text("it is", begin, end, DRAM) == text


@pytest.mark.parametrize(
    ("transfer", "text"),
    [
        (Store(dram_base=0x100, y_size=256, x_size=1, x_stride=1), None),
        (
            Store(dram_base=0xFF, y_size=2, x_size=1, x_stride=1),
            "DRAM bytes 0xff0 to 0xfff are out of range, memory begins at 0x1000",
        ),
        (
            Store(dram_base=0x1F0, y_size=3, x_size=1, x_stride=8),
            "DRAM bytes 0x2000 to 0x200f are out of range, memory ends at 0x2000",
        ),
        (
            Load(memory=MemoryId.ACC, dram_base=0x7F, y_size=1, x_size=2),
            "DRAM bytes 0x1fc0 to 0x203f are out of range, memory ends at 0x2000",
        ),
    ],
    ids=["inside", "before", "third-row", "one-row"],
)
def test_the_first_row_outside_is_named(transfer: Load | Store, text: str | None) -> None:
    size = 64 if isinstance(transfer, Load) else 16
    assert row_outside(transfer, size, DRAM) == text
