"""The classic dump, line by line, and the token balance that it shows."""

import pytest

from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Load, MemoryId, Store
from runtime.observe.dump import dump_instructions
from runtime.queue.command_queue import DebugFlag
from runtime.session import Session

STREAM = (
    Store(memory=MemoryId.UOP, deps=Deps(push_prev=True)),
    Load(memory=MemoryId.INP, deps=Deps(push_next=True)),
    Load(memory=MemoryId.UOP, deps=Deps(pop_prev=True, pop_next=True)),
    Load(
        memory=MemoryId.WGT,
        sram_base=0x12,
        dram_base=0x3456,
        y_size=7,
        x_size=14,
        x_stride=16,
        y_pad_0=1,
        y_pad_1=2,
        x_pad_0=3,
        x_pad_1=4,
    ),
    Load(memory=MemoryId.ACC_8BIT, x_size=1, y_size=1, x_stride=1),
    Gemm(
        reset=True,
        uop_bgn=1,
        uop_end=33,
        iter_out=3,
        iter_in=14,
        dst_factor_out=1,
        dst_factor_in=2,
        src_factor_out=3,
        src_factor_in=4,
        wgt_factor_out=5,
        wgt_factor_in=6,
        deps=Deps(push_prev=True, push_next=True),
    ),
    Alu(
        alu_opcode=AluOpcode.MIN,
        use_imm=True,
        imm=-5,
        uop_end=1,
        iter_out=1,
        iter_in=64,
        dst_factor_in=1,
        src_factor_in=2,
    ),
    Store(sram_base=5, dram_base=0x1000, y_size=2, x_size=3, x_stride=9, deps=Deps(pop_prev=True)),
    Finish(),
)

TEXT = """\
There are 9 instructions
INSTRUCTION 0: NOP-STORE-STAGE
\tdep - pop prev: 0, pop next: 0, push prev: 1, push next: 0
\tl2g_queue = 0, g2l_queue = 0
\ts2g_queue = 1, g2s_queue = 0
INSTRUCTION 1: NOP-MEMORY-STAGE
\tdep - pop prev: 0, pop next: 0, push prev: 0, push next: 1
\tl2g_queue = 1, g2l_queue = 0
\ts2g_queue = 1, g2s_queue = 0
INSTRUCTION 2: NOP-COMPUTE-STAGE
\tdep - pop prev: 1, pop next: 1, push prev: 0, push next: 0
\tl2g_queue = 0, g2l_queue = 0
\ts2g_queue = 0, g2s_queue = 0
INSTRUCTION 3: LOAD WGT
\tdep - pop prev: 0, pop next: 0, push prev: 0, push next: 0
\tDRAM: 0x00003456, SRAM:0x0012
\ty: size=7, pad=[1, 2]
\tx: size=14, stride=16, pad=[3, 4]
\tl2g_queue = 0, g2l_queue = 0
\ts2g_queue = 0, g2s_queue = 0
INSTRUCTION 4: LOAD ACC_8BIT
\tdep - pop prev: 0, pop next: 0, push prev: 0, push next: 0
\tDRAM: 0x00000000, SRAM:0x0000
\ty: size=1, pad=[0, 0]
\tx: size=1, stride=1, pad=[0, 0]
\tl2g_queue = 0, g2l_queue = 0
\ts2g_queue = 0, g2s_queue = 0
INSTRUCTION 5: GEMM
\tdep - pop prev: 0, pop next: 0, push prev: 1, push next: 1
\treset_out: 1
\trange (1, 33)
\touter loop - iter: 3, wgt: 5, inp: 3, acc: 1
\tinner loop - iter: 14, wgt: 6, inp: 4, acc: 2
\tl2g_queue = 0, g2l_queue = 1
\ts2g_queue = 0, g2s_queue = 1
INSTRUCTION 6: ALU - min imm
\tdep - pop prev: 0, pop next: 0, push prev: 0, push next: 0
\treset_out: 0
\trange (0, 1)
\touter loop - iter: 1, dst: 0, src: 0
\tinner loop - iter: 64, dst: 1, src: 2
\tl2g_queue = 0, g2l_queue = 1
\ts2g_queue = 0, g2s_queue = 1
INSTRUCTION 7: STORE:
\tdep - pop prev: 1, pop next: 0, push prev: 0, push next: 0
\tDRAM: 0x00001000, SRAM:0x0005
\ty: size=2, pad=[0, 0]
\tx: size=3, stride=9, pad=[0, 0]
\tl2g_queue = 0, g2l_queue = 1
\ts2g_queue = 0, g2s_queue = 0
INSTRUCTION 8: FINISH
\tl2g_queue = 0, g2l_queue = 1
\ts2g_queue = 0, g2s_queue = 0
"""


def test_the_dump_has_upstreams_lines() -> None:
    assert dump_instructions(STREAM) == TEXT


@pytest.mark.parametrize("opcode", AluOpcode)
def test_every_operation_but_shr_and_mul_says_imm(opcode: AluOpcode) -> None:
    shown = [
        dump_instructions([Alu(alu_opcode=opcode, use_imm=use_imm)]).split("\n")[1].rpartition(" - ")[2]
        for use_imm in (False, True)
    ]
    name = opcode.name.lower()
    assert shown == [name, name if opcode in (AluOpcode.SHR, AluOpcode.MUL) else f"{name} imm"]


def test_the_flag_writes_each_launch_before_it_runs() -> None:
    session = Session(VTAConfig(), "reference")
    text: list[str] = []
    session.queue.launcher.write = text.append
    session.queue.synchronize()
    assert text == []
    session.queue.debug_mode = DebugFlag.DUMP_INSN
    session.queue.synchronize()
    session.queue.debug_mode = DebugFlag.NONE
    session.queue.synchronize()
    assert [part.split("\n")[0] for part in text] == ["There are 4 instructions"]
