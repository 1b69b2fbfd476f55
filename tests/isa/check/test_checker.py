"""What the checker finds, word by word, and that it finds nothing in what is right."""

from dataclasses import replace

import numpy as np
import pytest

from isa.check.checker import Finding, FindingKind, Severity, check, is_valid
from isa.config import VTAConfig
from isa.encoding import encode_uop
from isa.instructions import Finish, Gemm, Instruction, Load, MemoryId, MicroOp
from isa.known_uops import KnownUops
from isa.program import Program
from isa.reference import InterpreterError, Reference
from isa.text.assembler import assemble
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program

KERNEL = ".uop address=0x8000\ndst=2000 src=2040 wgt=1000\ndst=0 src=0 wgt=0\n.text\nload.uop dram=uops x=2\n"


def _findings(text: str) -> list[str]:
    """Return the findings that are not about reads of what was never written: test_unwritten.py has those."""
    return [str(finding) for finding in check(assemble(text)) if finding.kind != FindingKind.UNWRITTEN]


UNKNOWN = "note: instruction {}: its micro-ops are not in the program's memory, so what it touches is not checked"


def test_a_finding_is_one_line() -> None:
    assert str(Finding(Severity.ERROR, 3, "bad")) == "error: instruction 3: bad"
    assert str(Finding(Severity.NOTE, None, "odd")) == "note: odd"


BOUNDS = [
    ("load.inp x=2 sram=2047", "INP elements 2047 to 2048 are out of range, the buffer has 2048 elements"),
    (
        "load.inp x=1 y=1 sram=2040 ypad=1,1 xpad=1,1",
        "INP elements 2040 to 2048 are out of range, the buffer has 2048 elements",
    ),
    ("load.wgt x=1 sram=1024", "WGT elements 1024 to 1024 are out of range, the buffer has 1024 elements"),
    ("load.acc x=1 sram=2048", "ACC elements 2048 to 2048 are out of range, the buffer has 2048 elements"),
    ("load.acc8 x=1 sram=2048", "ACC_8BIT elements 2048 to 2048 are out of range, the buffer has 2048 elements"),
    ("load.uop x=1 sram=8192", "UOP elements 8192 to 8192 are out of range, the buffer has 8192 elements"),
    ("store x=2 y=1024 sram=1", "OUT elements 1 to 2048 are out of range, the buffer has 2048 elements"),
    (
        "load.wgt x=2 y=3 stride=0x10 dram=0xffffdf",
        "DRAM bytes 0xffffff00 to 0x1000000ff are out of range, memory ends at 0x100000000",
    ),
    (
        "store x=1 dram=0x10000000",
        "DRAM bytes 0x100000000 to 0x10000000f are out of range, memory ends at 0x100000000",
    ),
    ("gemm uop=0:1 iter=1,49 dst=0,1", "accumulator index 2048 is out of range, the buffer has 2048 elements"),
    ("gemm uop=0:1 iter=5,5 src=1,1", "input index 2048 is out of range, the buffer has 2048 elements"),
    ("gemm uop=0:2 iter=3,13 wgt=6,1", "weight index 1024 is out of range, the buffer has 1024 elements"),
    ("gemm reset uop=0:1 iter=2,1 dst=48,0", "accumulator index 2048 is out of range, the buffer has 2048 elements"),
    ("alu.add uop=0:1 iter=9,1 src=1,0", "accumulator index 2048 is out of range, the buffer has 2048 elements"),
    ("alu.add uop=0:1 imm=1 iter=49,1 dst=1,0", "accumulator index 2048 is out of range, the buffer has 2048 elements"),
    ("gemm uop=8191:8193", "micro-op index 8192 is out of range, the buffer has 8192 elements"),
]


@pytest.mark.parametrize(("line", "message"), BOUNDS, ids=[line for line, _ in BOUNDS])
def test_an_access_out_of_bounds_is_found(line: str, message: str) -> None:
    assert _findings(f"{KERNEL}{line}\nfinish") == [f"error: instruction 1: {message}"]


WITHIN = [
    "load.inp x=2048",
    "load.inp x=1 y=1 sram=2039 ypad=1,1 xpad=1,1",
    "load.inp x=0 y=9 sram=65535 ypad=15,15",
    "load.inp x=9 y=0 sram=65535",
    "store x=9 y=0 sram=65535",
    "load.wgt x=2 y=3 stride=0x10 dram=0xffffde",
    "gemm uop=0:1 iter=1,48 dst=0,1",
    "gemm uop=0:1 iter=4,5 src=1,1",
    "gemm uop=0:2 iter=3,12 wgt=6,1",
    "gemm reset uop=0:1 iter=2,2 src=2047,2047 wgt=1023,1023",
    "alu.add uop=0:1 imm=1 iter=2,2 src=2047,2047",
    "alu.add uop=0:1 iter=8,1 src=1,0",
    "gemm uop=5:5 iter=16383,16383 dst=2047,2047",
    "gemm uop=5:3",
    "gemm uop=100:200 iter=0,9",
    "alu.add uop=100:200 iter=9,0",
]


