"""Every message of the assembler: place, what was expected, what came, a hint."""

from pathlib import Path

import pytest

from isa.config import VTAConfig
from isa.instructions import AluOpcode
from isa.text.assembler import AssemblyError, assemble, assemble_file, parse_instruction
from tests.support.configs import CONFIGS

OPERANDS = "sram=, dram=, y=, x=, stride=, ypad=, xpad=, pop_prev, pop_next, push_prev, push_next"
ALU_MNEMONICS = ", ".join(f"alu.{opcode.name.lower()}" for opcode in AluOpcode)

LINES: list[tuple[str, str]] = [
    ("lod.inp x=1", "unknown instruction 'lod.inp'; did you mean 'load.inp'?"),
    ("LOAD.INP x=1", "unknown instruction 'LOAD.INP'; did you mean 'load.inp'?"),
    (".UOP", "unknown directive '.UOP'; did you mean '.uop'?"),
    (
        "zzz",
        "unknown instruction 'zzz'; expected one of load.uop, load.wgt, load.inp, load.acc, load.acc8, load.out, "
        "store, store.uop, store.wgt, store.inp, store.acc, store.acc_8bit, gemm, "
        f"{ALU_MNEMONICS}, finish, nop.load, nop.compute, nop.store",
    ),
    ("load.inp x=1 stride=2 srm=3", "load.inp has no operand 'srm='; did you mean 'sram='?"),
    ("load.inp x=1 qq=3", f"load.inp has no operand 'qq='; expected one of {OPERANDS}"),
    ("load.inp x=1 push_nxt", "load.inp has no operand 'push_nxt'; did you mean 'push_next'?"),
    ("load.inp x=1 push_next=1", "load.inp has no operand 'push_next='; did you mean 'push_next'?"),
    ("load.inp x", "expected x=N, not 'x'"),
    ("load.inp x=1 reset", f"load.inp has no operand 'reset'; expected one of {OPERANDS}"),
    ("nop.load x=1", "nop.load has no operand 'x='; expected one of pop_prev, pop_next, push_prev, push_next"),
    ("load.inp x=1 x=2", "'x_size' is given twice"),
    ("load.inp x=1 push_next push_next", "'push_next' is given twice"),
    ("load.inp sram=1", "load.inp needs x=N (elements of a row)"),
    ("gemm reset", "gemm needs uop=N:N (micro-ops: first, and one after the last)"),
    ("alu.add uop=0:1 imm=1 unused_imm=2", "'imm' is given twice"),
    ("load.inp x=abc", "expected a number such as 12, -3 or 0x1f, not 'abc'"),
    ("load.inp x=010", "expected a number such as 12, -3 or 0x1f, not '010'"),
    ("load.inp x=1_0", "expected a number such as 12, -3 or 0x1f, not '1_0'"),
    ("load.inp x=", "expected a number such as 12, -3 or 0x1f, not ''"),
    ("load.inp x=0x" + "f" * 5000, "expected a number such as 12, -3 or 0x1f, not one of 5002 characters"),
    ("load.inp x=\u0663", "expected a number such as 12, -3 or 0x1f, not '\u0663'"),
    ("load.inp x=1 ypad=1", "expected ypad=N,N, not ypad=1"),
    ("gemm uop=0,1", "expected uop=N:N, not uop=0,1"),
    ("load.inp x=70000", "field 'x_size' holds 16 bits, not 70000; x= takes 0 to 65535"),
    ("load.inp x=-1", "field 'x_size' holds 16 bits, not -1; x= takes 0 to 65535"),
    ("load.inp x=1 xpad=0,16", "field 'x_pad_1' holds 4 bits, not 16; xpad= takes 0 to 15"),
    ("gemm uop=0:1 dst=2048,0", "field 'dst_factor_out' holds 11 bits, not 2048; dst= takes 0 to 2047"),
    ("alu.add uop=0:1 imm=32768", "field 'imm' holds 16 signed bits, not 32768; imm= takes -32768 to 32767"),
    ("alu.add uop=0:1 imm=-32769", "field 'imm' holds 16 signed bits, not -32769; imm= takes -32768 to 32767"),
    ("load.inp x=1 dram=0x100000000", "field 'dram_base' holds 32 bits, not 4294967296; dram= takes 0 to 4294967295"),
    ("load.inp x=1 dram=A", "unknown label 'A'; no .data, .output or .uop of the program gives one"),
    ("load.inp x=1 dram=+", "expected a number such as 12, -3 or 0x1f, not '+'"),
    ("load.inp x=1 pop_prev", "LOAD: pop_prev is set, but the load module, which runs it, has no module to its left"),
    ("load.out x=1", "LOAD: memory OUT cannot be loaded, only stored"),
    ("store.acc x=1", "STORE: memory must be OUT 4 where data is moved, not 3"),
    ('@ "a"', "expected an instruction before @"),
    ("finish @ stage", 'expected @ "stage" "source" (and perhaps "call" "node") after the instruction'),
    ('finish @ "a" "b" "c" "d" "e"', 'expected @ "stage" "source" (and perhaps "call" "node") after the instruction'),
    ("finish @ 3", 'expected @ "stage" "source" (and perhaps "call" "node") after the instruction'),
    ("finish @", 'expected @ "stage" "source" (and perhaps "call" "node") after the instruction'),
    ('finish @ "a', 'expected @ "stage" "source" (and perhaps "call" "node") after the instruction'),
    (".txt", "unknown directive '.txt'; did you mean '.text'?"),
    (".text x", "expected nothing after .text, not 'x'"),
    (".config LOG_BLOCK", "expected KEY=VALUE, as in .config LOG_BLOCK=5, not 'LOG_BLOCK'"),
    (".config LOG_BATCH=0 LOG_BATCH=1", "LOG_BATCH is given twice"),
    (".config LOG_BLOK=4", ".config: unknown key 'LOG_BLOK'; did you mean 'LOG_BLOCK'?"),
    (".config LOG_BLOCK=x", "expected a number such as 12, -3 or 0x1f, not 'x'"),
    (
        ".config LOG_UOP_BUFF_SIZE=16",
        ".config: LOG_UOP_BUFF_SIZE is 16, but the low word of GEMM and ALU needs 37 + 2 x 14 micro-op index bits "
        "and has 64; the nearest value that fits is 15",
    ),
    (".data", "expected a name after .data, as in .data A address=0x1000 type=int8 shape=4,16"),
    (".data type=int8", "expected a name after .data, as in .data A address=0x1000 type=int8 shape=4,16"),
    ('.data "A type=int8', "expected a name in quotes"),
    (r'.data "\x" type=int8', "expected a name in quotes"),
    (".data A typ=int8", "expected address=, type=, shape= or file=, not 'typ='"),
    (".output A file=a.npy", "expected address=, type= or shape=, not 'file='"),
    (".data A file=a.npy", "file= needs a program that is a file itself: the contents lie beside it"),
    (r'.data A file="\x"', "expected a file's name in quotes after file="),
    (".data A file=a.npy 1", "the contents come from file=, and then there is '1'; leave out one of them"),
    (".data A type=int8 type=int8", "type= is given twice"),
    (
        ".data A type=int64 shape=1",
        "type 'int64' is none of int8, uint8, int16, uint16, int32, uint32, float32",
    ),
    (".data A type=int8", "A needs type= and shape=, as in type=int8 shape=4,16"),
    (".output A", "A needs type= and shape=, as in type=int8 shape=4,16"),
    ('.data "" type=int8', "the region needs type= and shape=, as in type=int8 shape=4,16"),
    (".data A type=int8 shape=4,", "expected a number such as 12, -3 or 0x1f, not ''"),
    (".data A type=int8 shape=-4", "shape -4 has a negative extent or more than 2^28 elements"),
    (".data A type=int8 shape=65536,65536", "shape 65536,65536 has a negative extent or more than 2^28 elements"),
    (".data A type=int8 shape=2 1", "type=int8 shape=2 holds 2 numbers, not 1"),
    (".data A type=int8 shape=2 1 128", "int8 holds -128 to 127, not 128"),
    (".data A type=uint8 shape=1 -1", "uint8 holds 0 to 255, not -1"),
    (".data A type=float32 shape=1 x", "expected float32 numbers, not x"),
    (".data A type=int8 shape=2 fill", "type=int8 shape=2 holds 2 numbers, not 1"),
    (".data A type=int8 shape=2 hex 0g", "expected pairs of hexadecimal digits after hex"),
    (".data A type=int8 shape=2 hex 00", "the region has 2 bytes, not 1"),
    (".data A type=int8 shape=2 arange x", "expected a number such as 12, -3 or 0x1f, not 'x'"),
    (
        ".data A type=int8 shape=16,16 arange",
        "int8 holds -128 to 127, and this range goes from 0 to 255; say 'arange START STEP wrapping' if it may",
    ),
    (
        ".data A type=int8 shape=8 arange -122 -1",
        "int8 holds -128 to 127, and this range goes from -122 to -129; say 'arange START STEP wrapping' if it may",
    ),
    (
        ".data A type=float32 shape=2 arange 16777216",
        "float32 holds every whole number from -16777216 to 16777216, and this range goes from 16777216 to 16777217",
    ),
    (".data A type=float32 shape=2 arange 0 1 wrapping", "a range of float32 does not wrap; leave out 'wrapping'"),
    (".data A type=int8 shape=2 arange 4294967297", "START and STEP of arange are -2^32 to 2^32"),
    (".data A type=int8 shape=2 arange 1 2 3", "type=int8 shape=2 holds 2 numbers, not 4"),
    (".data A type=int8 shape=2 arange 1 2 3 wrapping", "type=int8 shape=2 holds 2 numbers, not 5"),
    (".data A type=int8 shape=2 arange 1 -4294967297 wrapping", "START and STEP of arange are -2^32 to 2^32"),
    (".data A type=int8 shape=2 random -1", "SEED of random is not negative, as -1 is"),
    (".data A type=float32 shape=1 1e39", "float32 does not hold 1e39"),
    (".output A type=int8 shape=2 zeros", "expected nothing after the keys of .output, not 'zeros'"),
    (".uop base=3", "expected .uop or .uop address=A, not 'base=3'"),
    (".uop address=3 4", "expected .uop or .uop address=A, not 'address=3 4'"),
    (
        ".data A address=4294967296 type=int8 shape=1 zeros",
        "memory segment A: address 0x100000000 is outside 0 to 0x100000000",
    ),
    (".output A address=-1 type=int8 shape=1", "output A: address -0x1 is outside 0 to 0x100000000"),
]


