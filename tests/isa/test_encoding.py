"""Golden encodings, measured with upstream's own header, and the words of the recorded streams."""

import pytest

from isa.config import VTAConfig
from isa.encoding import decode, decode_uop, encode, encode_uop
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