@pytest.mark.parametrize("line", WITHIN)
def test_an_access_within_bounds_is_not_found(line: str) -> None:
    assert _findings(f"{KERNEL}{line}\nfinish") == []


def test_bounds_follow_the_memory_at_hand() -> None:
    program = assemble("load.inp x=1 dram=255\nload.inp x=1 dram=256\nfinish")
    [finding] = check(program, memory_bytes=4096)
    assert str(finding) == ("error: instruction 1: DRAM bytes 0x1000 to 0x100f are out of range, memory ends at 0x1000")
    assert is_valid(program)
    assert not is_valid(program, memory_bytes=4096)


def test_what_lies_where_there_is_no_memory_is_found() -> None:
    text = """\
.data A address=0xff0 type=int8 shape=32 zeros
.output "" address=0x1ff0 type=int8 shape=17
.output E address=0 type=int8 shape=0
.uop address=0
dst=0
.text
load.inp x=1 dram=0xff
load.inp x=1 dram=0x100
finish
"""
    assert check(assemble(text)) == []
    assert [str(f) for f in check(assemble(text), first_address=0x1000, memory_bytes=0x2000)] == [
        "error: memory segment A: bytes 0xff0 to 0x100f are out of range, memory begins at 0x1000",
        "error: output: bytes 0x1ff0 to 0x2000 are out of range, memory ends at 0x2000",
        "error: micro-op image: bytes 0x0 to 0x3 are out of range, memory begins at 0x1000",
        "error: instruction 0: DRAM bytes 0xff0 to 0xfff are out of range, memory begins at 0x1000",
    ]


def test_a_range_of_micro_ops_is_judged_anew_after_each_load() -> None:
    use = "gemm uop=0:2 iter=1,48 dst=0,1\n"
    loads = ("load.uop dram=uops x=2\n", "load.uop dram=uops x=1 sram=1\n")
    text = f".uop address=0x8000\ndst=2000\ndst=2001\n.text\n{loads[0]}{use}{loads[1]}"
    assert _findings(f"{text}{use}finish") == [
        "error: instruction 1: accumulator index 2048 is out of range, the buffer has 2048 elements"
    ]
    assert _findings(f"{text}load.uop dram=0x400 x=2\n{use}finish")[1:] == [UNKNOWN.format(4)]


def test_micro_ops_are_followed_through_reloads() -> None:
    text = KERNEL + "alu.add uop=0:1 imm=1 iter=1,49 dst=0,1\nload.uop dram=uops+1 x=1\n"
    assert _findings(text + "alu.add uop=0:1 imm=1 iter=1,49 dst=0,1\nfinish") == [
        "error: instruction 1: accumulator index 2048 is out of range, the buffer has 2048 elements"
    ]


def test_micro_ops_from_elsewhere_in_dram_are_not_judged() -> None:
    assert _findings("load.uop x=1 dram=5\ngemm uop=0:1 iter=2,2 dst=2047,2047\nfinish") == [UNKNOWN.format(1)]


def test_micro_ops_in_a_memory_segment_are_judged() -> None:
    text = ".data U address=0x1000 type=int32 shape=2\n0 2000\n.text\nload.uop x=1 dram=0x401\n"
    assert _findings(f"{text}gemm uop=0:1 iter=1,49 dst=0,1\nfinish") == [
        "error: instruction 1: accumulator index 2048 is out of range, the buffer has 2048 elements"
    ]


def test_micro_ops_that_a_store_may_have_changed_are_not_judged() -> None:
    kernel = ".uop address=0x8000\ndst=2000\n.text\n"
    use = "load.uop dram=uops x=1 pop_next\ngemm uop=0:1 iter=1,49 dst=0,1\nfinish"
    store = "store dram=0x800 x=1 push_prev\n"
    assert _findings(kernel + store + use) == [UNKNOWN.format(2)]
    beside = "store dram=0x801 x=1 push_prev\nstore dram=0x7ff x=1\n"
    assert len(_findings(kernel + beside + use)) == 1


def test_a_store_that_ends_inside_of_a_micro_op_changes_it() -> None:
    program = Program(config=VTAConfig(), instructions=(Finish(),), uops=(5, 6, 7), uop_base=0x1000)
    known = KnownUops(program)
    known.store(0x1002, 0x1005)
    known.load(Load(memory=MemoryId.UOP, dram_base=0x400, y_size=1, x_size=3))
    assert [known.read(place, place + 1).complete for place in range(3)] == [False, False, True]