@pytest.mark.parametrize(("line", "message"), LINES, ids=[line for line, _ in LINES])
def test_a_bad_line_is_named(line: str, message: str) -> None:
    with pytest.raises(AssemblyError) as error:
        assemble(f"; first\nnop.load\n{line}\n", name="file.vta")
    assert str(error.value) == f"file.vta:3: {message}"


TEXTS: list[tuple[str, str]] = [
    (
        ".data A address=8 type=int8 shape=8 zeros\nload.inp x=1",
        ":2: load.inp is an instruction, write .text before the first one",
    ),
    (".uop\nload.uop x=1", ":2: expected dst=, src=, wgt= or word= of a micro-op, not 'load.uop'; is .text missing?"),
    (".uop\ndst=1 dst=2", ":2: 'dst' is given twice"),
    (".uop\ndst=2048", ":2: field 'dst' holds 11 bits, not 2048; dst= takes 0 to 2047"),
    (".uop\ndst=1,2", ":2: expected a number such as 12, -3 or 0x1f, not '1,2'"),
    (".uop\nword=0x100000000", ":2: a micro-op has 32 bits, not 4294967296"),
    (".uop\n1a: dst=1", ":2: expected a label before the colon, not '1a'"),
    (".uop\na: dst=1\na : dst=1", ":3: the label 'a' is given twice"),
    (".uop\nuops: dst=1", ":2: 'uops' is the label of the first micro-op already"),
    (".uop address=4\n.uop address=4", ":2: the address of the micro-ops is given twice"),
    (
        ".data A type=int8 shape=1 zeros\n.uop\nA: dst=1",
        ": the label 'A' is given to a micro-op and to a region",
    ),
    (
        ".data A type=int8 shape=1 zeros\n.data A type=int8 shape=1 zeros",
        ":2: the name 'A' is given to two regions",
    ),
    (
        ".data A address=8 type=int8 shape=8 zeros\n.data B address=15 type=int8 shape=8 zeros",
        ": memory segments A and B overlap",
    ),
    (
        ".data A address=8 type=int8 shape=8 zeros\n.uop address=12\ndst=1",
        ": the micro-op image overlaps memory segment A",
    ),
    (".uop address=2\ndst=1", ": the micro-op image must start at a multiple of 4, not 0x2"),
    (
        ".data Abc type=int8 shape=1 zeros\n.text\nload.inp x=1 dram=Abd",
        ":3: unknown label 'Abd'; did you mean 'Abc'?",
    ),
    (
        ".data A address=8 type=int8 shape=1 zeros\n.text\nload.inp x=1 dram=A",
        ":3: A at 0x8 does not start at a multiple of 16 bytes, the size of an element of INP",
    ),
    (
        ".data A address=0 type=int8 shape=1 zeros\n.text\nload.inp x=1 dram=A-1",
        ":3: field 'dram_base' holds 32 bits, not -1; dram= takes 0 to 4294967295",
    ),
    (
        ".data A address=0 type=int8 shape=1 zeros\n.text\nload.inp x=1 dram=A+q",
        ":3: expected a number such as 12, -3 or 0x1f, not 'q'",
    ),
    (
        ".data A address=0 type=int8 shape=1 zeros\n.output A address=16 type=int8 shape=1\n.text\nload.inp x=1 dram=A",
        ":4: the label 'A' has two meanings, write a number",
    ),
]


@pytest.mark.parametrize(("text", "message"), TEXTS, ids=range(len(TEXTS)))
def test_a_bad_text_is_one_error(text: str, message: str) -> None:
    with pytest.raises(AssemblyError) as error:
        assemble(text, name="file.vta")
    assert str(error.value) == "file.vta" + message


def test_a_text_for_another_configuration_is_refused() -> None:
    with pytest.raises(AssemblyError) as error:
        assemble(".config LOG_BLOCK=5\nfinish", name="f", config=CONFIGS["default"])
    assert str(error.value) == "f:1: the text is for 1x32_i8w8a32_15_15_18_17, not for 1x16_i8w8a32_15_15_18_17"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssemblyError) as error:
        assemble_file(tmp_path / "none.vta")
    assert str(error.value) == f"{tmp_path / 'none.vta'}: cannot be read: No such file or directory"


def test_one_instruction_means_one() -> None:
    for text, count in (("", 0), ("finish\nfinish", 2)):
        with pytest.raises(AssemblyError) as error:
            parse_instruction(text, VTAConfig())
        assert str(error.value) == f"expected one instruction, not {count}"
