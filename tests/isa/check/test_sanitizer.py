"""The sanitizer: the checker's findings with real micro-ops, and numbers that do not fit; bits as the reference's."""

import numpy as np
import pytest

from isa.check.checker import FindingKind, Severity, check
from isa.check.sanitizer import sanitize
from isa.instructions import Load, MemoryId
from isa.program import Program
from isa.reference import execute
from isa.text.assembler import assemble
from tests.support.configs import CONFIGS
from tests.support.golden.golden import case_names, load_case
from tests.support.golden.golden_program import golden_program
from tests.support.isa.random_programs import random_program

HEAD = """\
.data A address=0x1000 type=int32 shape=4,16
    fill 2147483647
.data I address=0x2000 type=int8 shape=4,16
    fill 127
.data W address=0x3000 type=int8 shape=16,16
    fill -128
.output C address=0x4000 type=int8 shape=4,16
.uop address=0x8000
dst=0 src=0 wgt=0
dst=1 src=0 wgt=0
.text
load.uop dram=uops x=2
load.acc dram=0x40 x=2
"""
TAIL = "store dram=0x400 x=1 pop_prev\nfinish"


def _lines(text: str) -> list[str]:
    return [str(finding) for finding in sanitize(assemble(text)).findings]


STORED = "note: instruction 3: STORE cuts ACC element 0, row 0, lane 0: {} (and 15 more)"


@pytest.mark.parametrize(
    ("line", "wrapped", "stored"),
    [
        ("alu.add uop=0:1 imm=2", "2147483649 becomes -2147483647", "-2147483647 becomes 1"),
        ("alu.mul uop=0:1", "4611686014132420609 becomes 1", None),
        ("alu.shr uop=0:1 imm=-3", "17179869176 becomes -8", None),
        ("alu.shr uop=0:1 imm=8", None, "8388607 becomes -1"),
        ("alu.min uop=0:1 imm=100", None, None),
        ("alu.max uop=0:1 imm=100", None, "2147483647 becomes -1"),
    ],
)
def test_numbers_that_do_not_fit_are_notes(line: str, wrapped: str | None, stored: str | None) -> None:
    expected = []
    if wrapped is not None:
        expected.append(f"note: instruction 2: ALU wraps ACC element 0, row 0, lane 0: {wrapped} (and 15 more)")
    if stored is not None:
        expected.append(STORED.format(stored))
    assert _lines(f"{HEAD}{line} push_next\n{TAIL}") == expected


def test_a_sum_of_products_that_wraps_is_a_note() -> None:
    text = HEAD.replace("fill 2147483647", "fill -2147483648")
    text += "load.inp dram=0x200 x=1\nload.wgt dram=0x30 x=1 push_next\ngemm uop=1:2 pop_prev push_next\n"
    assert _lines(f"{text}store dram=0x400 x=1 sram=2 y=0 pop_prev\nfinish") == [
        "note: instruction 4: GEMM wraps ACC element 1, row 0, lane 0: -2147743744 becomes 2147223552 (and 15 more)"
    ]


def test_a_number_alone_is_told_without_how_many_more_there_are() -> None:
    text = HEAD.replace("    fill 2147483647", "    hex ffffff7f" + "00000000" * 63)
    assert _lines(f"{text}alu.add uop=0:1 imm=1 push_next\n{TAIL}") == [
        "note: instruction 2: ALU wraps ACC element 0, row 0, lane 0: 2147483648 becomes -2147483648",
        *_lines(f"{text}alu.add uop=0:1 imm=1 push_next\n{TAIL}")[1:],
    ]


def test_what_waits_for_a_token_that_never_comes_is_not_done() -> None:
    text = f"{HEAD}load.acc dram=0x50 x=2 sram=4 pop_next\n{TAIL.replace(' pop_prev', '')}"
    machine = sanitize(assemble(text)).machine
    assert machine.acc[0].any()
    assert not machine.acc[4].any()


def test_one_element_after_the_other_is_watched_where_steps_depend_on_each_other() -> None:
    text = f"{HEAD}alu.add uop=0:1 iter=1,3 push_next\nnop.store pop_prev\nfinish"
    assert _lines(text) == [
        "note: instruction 2: ALU wraps ACC element 0, row 0, lane 0: 4294967294 becomes -2 (and 15 more)"
    ]