def test_a_micro_op_with_unused_bits_is_found() -> None:
    config = CONFIGS["in16out32"]
    load = Load(memory=MemoryId.UOP, dram_base=0x400, y_size=1, x_size=1)
    program = Program(config=config, instructions=(load, Gemm(uop_end=1), Finish()), uops=(1 << 31,), uop_base=0x1000)
    [finding] = check(program)
    reason = "micro-op 0: UOP: unused bits from bit 30 on must be zero, not 0x2"
    assert str(finding) == f"error: instruction 1: {reason}"


def test_illegal_words_are_found_one_by_one() -> None:
    instructions: tuple[Instruction, ...] = (
        Load(memory=MemoryId.OUT),
        Gemm(iter_in=1 << 14),
        Load(memory=MemoryId.INP, y_size=1, x_size=3000),
        Finish(),
    )
    assert [str(f) for f in check(Program(config=VTAConfig(), instructions=instructions))] == [
        "error: instruction 0: LOAD: memory OUT cannot be loaded, only stored",
        "error: instruction 1: GEMM: field 'iter_in' holds 14 bits, not 16384",
        "error: instruction 2: INP elements 0 to 2999 are out of range, the buffer has 2048 elements",
    ]


def test_finish_must_be_there_and_last() -> None:
    assert _findings("nop.load") == [
        "error: the program has no FINISH, so it never ends: put one after the last instruction"
    ]
    assert _findings("") == ["error: the program has no FINISH, so it never ends: put one after the last instruction"]
    assert _findings("finish\nnop.load\nfinish") == ["error: instruction 0: FINISH must be the last instruction"]


def test_a_deadlock_is_found() -> None:
    assert _findings("nop.load push_next\nnop.compute pop_prev\nnop.compute pop_prev\nfinish") == [
        "error: instruction 2: takes a token from l2g that nothing gives; the last instruction of LOAD before it is "
        "instruction 0 (LOAD INP); it may as well be instruction 1 that takes one too many",
        "error: deadlock: COMPUTE at instruction 2 waits for l2g",
    ]


def test_a_pop_before_its_push_is_found() -> None:
    assert _findings("nop.compute pop_prev\nnop.load push_next\nfinish") == [
        "error: instruction 0: takes a token from l2g that instruction 1 gives, which is not before it"
    ]


def test_tokens_left_over_are_a_note() -> None:
    program = assemble("nop.store push_prev\nnop.load push_next\nnop.load push_next\nfinish pop_prev")
    assert [str(f) for f in check(program)] == ["note: tokens are left over at FINISH: 1 in l2g, 1 in s2g"]
    assert is_valid(program)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_checker_and_the_reference_agree_on_bounds(name: str) -> None:
    config = CONFIGS[name]
    rng = np.random.default_rng(4)
    verdicts = set()
    for _ in range(120):
        uops = tuple(
            encode_uop(
                MicroOp(
                    dst=int(rng.integers(config.acc_depth)),
                    src=int(rng.integers(min(config.inp_depth, config.acc_depth))),
                    wgt=int(rng.integers(config.wgt_depth)),
                ),
                config,
            )
            for _ in range(3)
        )
        load = Load(memory=MemoryId.UOP, dram_base=0x400, y_size=1, x_size=3)
        gemm = Gemm(
            reset=bool(rng.random() < 0.2),
            uop_bgn=int(rng.integers(3)),
            uop_end=3,
            iter_out=int(rng.integers(4)),
            iter_in=int(rng.integers(4)),
            dst_factor_out=int(rng.integers(config.acc_depth // 4)),
            src_factor_in=int(rng.integers(config.inp_depth // 4)),
            wgt_factor_out=int(rng.integers(config.wgt_depth // 4)),
        )
        program = Program(config=config, instructions=(load, gemm, Finish()), uops=uops, uop_base=0x1000)
        try:
            Reference(config, program.dram()).run(program)
            runs = True
        except InterpreterError:
            runs = False
        assert is_valid(program) is runs
        verdicts.add(runs)
    assert verdicts == {True, False}


def test_a_program_without_a_finish_of_a_valid_one_is_invalid() -> None:
    program = random_program(np.random.default_rng(0), VTAConfig())
    cut = replace(program, instructions=program.instructions[:-1], origins=())
    assert not is_valid(cut)


def test_transfers_far_beyond_every_buffer_take_no_time() -> None:
    """A hundred transfers of 65,535 rows: nothing keeps a note of each row."""
    text = "load.inp x=1 y=65535 stride=65535 dram=0x100\n" * 100
    findings = check(assemble(f"{text}finish"))
    assert len(findings) == 200  # the scratchpad and the end of memory, each
