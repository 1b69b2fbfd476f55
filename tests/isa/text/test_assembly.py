"""Assembly: programs written by hand do what they say, and every program comes back from its text."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isa.bulk import decode_all, words_to_array
from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.layout import instruction_layouts
from isa.origin import Origin
from isa.program import DTYPES, MemoryImage, MemorySegment, OutputRegion, Program
from isa.reference import execute
from isa.text.assembler import AssemblyError, assemble, assemble_file, parse_instruction
from isa.text.data import contents, describe
from isa.text.disassembler import disassemble, format_instruction
from isa.text.syntax import FLAGS, MNEMONICS
from tests.support.configs import CONFIGS
from tests.support.golden.golden import case_names, load_case
from tests.support.isa.random_programs import random_program
from tests.support.isa.random_words import random_words

PROGRAMS = Path(__file__).parent / "programs"


# --- programs by hand ------------------------------------------------------------------------------------------------


def test_vector_add_by_hand() -> None:
    program = assemble_file(PROGRAMS / "vector_add.vta")
    a = np.arange(1024, dtype=np.int32).reshape(64, 16)
    b = (1000 - 3 * np.arange(1024, dtype=np.int32)).reshape(64, 16)
    [c] = program.outputs(execute(program).memory).values()
    assert np.array_equal(c, (a + b).astype(np.int8))
    assert program.origins[:3] == (Origin("A.local", "vector_add.py:12"), Origin("B.local", "vector_add.py:13"), None)
    assert program.uops == (64 << 11,)


def test_matrix_multiply_by_hand() -> None:
    program = assemble_file(PROGRAMS / "matrix_multiply.vta")
    assert program.config == CONFIGS["b1k8"]
    a, w = (segment.array().astype(np.int32) for segment in program.memory.segments)
    [c] = program.outputs(execute(program).memory).values()
    assert np.array_equal(c, np.einsum("okbi,nkji->onbj", a, w).astype(np.int8))


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.vta")), ids=lambda path: path.stem)
def test_a_program_by_hand_comes_back(path: Path) -> None:
    program = assemble_file(path)
    assert assemble(disassemble(program)) == program


def test_operands_mean_their_fields() -> None:
    config = VTAConfig()
    tile = Load(
        memory=MemoryId.INP,
        sram_base=5,
        dram_base=256,
        y_size=2,
        x_size=16,
        x_stride=20,
        y_pad_0=1,
        y_pad_1=2,
        x_pad_0=3,
        x_pad_1=4,
        deps=Deps(pop_next=True, push_next=True),
    )
    text = "load.inp sram=5 dram=0x100 y=2 x=16 stride=20 ypad=1,2 xpad=3,4 pop_next push_next"
    assert parse_instruction(text, config) == tile
    assert parse_instruction("load.acc x=4", config) == Load(memory=MemoryId.ACC, y_size=1, x_size=4, x_stride=4)
    assert parse_instruction("store x=0b11 y=2 dram=7", config) == Store(y_size=2, x_size=3, x_stride=3, dram_base=7)
    assert parse_instruction("load.acc8 x=1 pop_prev", config) == Load(
        memory=MemoryId.ACC_8BIT, y_size=1, x_size=1, x_stride=1, deps=Deps(pop_prev=True)
    )
    assert parse_instruction("gemm reset uop=1:3 iter=2,4 dst=5,6 src=7,8 wgt=9,10", config) == Gemm(
        reset=True,
        uop_bgn=1,
        uop_end=3,
        iter_out=2,
        iter_in=4,
        dst_factor_out=5,
        dst_factor_in=6,
        src_factor_out=7,
        src_factor_in=8,
        wgt_factor_out=9,
        wgt_factor_in=10,
    )
    assert parse_instruction("alu.shr uop=0:1 imm=-5", config) == Alu(
        alu_opcode=AluOpcode.SHR, use_imm=True, imm=-5, uop_end=1
    )
    assert parse_instruction("alu.max uop=0:1 unused_imm=-5", config) == Alu(
        alu_opcode=AluOpcode.MAX, imm=-5, uop_end=1
    )
    assert parse_instruction("nop.compute pop_prev", config) == Load(memory=MemoryId.UOP, deps=Deps(pop_prev=True))
    assert parse_instruction("nop.load", config) == Load(memory=MemoryId.INP)
    assert parse_instruction("nop.store", config) == Store(memory=MemoryId.UOP)
    assert parse_instruction("finish pop_next ; done", config) == Finish(deps=Deps(pop_next=True))


@pytest.mark.parametrize("mnemonic", MNEMONICS.values(), ids=MNEMONICS)
def test_the_tables_cover_every_field(mnemonic: object) -> None:
    entry = MNEMONICS[mnemonic.name]  # type: ignore[attr-defined]
    written = {name for operand in entry.operands for name in operand.fields}
    implied = {name for operand in entry.operands for name, _ in operand.implies}
    every = VTAConfig(depthwise_taps=3, fused_alu=1)
    fields = {field.name for field in instruction_layouts(every)[entry.layout].used} - {"opcode"}
    assert written | implied | set(entry.fixed) | set(entry.flags) == fields
    assert not written & set(entry.fixed)
    assert fields - {"x_stride"} <= set(entry.defaults) | set(entry.fixed) | written
    assert set(FLAGS) <= set(entry.flags)


# --- labels and addresses --------------------------------------------------------------------------------------------


def _program(*lines: str) -> Program:
    return assemble("\n".join(lines))


def test_regions_without_an_address_get_pages_of_their_own() -> None:
    program = _program(
        ".data A type=int8 shape=5000 fill 1",
        ".data B address=0x5000 type=int8 shape=16 zeros",
        ".output C type=int32 shape=2",
        ".output A",
        ".uop",
        "dst=1",
    )
    assert [(s.name, s.address) for s in program.memory.segments] == [("A", 0x6000), ("B", 0x5000)]
    outputs = [(o.name, o.address, o.dtype, o.shape) for o in program.memory.outputs]
    assert outputs == [("C", 0x8000, "int32", (2,)), ("A", 0x6000, "int8", (5000,))]
    assert program.uop_base == 0x9000


def test_labels_count_elements_of_the_memory_that_is_loaded() -> None:
    program = _program(
        ".data A address=0x10000 type=int8 shape=16 zeros",
        ".uop address=0x2000",
        "one: dst=1",
        "two:",
        "dst=2",
        ".text",
        "load.inp dram=A x=1",
        "load.wgt dram=A+0x10 x=1",
        "load.acc dram=A-2 x=1",
        "load.acc8 dram=A+1 x=1",
        "store dram=A x=1",
        "load.uop dram=uops x=1",
        "load.uop dram=two x=1",
        "load.uop dram=A x=1",
    )
    bases = [i.dram_base for i in program.instructions if isinstance(i, Load | Store)]
    assert bases == [0x1000, 0x110, 0x400 - 2, 0x1001, 0x1000, 0x800, 0x801, 0x4000]


def test_the_disassembler_writes_labels() -> None:
    program = _program(
        ".data A address=0x10000 type=int8 shape=64 zeros",
        ".output odd address=0x20008 type=int8 shape=64",
        ".uop address=0x2000",
        "dst=1",
        "dst=2",
        ".text",
        "load.inp dram=A+3 x=1",
        "load.inp dram=0x1004 x=1",
        "load.uop dram=0x801 x=1",
        "store dram=0x2001 x=1",
    )
    lines = [line.split()[2] for line in disassemble(program).split(".text\n")[1].splitlines()]
    assert lines == ["dram=A+3", "dram=0x1004", "dram=uops+1", "dram=0x2001"]


def test_a_name_with_two_places_is_no_label() -> None:
    memory = MemoryImage(
        segments=(MemorySegment(address=0x1000, data=bytes(64), name="A"),),
        outputs=(OutputRegion(name="A", address=0x2000, shape=(64,)),),
    )
    load = Load(memory=MemoryId.INP, dram_base=0x100, y_size=1, x_size=1, x_stride=1)
    program = Program(config=VTAConfig(), instructions=(load,), memory=memory)
    assert "dram=0x100 " in disassemble(program)
    assert assemble(disassemble(program)) == program


@pytest.mark.parametrize(
    "name", ["", "two words", 'quote"s', "semi;colon", "uops", "ünï", "new\nline", "1st", "a=b", "@"]
)
def test_any_name_comes_back(name: str) -> None:
    memory = MemoryImage(
        segments=(MemorySegment(address=0x1000, data=bytes(range(64)), name=name),),
        outputs=(OutputRegion(name=name, address=0x1000, shape=(64,)),),
    )
    load = Load(memory=MemoryId.INP, dram_base=0x100, y_size=1, x_size=1, x_stride=1)
    uop_load = Load(memory=MemoryId.UOP, dram_base=0x800, y_size=1, x_size=1, x_stride=1)
    program = Program(
        config=VTAConfig(),
        instructions=(load, uop_load),
        uops=(7,),
        uop_base=0x2000,
        memory=memory,
        origins=(Origin(name, name), Origin(name)),
    )
    assert assemble(disassemble(program)) == program


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [0, 1, 7, 2000])
def test_any_contents_come_back(dtype: str, count: int) -> None:
    kind = np.dtype(dtype)
    rng = np.random.default_rng(count)
    for data in (
        rng.bytes(count * kind.itemsize),
        bytes(count * kind.itemsize),
        b"\x01\x80\xff\x00"[: kind.itemsize] * count,
    ):
        segment = MemorySegment(address=0x1000, data=data, name="A", dtype=dtype, shape=(count,))
        program = Program(config=VTAConfig(), instructions=(), memory=MemoryImage(segments=(segment,)))
        assert assemble(disassemble(program)) == program


def test_contents_are_written_in_many_ways() -> None:
    program = _program(
        ".data a type=int8 shape=2,3 1 2 3, -4,5 6 ; six",
        ".data b type=int16 shape=4",
        "   0x10 -0b11",
        "   7,  8",
        ".data c type=uint8 shape=4 arange 254 wrapping",
        ".data d type=int32 shape=3 arange 5 -2",
        ".data e type=int32 shape=2 fill -1",
        ".data f type=uint8 shape=4 hex 00 ff10",
        "  20",
        ".data g type=float32 shape=2 1.5 -2e3",
        ".data h type=int8 shape=() 9",
        ".data i type=int8 shape=8 random 3",
        ".data j type=int32 shape=2 zeros",
        ".data k type=int32 shape=3 random 4",
    )
    arrays = {s.name: s.array() for s in program.memory.segments}
    assert arrays["a"].tolist() == [[1, 2, 3], [-4, 5, 6]]
    assert arrays["b"].tolist() == [16, -3, 7, 8]
    assert arrays["c"].tolist() == [254, 255, 0, 1]
    assert arrays["d"].tolist() == [5, 3, 1]
    assert arrays["e"].tolist() == [-1, -1]
    assert arrays["f"].tolist() == [0, 255, 16, 32]
    assert arrays["g"].tolist() == [1.5, -2000.0]
    assert arrays["h"].tolist() == 9
    assert arrays["i"].tobytes() == np.random.default_rng(3).bytes(8)
    assert arrays["j"].tolist() == [0, 0]
    assert arrays["k"].tobytes() == np.random.default_rng(4).bytes(12)


def test_a_configuration_comes_from_the_text_or_the_caller() -> None:
    assert assemble("finish").config == VTAConfig()
    assert assemble("finish", config=CONFIGS["block32"]).config == CONFIGS["block32"]
    assert assemble(".config LOG_BLOCK=5\nfinish").config == CONFIGS["block32"]
    wanted = replace(CONFIGS["block32"], target="tsim")
    assert assemble(".config LOG_BLOCK=5\nfinish", config=wanted).config == wanted
    both = ".config LOG_BLOCK_IN=4\n.config LOG_BLOCK_OUT=5 TARGET=tsim HW_VER=1.2\nfinish"
    assert assemble(both).config == replace(CONFIGS["in16out32"], target="tsim", hw_ver="1.2")


def test_an_empty_text_is_an_empty_program() -> None:
    assert assemble("") == Program(config=VTAConfig(), instructions=())
    assert assemble("\n ; nothing\n\n# at all\r\n") == Program(config=VTAConfig(), instructions=())


# --- identity --------------------------------------------------------------------------------------------------------


def _identity(config: VTAConfig, instructions: list[Instruction]) -> None:
    program = Program(config=config, instructions=tuple(instructions))
    assert assemble(disassemble(program)) == program


@pytest.mark.parametrize("name", CONFIGS)
def test_a_sample_of_random_instructions_comes_back_from_its_text(name: str) -> None:
    config = CONFIGS[name]
    _identity(config, decode_all(random_words(np.random.default_rng(5), config, 3000), config))


@pytest.mark.long
@pytest.mark.parametrize("name", CONFIGS)
def test_100000_random_instructions_come_back_from_their_text(name: str) -> None:
    config = CONFIGS[name]
    _identity(config, decode_all(random_words(np.random.default_rng(6), config, 100_000), config))


@pytest.mark.parametrize(("folder", "name"), case_names("tut.", "insn."))
def test_a_recorded_stream_comes_back_from_its_text(folder: str, name: str) -> None:
    case = load_case(folder, name)
    _identity(case.config, decode_all(words_to_array(case.words), case.config))


@pytest.mark.parametrize("name", CONFIGS)
def test_random_programs_come_back_whole(name: str) -> None:
    for seed in range(8):
        program = random_program(np.random.default_rng(seed), CONFIGS[name])
        assert assemble(disassemble(program)) == program


ORIGINS = st.none() | st.builds(Origin, st.text(max_size=9), st.text(max_size=9))


@given(origins=st.lists(ORIGINS, max_size=5), uops=st.lists(st.integers(0, 2**32 - 1), max_size=5))
@settings(max_examples=150, deadline=None)
def test_any_origin_and_micro_op_comes_back(origins: list[Origin | None], uops: list[int]) -> None:
    program = Program(
        config=CONFIGS["in16out32"],
        instructions=tuple(Load(memory=MemoryId.INP) for _ in origins),
        origins=tuple(origins),
        uops=tuple(uops),
        uop_base=0x3000,
    )
    assert assemble(disassemble(program)) == program


def test_one_instruction_is_formatted_alone() -> None:
    load = Load(memory=MemoryId.INP, sram_base=3, dram_base=256, y_size=1, x_size=2, x_stride=2, x_pad_1=1)
    assert format_instruction(load, VTAConfig()) == "load.inp sram=3 dram=0x100 y=1 x=2 stride=2 xpad=0,1"
    assert format_instruction(Load(memory=MemoryId.OUT), VTAConfig()) == "load.out sram=0 dram=0x0 y=0 x=0 stride=0"
    assert format_instruction(Store(deps=Deps(pop_prev=True)), VTAConfig()) == (
        "store sram=0 dram=0x0 y=0 x=0 stride=0 pop_prev"
    )
    alu = Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=0, uop_end=1)
    assert format_instruction(alu, VTAConfig()) == "alu.add uop=0:1 iter=1,1 dst=0,0 src=0,0 imm=0"


def test_the_text_of_a_program_is_what_a_person_would_write() -> None:
    text = (PROGRAMS / "vector_add.expected").read_text()
    assert disassemble(assemble_file(PROGRAMS / "vector_add.vta")) == text


def test_gzip_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "a.vta"
    path.write_bytes(gzip.compress(b"finish"))
    with pytest.raises(
        ValueError,
        match=r"a.vta:1: expected text in UTF-8, found the byte 0x8b; "
        r"a program is text, or a file that `vta asm` wrote$",
    ):
        assemble_file(path)


def test_a_byte_that_is_no_text_is_found_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.vta"
    path.write_bytes("; Grüße\n.text\nfinish ; f".encode() + b"\xfcr\n")
    with pytest.raises(ValueError, match=r"a.vta:3: expected text in UTF-8, found the byte 0xfc; "):
        assemble_file(path)


@pytest.mark.parametrize(
    ("dtype", "first", "step", "line"),
    [
        ("int8", -128, 1, "arange -128 1"),
        ("int8", -127, 1, "arange -127 1 wrapping"),
        ("int8", 127, -1, "arange 127 -1"),
        ("uint8", 0, 1, "arange 0 1"),
        ("int32", (1 << 31) - 256, 1, "arange 2147483392 1"),
        ("int32", (1 << 31) - 255, 1, "arange 2147483393 1 wrapping"),
    ],
)
def test_a_range_says_that_it_wraps_only_if_it_does(dtype: str, first: int, step: int, line: str) -> None:
    numbers = (first + step * np.arange(256, dtype=np.int64)).astype(dtype)
    assert describe(numbers.tobytes(), dtype) == [line]
    assert contents(line.split(), dtype, (256,)) == numbers.tobytes()


def test_a_depthwise_gemm_is_a_flag_where_words_have_it() -> None:
    taps = VTAConfig(depthwise_taps=3)
    gemm = Gemm(uop_end=1, depthwise=True)
    line = format_instruction(gemm, taps)
    assert line == "gemm uop=0:1 iter=1,1 dst=0,0 src=0,0 wgt=0,0 depthwise"
    assert parse_instruction(line, taps) == gemm
    assert format_instruction(gemm, VTAConfig()) == line
    with pytest.raises(AssemblyError) as caught:
        parse_instruction(line, VTAConfig())
    assert str(caught.value) == (
        "instruction:1: GEMM: depthwise is set, but words of this configuration have no such flag; set DEPTHWISE_TAPS"
    )


def test_the_taps_are_in_the_text_of_a_program() -> None:
    program = Program(config=VTAConfig(depthwise_taps=3), instructions=(Gemm(depthwise=True), Finish()))
    assert "DEPTHWISE_TAPS=3" in disassemble(program)
    assert assemble(disassemble(program)) == program


def test_the_largest_start_and_step_of_a_range() -> None:
    wrapped = contents(["arange", str(1 << 32), str(-(1 << 32)), "wrapping"], "int8", (4,))
    assert wrapped == bytes(4)


def test_as_many_numbers_as_a_reader_looks_through_are_shown_as_such() -> None:
    data = np.arange(1025, dtype=np.uint8) * 7 % 251  # no series, so nothing shorter says them
    for count, form in ((1024, "0 7 14"), (1025, "hex\n")):
        segment = MemorySegment(address=0x1000, data=data[:count].tobytes(), name="A", dtype="uint8", shape=(count,))
        text = disassemble(Program(config=VTAConfig(), instructions=(), memory=MemoryImage(segments=(segment,))))
        assert form in text
        assert ("hex\n" in text) == (count > 1024)


def test_a_fused_alu_is_a_flag_where_words_have_it() -> None:
    fused = VTAConfig(fused_alu=1)
    alu = Alu(alu_opcode=AluOpcode.MUL, fused=True, imm=-3, uop_end=1)
    line = format_instruction(alu, fused)
    assert line == "alu.mul uop=0:1 iter=1,1 dst=0,0 src=0,0 shift=-3 fused"
    assert parse_instruction(line, fused) == alu
    assert format_instruction(alu, VTAConfig()) == line
    with pytest.raises(AssemblyError) as caught:
        parse_instruction(line, VTAConfig())
    assert str(caught.value) == (
        "instruction:1: ALU: fused is set, but words of this configuration have no such flag; set FUSED_ALU"
    )


def test_fused_steps_are_in_the_text_of_a_program() -> None:
    alu = Alu(alu_opcode=AluOpcode.MAX, fused=True, uop_end=1)
    program = Program(config=VTAConfig(fused_alu=1), instructions=(alu, Finish()))
    assert "FUSED_ALU=1" in disassemble(program)
    assert assemble(disassemble(program)) == program
