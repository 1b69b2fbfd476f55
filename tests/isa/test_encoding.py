"""Golden encodings, measured with upstream's own header, and the words of the recorded streams."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isa.bulk import array_to_words, encode_all
from isa.config import VTAConfig
from isa.encoding import (
    INSTRUCTION_BYTES,
    DecodingError,
    EncodingError,
    decode,
    decode_uop,
    encode,
    encode_uop,
    instruction_from_values,
)
from isa.instructions import (
    Alu,
    AluOpcode,
    Deps,
    Finish,
    Gemm,
    Instruction,
    Load,
    MemoryId,
    MicroOp,
    Store,
)
from isa.layout import Field, instruction_layouts, uop_layout
from tests.support.configs import CONFIGS
from tests.support.isa.random_words import random_words

GOLDEN: list[tuple[Instruction, int, int]] = [
    (
        Load(
            memory=MemoryId.INP,
            sram_base=0x123,
            dram_base=0x89ABCDEF,
            y_size=7,
            x_size=14,
            x_stride=16,
            y_pad_0=1,
            y_pad_1=2,
            x_pad_0=3,
            x_pad_1=4,
            deps=Deps(pop_next=True, push_next=True),
        ),
        0x0226AF37BC048D50,
        0x43210010000E0007,
    ),
    (
        Store(
            sram_base=5,
            dram_base=0x1000,
            y_size=2,
            x_size=3,
            x_stride=9,
            deps=Deps(pop_prev=True, push_prev=True),
        ),
        0x0000004000001629,
        0x0000000900030002,
    ),
    (
        Gemm(
            uop_bgn=1,
            uop_end=33,
            iter_out=3,
            iter_in=14,
            dst_factor_in=1,
            src_factor_out=16,
            src_factor_in=2,
            wgt_factor_out=9,
            wgt_factor_in=1023,
            deps=Deps(pop_prev=True, push_prev=True),
        ),
        0x001C00180420012A,
        0xFFC0900404000800,
    ),
    (
        Gemm(reset=True, uop_end=1, iter_in=64, dst_factor_in=1),
        0x0080000800200082,
        0x0000000000000800,
    ),
    (
        Alu(
            alu_opcode=AluOpcode.SHR,
            use_imm=True,
            imm=8,
            uop_bgn=2,
            uop_end=3,
            iter_in=64,
            dst_factor_in=1,
            src_factor_in=1,
            deps=Deps(push_next=True),
        ),
        0x0080000800600244,
        0x0008B00200000800,
    ),
    (
        Alu(
            alu_opcode=AluOpcode.ADD,
            use_imm=True,
            imm=-5,
            uop_bgn=2,
            uop_end=3,
            iter_in=64,
            dst_factor_in=1,
            src_factor_in=1,
            deps=Deps(push_next=True),
        ),
        0x0080000800600244,
        0xFFFBA00200000800,
    ),
    (Finish(), 0x0000000000000003, 0),
]


@pytest.mark.parametrize(("instruction", "low", "high"), GOLDEN)
def test_an_instruction_has_upstreams_word(instruction: Instruction, low: int, high: int) -> None:
    word = low | high << 64
    assert encode(instruction, VTAConfig()) == word
    assert decode(word, VTAConfig()) == instruction


def test_a_micro_op_has_upstreams_word() -> None:
    uop = MicroOp(dst=0x7AB, src=0x123, wgt=0x2AA)
    assert encode_uop(uop, VTAConfig()) == 0xAA891FAB
    assert decode_uop(0xAA891FAB, VTAConfig()) == uop


# --- the two binary programs of upstream's runtime -------------------------------------------------------------------

VECTOR_ADD = [
    (0x0000400100000180, 0x0000004000400001),
    (0x0000400200010180, 0x0000004000400001),
    (0x0000001000000000, 0x0000000100010001),
    (0x0080000800200044, 0x0000200200000800),
    (0x0001000C00000229, 0x0000004000400001),
    (0x0000000000000140, 0),
    (0x0000000000000018, 0),
    (0x0000000000000003, 0),
]

TWO_THREADS = [
    (0x0000000000000021, 0x0000000000000000),
    (0x0000000000000021, 0x0000000000000000),
    (0x0000001000000010, 0x0000000100010001),
    (0x00020020002000A2, 0x0000000000000001),
    (0x0000001004000410, 0x0000000100010001),
    (0x00020020004001A2, 0x0000000000000001),
    (0x0001000400000110, 0x0000000400040001),
    (0x00001000800000C0, 0x0000000100010001),
    (0x0001000400001110, 0x0000000400040001),
    (0x00001000880004C0, 0x0000000100010001),
    (0x0000001008000808, 0x0000000100010001),
    (0x0002002000600222, 0x0000000000400001),
    (0x000000100C000C08, 0x0000000100010001),
    (0x0002002000800322, 0x0000000000400001),
    (0x0001000410000110, 0x0000000400040001),
    (0x00001000840000C0, 0x0000000100010001),
    (0x0001000410001110, 0x0000000400040001),
    (0x000010008C0004C0, 0x0000000100010001),
    (0x000200200060022A, 0x0000000000400001),
    (0x000200200080032A, 0x0000000000400001),
    (0x0000000000000110, 0x0000000000000000),
    (0x0000001010001000, 0x0000000100010001),
    (0x0008000800A00444, 0x0008B00200000800),
    (0x0000001014001400, 0x0000000100010001),
    (0x0008000800C00544, 0x0008B00200000800),
    (0x0001000C00000229, 0x0000000400040001),
    (0x0001000C10001229, 0x0000000400040001),
    (0x0000000000000010, 0x0000000000000000),
    (0x0000000000000021, 0x0000000000000000),
    (0x0000000000000110, 0x0000000000000000),
    (0x0000000000000140, 0x0000000000000000),
    (0x0000000000000010, 0x0000000000000000),
    (0x0000000000000018, 0x0000000000000000),
    (0x0000000000000003, 0x0000000000000000),
]


@pytest.mark.parametrize("words", [VECTOR_ADD, TWO_THREADS], ids=["vector add", "two threads"])
def test_upstreams_binary_programs_decode_and_encode_back(words: list[tuple[int, int]]) -> None:
    for low, high in words:
        word = low | high << 64
        assert encode(decode(word, VTAConfig()), VTAConfig()) == word


def test_the_vector_add_program_decodes_to_what_it_says() -> None:
    instructions = [decode(low | high << 64, VTAConfig()) for low, high in VECTOR_ADD]
    tile = Load(memory=MemoryId.ACC, y_size=1, x_size=64, x_stride=64)
    assert instructions == [
        replace(tile, dram_base=0x4001000 // 64),
        replace(tile, dram_base=0x4002000 // 64, sram_base=64),
        Load(memory=MemoryId.UOP, dram_base=0x1000 // 4, y_size=1, x_size=1, x_stride=1),
        Alu(
            alu_opcode=AluOpcode.ADD,
            uop_end=1,
            iter_in=64,
            dst_factor_in=1,
            src_factor_in=1,
            deps=Deps(push_next=True),
        ),
        Store(
            dram_base=0x4003000 // 16,
            y_size=1,
            x_size=64,
            x_stride=64,
            deps=Deps(pop_prev=True, push_prev=True),
        ),
        Load(memory=MemoryId.INP, deps=Deps(push_next=True)),
        Load(memory=MemoryId.UOP, deps=Deps(pop_prev=True, pop_next=True)),
        Finish(),
    ]
    assert decode_uop(0x00020000, VTAConfig()) == MicroOp(src=64)


# --- every field -----------------------------------------------------------------------------------------------------

SAMPLES: dict[str, Instruction] = {
    "LOAD": Load(memory=MemoryId.ACC),
    "STORE": Store(),
    "GEMM": Gemm(),
    "ALU": Alu(alu_opcode=AluOpcode.ADD),
    "FINISH": Finish(),
}
FIELDS = [
    (name, field)
    for name, layout in instruction_layouts(VTAConfig()).items()
    for field in layout.used
    if field.name not in ("opcode", "pop_prev", "pop_next", "push_prev", "push_next")
]


@pytest.mark.parametrize(("name", "field"), FIELDS, ids=[f"{name} {field.name}" for name, field in FIELDS])
def test_an_out_of_range_field_is_refused_by_name(name: str, field: Field) -> None:
    for value in (field.low - 1, field.high + 1):
        with pytest.raises(EncodingError) as error:
            encode(replace(SAMPLES[name], **{field.name: value}), VTAConfig())  # type: ignore[arg-type]
        assert str(error.value) == f"{name}: {field.refusal(value)}"


def test_the_refusal_of_a_field_says_its_width() -> None:
    with pytest.raises(EncodingError) as error:
        encode(Gemm(dst_factor_out=2048), VTAConfig())
    assert str(error.value) == "GEMM: field 'dst_factor_out' holds 11 bits, not 2048"


@pytest.mark.parametrize("name", CONFIGS)
def test_random_instructions_come_back(name: str) -> None:
    config = CONFIGS[name]
    array = random_words(np.random.default_rng(11), config, 3000)
    for word in array_to_words(array):
        instruction = decode(word, config)
        assert encode(instruction, config) == word


@pytest.mark.parametrize("name", CONFIGS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_micro_op_comes_back(name: str, data: st.DataObject) -> None:
    config = CONFIGS[name]
    uop = MicroOp(**{f.name: data.draw(st.integers(f.low, f.high), f.name) for f in uop_layout(config).used})
    assert decode_uop(encode_uop(uop, config), config) == uop


@given(word=st.integers(0, (1 << 128) - 1))
@settings(max_examples=300, deadline=None)
def test_any_word_is_refused_or_comes_back(word: int) -> None:
    config = CONFIGS["in16out32"]
    try:
        instruction = decode(word, config)
    except DecodingError:
        return
    assert encode(instruction, config) == word


# --- what is not a word ----------------------------------------------------------------------------------------------


def test_an_unknown_opcode_is_refused() -> None:
    for opcode in (5, 6, 7):
        with pytest.raises(DecodingError) as error:
            decode(opcode, VTAConfig())
        known = "LOAD 0, STORE 1, GEMM 2, FINISH 3, ALU 4"
        assert str(error.value) == f"opcode {opcode} is unknown; the opcodes are {known}"


@pytest.mark.parametrize("name", CONFIGS)
def test_every_unused_bit_must_be_zero(name: str) -> None:
    config = CONFIGS[name]
    for layout_name, layout in instruction_layouts(config).items():
        word = encode(SAMPLES[layout_name], config)
        for field, offset in zip(layout.fields, layout.offsets, strict=True):
            if field.unused:
                for bit in {offset, offset + field.width - 1}:
                    with pytest.raises(DecodingError) as error:
                        decode(word | 1 << bit, config)
                    value = 1 << (bit - offset)
                    reason = f"unused bits from bit {offset} on must be zero, not {value:#x}"
                    assert str(error.value) == f"{layout_name}: {reason}"


def test_words_of_another_width_are_refused() -> None:
    for word in (-1, 1 << 128):
        with pytest.raises(DecodingError) as error:
            decode(word, VTAConfig())
        assert str(error.value) == f"an instruction word has 128 bits, not {word:#x}"
    for word in (-1, 1 << 32):
        with pytest.raises(DecodingError) as error:
            decode_uop(word, VTAConfig())
        assert str(error.value) == f"a micro-op word has 32 bits, not {word:#x}"


def test_a_micro_op_refuses_fields_and_unused_bits() -> None:
    with pytest.raises(EncodingError) as error:
        encode_uop(MicroOp(wgt=1024), VTAConfig())
    assert str(error.value) == "micro-op: field 'wgt' holds 10 bits, not 1024"
    with pytest.raises(DecodingError) as decoding:
        decode_uop(1 << 31, CONFIGS["in16out32"])
    assert str(decoding.value) == "UOP: unused bits from bit 30 on must be zero, not 0x2"


def test_an_instruction_of_an_unknown_kind_has_no_values() -> None:
    flags = dict.fromkeys(("pop_prev", "pop_next", "push_prev", "push_next"), 0)
    with pytest.raises(KeyError):
        instruction_from_values("NONE", flags)


# --- user reports ----------------------------------------------------------------------------------------------------


def test_br_005_every_bit_of_a_load_is_defined() -> None:
    load = Load(memory=MemoryId.INP, sram_base=7, dram_base=9, y_size=1, x_size=4, x_stride=4)
    word = encode(load, VTAConfig())
    raw = word.to_bytes(INSTRUCTION_BYTES, "little")
    assert len(raw) == 16
    listed = (2 << 7) | (7 << 10) | (9 << 26) | (1 << 64) | (4 << 80) | (4 << 96)
    assert word == listed
    assert sum(field.width for field in instruction_layouts(VTAConfig())["LOAD"].fields) == 128
    for name, layout in instruction_layouts(VTAConfig()).items():
        largest = {f.name: f.high for f in layout.used if f.name not in ("opcode", "memory", "alu_opcode")}
        changes = {key: value for key, value in largest.items() if not key.startswith(("pop", "push"))}
        if name == "STORE":
            changes = {key: 0 if "pad" in key else value for key, value in changes.items()}
        instruction = replace(SAMPLES[name], **changes)  # type: ignore[arg-type]
        assert decode(encode(instruction, VTAConfig()), VTAConfig()) == instruction


def test_br_006_the_same_program_has_the_same_bytes_in_any_process() -> None:
    code = (
        "from isa import *; c = VTAConfig();"
        "a = Load(memory=MemoryId.INP, sram_base=3, dram_base=5, y_size=1, x_size=2, x_stride=2);"
        "print(b''.join(encode(i, c).to_bytes(16, 'little') for i in (a, Finish())).hex())"
    )
    load = Load(memory=MemoryId.INP, sram_base=3, dram_base=5, y_size=1, x_size=2, x_stride=2)
    here = [b"".join(encode(i, VTAConfig()).to_bytes(16, "little") for i in (load, Finish())).hex() for _ in range(2)]
    root = Path(__file__).resolve().parents[2]
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert here == [there.stdout.strip()] * 2
    assert here[0] == "000d001400000000010002000200000003000000000000000000000000000000"


def test_br_010_an_immediate_beyond_16_bits_is_refused_with_its_value() -> None:
    for value in (40000, 70000, -40000, 32768, -32769):
        with pytest.raises(EncodingError) as error:
            encode(Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=value), VTAConfig())
        assert str(error.value) == f"ALU: field 'imm' holds 16 signed bits, not {value}"


def test_a_depthwise_gemm_needs_a_configuration_with_taps() -> None:
    gemm = Gemm(uop_end=1, depthwise=True)
    taps = VTAConfig(depthwise_taps=1)
    word = encode(gemm, taps)
    assert word == encode(replace(gemm, depthwise=False), VTAConfig()) | 1 << 63
    assert decode(word, taps) == gemm
    with pytest.raises(DecodingError, match=r"^GEMM: unused bits from bit 63 on must be zero, not 0x1$"):
        decode(word, VTAConfig())
    text = "GEMM: depthwise is set, but words of this configuration have no such flag; set DEPTHWISE_TAPS"
    with pytest.raises(EncodingError) as caught:
        encode(gemm, VTAConfig())
    assert str(caught.value) == text
    with pytest.raises(EncodingError) as caught:
        encode_all([Finish(), gemm], VTAConfig())
    assert str(caught.value) == f"instruction 1: {text}"


def test_a_fused_alu_needs_a_configuration_with_such_steps() -> None:
    alu = Alu(alu_opcode=AluOpcode.MUL, fused=True, imm=-7, uop_end=1)
    config = VTAConfig(fused_alu=1)
    word = encode(alu, config)
    assert word == encode(replace(alu, fused=False), VTAConfig()) | 1 << 63
    assert decode(word, config) == alu
    with pytest.raises(DecodingError, match=r"^ALU: unused bits from bit 63 on must be zero, not 0x1$"):
        decode(word, VTAConfig())
    text = "ALU: fused is set, but words of this configuration have no such flag; set FUSED_ALU"
    with pytest.raises(EncodingError) as caught:
        encode(alu, VTAConfig())
    assert str(caught.value) == text
    with pytest.raises(EncodingError) as caught:
        encode_all([Finish(), alu], VTAConfig())
    assert str(caught.value) == f"instruction 1: {text}"
