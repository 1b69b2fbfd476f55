"""Two programs in step: the first instruction after which they have not done the same."""

from dataclasses import replace

import numpy as np
import pytest

from isa.instructions import Load, MemoryId
from isa.program import MemoryImage, MemorySegment, Program
from isa.text.assembler import assemble
from runtime.memory.placement import page_ranges
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program
from vta.inspect.diff.differ import DiffError
from vta.inspect.diff.program_diff import ProgramComparison, _data_ranges, diff_programs

TEXT = """\
.data A address=0x1000 type=int32 shape=8,16
    arange
.output C address=0x2000 type=int8 shape=4,16
.uop address=0x3000
dst=0
dst=1
.text
load.acc dram=A x=4
load.uop dram=uops x=2
alu.add uop=0:1 iter=1,4 dst=0,1 imm=3 push_next
store dram=C x=4 pop_prev push_prev
finish pop_next
"""


def compare(*changes: tuple[str, str], device: str = "reference") -> ProgramComparison:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return diff_programs(assemble(TEXT), assemble(text), device=device)


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_an_instruction_that_does_something_else_is_found(device: str) -> None:
    assert str(compare(("imm=3", "imm=4"), device=device).difference) == (
        "first difference at instruction 2\n"
        "  the first: alu.add uop=0:1 iter=1,4 dst=0,1 src=0,0 imm=3 push_next\n"
        "  the second: alu.add uop=0:1 iter=1,4 dst=0,1 src=0,0 imm=4 push_next\n"
        "  ACC[0, row 0, lane 0]: the first has 3, the second has 4 (63 more differ)"
    )


CHANGES = [
    (("dram=A x=4", "dram=A+1 x=4"), 0),
    (("dst=1\n", "dst=3\n"), 1),
    (("uop=0:1", "uop=1:2"), 2),
    (("store dram=C", "store dram=C sram=1"), 3),
]


@pytest.mark.parametrize(("change", "index"), CHANGES)
def test_the_difference_is_told_at_the_first_instruction_that_shows_it(change: tuple[str, str], index: int) -> None:
    found = compare(change).difference
    assert found is not None
    assert found.index == index


def test_words_that_do_the_same_are_no_difference() -> None:
    result = compare((" push_next", ""), ("iter=1,4 dst=0,1", "iter=1,4 dst=9,1 src=5,5"))
    assert result == ProgramComparison(None, (2,))
    assert compare() == ProgramComparison(None, ())


def test_memory_that_differs_is_told_first() -> None:
    assert str(compare(("    arange", "    arange 5")).difference) == (
        "first difference before the first instruction\n"
        "  A, DRAM byte 0x1000: 0 in the first, 5 in the second (128 bytes differ)"
    )
    assert str(compare(("shape=8,16", "shape=9,16")).difference) == (
        "first difference before the first instruction\n"
        "  memory at 0x1000: 512 bytes in the first, 576 bytes in the second"
    )
    assert str(compare((".data A address=0x1000", ".data A address=0x4000")).difference) == (
        "first difference before the first instruction\n"
        "  memory at 0x1000: 512 bytes in the first, nothing in the second"
    )
    assert str(compare(("type=int8 shape=4,16", "type=int8 shape=5,16")).difference) == (
        "first difference before the first instruction\n"
        "  outputs: C at 0x2000, 64 bytes in the first, C at 0x2000, 80 bytes in the second"
    )


def test_a_program_that_cannot_go_on_differs_from_one_that_can() -> None:
    assert str(compare(("iter=1,4", "iter=1,4000")).difference).endswith(
        "  the first: goes on\n  the second: accumulator index 3999 is out of range, the buffer has 2048 elements"
    )


def test_two_programs_that_end_at_one_instruction_for_one_reason_do_the_same() -> None:
    bad = assemble(TEXT.replace("iter=1,4", "iter=1,4000"))
    assert diff_programs(bad, bad) == ProgramComparison(None, ())


def test_what_one_program_has_more_is_compared_too() -> None:
    longer = TEXT.replace("finish pop_next", "alu.add uop=0:1 imm=1\nfinish pop_next")
    found = diff_programs(assemble(TEXT), assemble(longer)).difference
    assert found is not None
    assert found.index == 4
    trailing = TEXT.replace("finish pop_next", "finish\nalu.add uop=0:1 imm=1")
    assert str(diff_programs(assemble(TEXT), assemble(trailing)).difference).splitlines()[1:3] == [
        "  the first: (has ended)",
        "  the second: alu.add uop=0:1 iter=1,1 dst=0,0 src=0,0 imm=1",
    ]


def test_random_programs_equal_themselves() -> None:
    for name in CONFIGS:
        program = random_program(np.random.default_rng(4), CONFIGS[name])
        assert diff_programs(program, program, device="sim") == ProgramComparison(None, ())


def test_what_cannot_be_compared_is_refused() -> None:
    program = assemble(TEXT)
    other = random_program(np.random.default_rng(0), CONFIGS["block32"])
    with pytest.raises(DiffError, match=r"^the programs are for different configurations, 1x16_.* and 1x32_"):
        diff_programs(program, other)
    illegal = replace(program, instructions=(Load(memory=MemoryId.OUT), *program.instructions[1:]))
    message = "^a program with an illegal instruction cannot be run: instruction 0: LOAD: memory OUT cannot be loaded"
    with pytest.raises(DiffError, match=message):
        diff_programs(program, illegal)


def test_programs_without_memory_are_compared() -> None:
    empty = Program(config=CONFIGS["default"], instructions=assemble("nop.load\nfinish").instructions)
    assert diff_programs(empty, empty) == ProgramComparison(None, ())


@pytest.mark.parametrize("first", [0x1000, 0x1800, 0x3000])
def test_every_byte_of_the_pages_is_compared_but_for_micro_ops(first: int) -> None:
    segments = tuple(MemorySegment(address=at, data=bytes(16)) for at in (0x1100, 0x2F00) if at != first)
    program = Program(
        config=CONFIGS["default"], instructions=(), uops=(0,) * 8, uop_base=first, memory=MemoryImage(segments=segments)
    )
    compared = {byte for low, high in _data_ranges(program) for byte in range(low, high)}
    pages = {byte for low, high in page_ranges(program) for byte in range(low, high)}
    assert compared == pages - set(range(first, first + 32))
    assert len(compared) == sum(high - low for low, high in _data_ranges(program))


def test_a_store_beside_all_data_is_a_difference() -> None:
    found = compare(("dram=C", "dram=0x2f0")).difference
    assert found is not None
    assert found.index == 3
