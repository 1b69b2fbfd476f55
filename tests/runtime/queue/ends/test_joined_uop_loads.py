"""Short loads of micro-ops join ones before, where nobody uses their places in between."""

import pytest

from isa.instructions import Alu, AluOpcode, Gemm, Instruction, Load, MemoryId
from runtime.queue.ends.joined_uop_loads import joined_uop_loads, uops_used
from runtime.queue.instruction_queue import Entry


def uops(place: int, count: int, source: int | None = None) -> Load:
    source = 1000 + place if source is None else source
    return Load(
        memory=MemoryId.UOP, sram_base=place, dram_base=source, y_size=1, x_size=count, x_stride=count
    )  # fmt: skip


def alu(begin: int, end: int) -> Alu:
    return Alu(alu_opcode=AluOpcode.MAX, use_imm=True, uop_bgn=begin, uop_end=end)


def joined(*instructions: Instruction) -> list[Instruction]:
    return [entry.instruction for entry in joined_uop_loads([Entry(each) for each in instructions])]


def test_neighbours_are_loaded_together_and_the_rest_keeps_its_order() -> None:
    inputs = Load(memory=MemoryId.INP, x_size=4, y_size=1, x_stride=4)
    sums = Gemm(uop_bgn=5, uop_end=65)
    found = joined(uops(5, 60), sums, inputs, uops(65, 1), alu(65, 66), uops(66, 2), alu(66, 68))
    assert found == [uops(5, 63), sums, inputs, alu(65, 66), alu(66, 68)]


@pytest.mark.parametrize(
    ("program", "count"),
    [
        ((uops(0, 4), uops(5, 1)), 2),
        ((uops(0, 4), uops(4, 1, source=7)), 2),
        ((uops(0, 4), uops(4, 17)), 2),
        ((uops(0, 4), alu(3, 5), uops(4, 1)), 2),
        ((uops(0, 4), alu(0, 4), uops(4, 1)), 1),
        ((uops(0, 4), *(uops(4 + 16 * turn, 16) for turn in range(4))), 1),
        ((uops(0, 4), *(uops(4 + 16 * turn, 16) for turn in range(5))), 2),
        ((uops(0, 4), alu(4, 5), uops(20, 1), uops(21, 1)), 2),
    ],
    ids=["a gap", "elsewhere in memory", "long", "used before", "used beside", "many", "too many", "after another one"],
)
def test_what_does_not_follow_or_is_in_use_stays_a_load(program: tuple[Instruction, ...], count: int) -> None:
    assert sum(isinstance(each, Load) for each in joined(*program)) == count


def test_the_elements_that_are_used_are_told_as_bits() -> None:
    assert uops_used(uops(2, 3)) == uops_used(alu(2, 5)) == 0b11100
    assert uops_used(alu(4, 4)) == uops_used(Load(memory=MemoryId.WGT, x_size=9)) == 0