STORED_UOPS = """\
.data U address=0x1000 type=int8 shape=1,16
    {0} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
.output C address=0x8000 type=int8 shape=16
.text
load.acc8 dram=0x100 x=1 push_next
store dram=0x800 x=1 pop_prev push_prev
load.uop dram=0x2000 x=1 pop_next
alu.add uop=0:1 imm=1 iter=1,{1}
finish
"""


def test_micro_ops_that_the_program_computes_are_checked() -> None:
    """A stored word is a micro-op: the checker cannot know it, the sanitizer does."""
    assert [f.severity for f in check(assemble(STORED_UOPS.format(0, 1)))] == [Severity.NOTE]
    assert [str(f) for f in sanitize(assemble(STORED_UOPS.format(0, 1))).findings if f.severity == Severity.ERROR] == []
    found = [str(f) for f in sanitize(assemble(STORED_UOPS.format(5, 1))).findings]
    assert "error: instruction 3: ALU reads ACC element 5, which nothing has written" in found


def test_nothing_runs_after_an_instruction_that_cannot() -> None:
    text = f"{HEAD}alu.add imm=1 uop=0:1 iter=1,2049 dst=0,1\nalu.add uop=0:1 imm=2\nfinish"
    result = sanitize(assemble(text))
    assert [(f.index, f.kind) for f in result.findings] == [(2, FindingKind.BOUNDS)]
    assert (result.errors, int(result.machine.acc[0, 0, 0])) == (1, 2147483647)


def test_an_access_beyond_a_memory_that_the_program_does_not_name_is_found() -> None:
    [finding, _] = sanitize(
        assemble("load.inp dram=0x100 x=1\nload.inp dram=0x200 x=1\nfinish"), first_address=0x1000
    ).findings
    assert str(finding) == "error: instruction 0: DRAM bytes 0x1000 to 0x100f are out of range, memory ends at 0x1000"


def test_an_illegal_program_does_not_run() -> None:
    program = Program(config=CONFIGS["default"], instructions=(Load(memory=MemoryId.OUT),))
    assert [f.kind for f in sanitize(program).findings] == [FindingKind.WORD]


def test_a_program_that_deadlocks_runs_up_to_the_missing_token() -> None:
    result = sanitize(assemble(f"{HEAD}alu.add uop=0:1 imm=2\n{TAIL}"))
    assert [f.index for f in result.findings if f.severity == Severity.ERROR] == [3, None]
    assert int(result.machine.acc[0, 0, 0]) == -2147483647


def test_a_launch_may_go_on_with_what_the_one_before_left() -> None:
    first = sanitize(assemble(f"{HEAD}finish"))
    second = assemble(
        ".output C address=0x2000 type=int8 shape=64\n.text\n"
        "alu.min uop=0:2 imm=3 push_next\nstore x=2 dram=0x200 pop_prev\nfinish"
    )
    assert sanitize(second, before=first).errors == 0
    assert sanitize(second).errors > 0
    assert sanitize(second, before=first).machine.acc[0, 0].tolist() == [3] * 16


@pytest.mark.parametrize("name", CONFIGS)
def test_the_machine_ends_as_the_reference_does(name: str) -> None:
    for seed in range(8):
        program = random_program(np.random.default_rng([seed, 77]), CONFIGS[name])
        expected, result = execute(program), sanitize(program)
        assert {f.kind for f in result.findings if f.severity == Severity.ERROR} <= {FindingKind.UNWRITTEN}
        assert np.array_equal(result.machine.memory, expected.memory)
        assert np.array_equal(result.machine.acc, expected.acc)


SAMPLE = [case for case in case_names("tut.", "benchmark_gemm.", "conv2d.resnet-18.C9") if case[0] == "default"]


@pytest.mark.parametrize(("folder", "name"), SAMPLE)
def test_recorded_streams_have_the_checkers_findings_and_notes_on_numbers(folder: str, name: str) -> None:
    program = golden_program(load_case(folder, name))
    found = [f for f in sanitize(program, first_address=0x1000).findings if f.kind != FindingKind.VALUE]
    assert found == check(program, first_address=0x1000)


def test_each_operation_of_a_fused_step_is_watched() -> None:
    data = ".data A address=0x1000 type=int32 shape=3,16\n    arange 1000000000\n"
    loads = ".uop address=0x8000\ndst=0 src=1\n.text\nload.uop dram=uops x=1\nload.acc dram=A x=3\n"
    text = f".config FUSED_ALU=1\n{data}{loads}alu.mul uop=0:1 shift=1 fused\nfinish"
    notes = [f for f in _lines(text) if "wraps" in f]
    assert len(notes) == 1
