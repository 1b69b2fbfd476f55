"""What of two machines differs first, in the words of the program."""

from dataclasses import replace

import numpy as np
import pytest

from isa.instructions import Alu, AluOpcode, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.program import MemorySegment
from isa.text.assembler import assemble
from vta.inspect.diff.state import DRAM, Mismatch, Space, first_mismatch, names_of_dram, space_written

_NAMED = assemble(
    ".data A address=0x1000 type=int16 shape=3,4\nzeros\n"
    ".output A address=0x1000 type=int16 shape=3,4\n.output E address=0x1200 type=int8 shape=0\n"
    ".uop address=0x3000\ndst=0\n.text\nfinish"
)
_NAMELESS = MemorySegment(address=0x1100, data=bytes(2))
PROGRAM = replace(_NAMED, memory=replace(_NAMED.memory, segments=(*_NAMED.memory.segments, _NAMELESS)))


@pytest.mark.parametrize(
    ("address", "place"),
    [
        (0x100B, "A[1, 1] (DRAM byte 0x100a)"),
        (0x1101, "data[1] (DRAM byte 0x1101)"),
        (0x1080, "DRAM byte 0x1080"),
        (0x3000, "micro-ops[0] (DRAM byte 0x3000)"),
    ],
)
def test_a_byte_of_dram_has_the_name_that_the_program_gives_it(address: int, place: str) -> None:
    expected, found = (np.zeros(0x4000, np.uint8) for _ in range(2))
    found[address] = 1
    mismatch = first_mismatch(DRAM, expected, found, PROGRAM)
    assert mismatch is not None
    assert mismatch.place == place


def test_bytes_outside_of_the_ranges_are_not_compared() -> None:
    expected, found = (np.zeros(0x4000, np.uint8) for _ in range(2))
    found[[0x2000, 0x1008]] = 1
    assert first_mismatch(DRAM, expected, found, PROGRAM, [(0x1000, 0x1008), (0x3000, 0x3004)]) is None
    assert first_mismatch(DRAM, expected, found, PROGRAM) == Mismatch("A[1, 0] (DRAM byte 0x1008)", 0, 1, 1)
    assert first_mismatch(DRAM, expected, found, PROGRAM, []) is None


def test_a_mismatch_counts_the_elements() -> None:
    expected, found = np.zeros((8, 1, 4), np.int32), np.zeros((8, 1, 4), np.int32)
    assert first_mismatch(MemoryId.ACC, expected, found, PROGRAM) is None
    found[2, 0, 1:] = -7
    mismatch = first_mismatch(MemoryId.ACC, expected, found, PROGRAM)
    assert mismatch == Mismatch("ACC[2, row 0, lane 1]", 0, -7, 3)
    assert mismatch.text("one", "two") == "ACC[2, row 0, lane 1]: one has 0, two has -7 (2 more differ)"


def test_names_come_with_the_outputs_first_and_without_what_is_empty() -> None:
    assert [entry[:2] for entry in names_of_dram(PROGRAM)] == [
        ("A", 0x1000),
        ("A", 0x1000),
        ("data", 0x1100),
        ("micro-ops", 0x3000),
    ]


@pytest.mark.parametrize(
    ("instruction", "spaces"),
    [
        (Load(memory=MemoryId.ACC_8BIT), (MemoryId.ACC,)),
        (Load(memory=MemoryId.INP), (MemoryId.INP,)),
        (Load(memory=MemoryId.UOP), (MemoryId.UOP,)),
        (Gemm(), (MemoryId.ACC,)),
        (Alu(alu_opcode=AluOpcode.ADD), (MemoryId.ACC,)),
        (Store(), (DRAM,)),
        (Finish(), ()),
    ],
)
def test_an_instruction_writes_one_space(instruction: Instruction, spaces: tuple[Space, ...]) -> None:
    assert space_written(instruction) == spaces
