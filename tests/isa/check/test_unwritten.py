"""Reads of what nothing has written: on chip and in DRAM, and that consequences are not reported again."""

import pytest

from isa.check.checker import FindingKind, check, is_valid
from isa.config import VTAConfig
from isa.text.assembler import assemble

HEAD = ".uop address=0x8000\ndst=2 src=6 wgt=1\ndst=0 src=0 wgt=0\n.text\nload.uop dram=uops x=2\n"


def _errors(text: str) -> list[str]:
    findings = check(assemble(text))
    assert all(f.kind == FindingKind.UNWRITTEN for f in findings)
    return [str(f) for f in findings]


LINES = [
    ("alu.add uop=0:3", "micro-op 2 is used but no instruction before loads it"),
    ("alu.add uop=0:1 imm=1 iter=1,4 dst=0,1", "ALU reads ACC elements 2 to 5, which nothing has written"),
    ("alu.add uop=0:1 imm=1 iter=1,4 dst=0,3", "ALU reads ACC element 2 and 3 more, which nothing has written"),
    ("store x=3 y=2", "STORE reads ACC elements 0 to 5, which nothing has written"),
]


@pytest.mark.parametrize(("line", "message"), LINES)
def test_a_read_of_what_was_never_written_is_found(line: str, message: str) -> None:
    assert _errors(f"{HEAD}{line}\nfinish") == [f"error: instruction 1: {message}"]


def test_every_operand_is_looked_at() -> None:
    assert _errors(f"{HEAD}gemm uop=0:1 iter=2,2 src=2,1 wgt=1,0\nfinish") == [
        "error: instruction 1: GEMM reads ACC element 2, which nothing has written",
        "error: instruction 1: GEMM reads INP elements 6 to 9, which nothing has written",
        "error: instruction 1: GEMM reads WGT elements 1 to 2, which nothing has written",
    ]


def test_only_the_elements_that_are_missing_are_named() -> None:
    text = f"{HEAD}load.inp x=1 dram=0x100 sram=5 ypad=1,0 xpad=0,1\ngemm reset uop=0:1\n"
    text += "load.wgt x=9 dram=0x11 push_next\ngemm uop=0:1 iter=1,6 src=0,1 pop_prev\nfinish"
    assert _errors(text) == ["error: instruction 4: GEMM reads INP elements 9 to 11, which nothing has written"]


def test_a_reset_reads_nothing_and_writes() -> None:
    assert _errors(f"{HEAD}gemm reset uop=0:2\nalu.add uop=0:2\nfinish")[0].endswith(
        "ACC element 6, which nothing has written"
    )
    assert _errors(f"{HEAD}gemm reset uop=0:2\nalu.add imm=1 uop=0:2\nfinish") == []


@pytest.mark.parametrize("operation", ["alu.mul uop=0:1 imm=0", "alu.shr uop=0:1 imm=-32"])
def test_what_forgets_its_operand_is_no_read_of_it(operation: str) -> None:
    assert _errors(f"{HEAD}{operation}\nalu.add uop=0:1 imm=5\nfinish") == []


@pytest.mark.parametrize("operation", ["alu.mul uop=0:1 imm=1", "alu.shr uop=0:1 imm=-31", "alu.shr uop=0:1 imm=32"])
def test_what_keeps_some_of_its_operand_is_a_read_of_it(operation: str) -> None:
    assert _errors(f"{HEAD}alu.mul uop=1:2 imm=0\n{operation}\nfinish") == [
        "error: instruction 2: ALU reads ACC element 2, which nothing has written"
    ]


def test_no_work_reads_nothing() -> None:
    text = f"{HEAD}gemm uop=0:1 iter=0,5\nalu.add uop=5:5\nstore x=0 y=9\nstore x=3 y=0\nfinish"
    assert _errors(text) == []


def test_what_was_told_is_not_told_again() -> None:
    assert len(_errors(f"{HEAD}alu.add imm=1 uop=0:1\nalu.add imm=1 uop=0:1\nfinish")) == 1
    assert len(_errors(f"{HEAD}alu.add uop=0:1\nalu.add uop=0:1\nfinish")) == 2  # one for each operand


def test_after_an_access_out_of_bounds_its_memory_counts_as_written() -> None:
    text = f"{HEAD}load.acc x=2 dram=0x40 sram=2047\nalu.add imm=1 uop=0:1\nfinish"
    assert [(f.index, f.kind) for f in check(assemble(text))] == [(1, FindingKind.BOUNDS)]


DRAM = """\
.data A address=0x1000 type=int8 shape=64
zeros
.output C address=0x2000 type=int8 shape=64
.text
"""


def test_an_output_that_nothing_stored_is_unwritten() -> None:
    assert _errors(f"{DRAM}load.inp dram=0x100 x=4\nload.inp dram=0x201 x=2\nfinish") == [
        "error: instruction 1: LOAD INP reads DRAM bytes 0x2010 to 0x202f, which nothing has written"
    ]
    store = "load.acc8 dram=0x100 x=4 push_next\nstore dram=0x200 x=4 pop_prev push_prev\n"
    assert _errors(f"{DRAM}{store}load.acc8 dram=0x202 x=2 pop_next\nfinish") == []


def test_a_load_that_fills_its_scratchpad_is_looked_at_and_a_larger_one_is_refused() -> None:
    depth = VTAConfig().inp_depth
    found = check(assemble(f"{DRAM}load.inp dram=0x100 x={depth // 8} y=8 stride={depth // 8}\nfinish"))
    assert [str(f) for f in found if f.kind == FindingKind.BOUNDS] == [
        "error: instruction 0: LOAD INP reads DRAM bytes 0x1040 to 0x1fff and 28608 more, which are in no data and no "
        "output of the program"
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("load.inp dram=0x102 x=4", "LOAD INP reads DRAM bytes 0x1040 to 0x105f"),
        ("load.inp dram=0x100 x=1 y=3 stride=4", "LOAD INP reads DRAM bytes 0x1040 to 0x104f and 16 more"),
        ("store dram=0x300 x=1", "STORE writes DRAM bytes 0x3000 to 0x300f"),
    ],
)
def test_memory_that_the_program_does_not_name_is_out_of_bounds(line: str, message: str) -> None:
    found = check(assemble(f"{DRAM}load.acc8 dram=0x100 x=1 push_next\n{line}{_pop(line)}\nfinish"))
    assert [str(f) for f in found if f.kind == FindingKind.BOUNDS] == [
        f"error: instruction 1: {message}, which are in no data and no output of the program"
    ]


def _pop(line: str) -> str:
    return " pop_prev" if line.startswith("store") else ""


def test_a_program_that_names_no_memory_is_not_judged_by_it() -> None:
    assert _errors("load.inp dram=0x102 x=4\nfinish") == []


def test_unwritten_reads_do_not_make_engines_differ() -> None:
    assert is_valid(assemble("store x=1\nfinish"))


def test_every_tap_of_a_depthwise_step_is_read() -> None:
    head = ".config DEPTHWISE_TAPS=3\n" + HEAD
    text = f"{head}gemm reset uop=0:2\nload.inp x=9 dram=0x10 sram=0\nload.wgt x=2 dram=0x11 push_next\n"
    inside = "gemm uop=0:1 depthwise pop_prev\nfinish"
    assert _errors(text + inside) == []
    beyond = "gemm uop=0:1 depthwise iter=1,2 src=0,1 pop_prev\nfinish"
    assert _errors(text + beyond) == ["error: instruction 4: GEMM reads INP element 9, which nothing has written"]


def test_both_operands_of_a_fused_step_are_read() -> None:
    head = ".config FUSED_ALU=1\n" + HEAD
    text = f"{head}load.acc x=6 dram=0x10 sram=2\n"
    inside = "alu.max uop=0:1 fused shift=3\nfinish"
    assert _errors(text + inside) == []
    beyond = "alu.max uop=0:1 iter=1,2 src=0,1 fused\nfinish"
    assert _errors(text + beyond) == ["error: instruction 2: ALU reads ACC element 8, which nothing has written"]
