# amaranth: UnusedElaboratable=no
"""What users of such hardware reported, on the whole core in native code.

The rest is in ``tests/cocotb`` (the generated Verilog) and in ``tests/integration/test_reported_cases.py`` (every
engine, the default configuration).
"""

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hw.core
from isa.config import VTAConfig
from isa.encoding import encode_uop
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, MicroOp, Store
from isa.machine.hardware_config import HardwareConfig
from isa.program import MemoryImage, MemorySegment, Program
from isa.reference import execute
from tests.support.hw.accumulator_steps import first_difference
from tests.support.hw.core_sim import CoreSim
from tests.support.hw.gapped_fetch import GappedFetch
from tests.support.isa.random_programs import random_program

SMALL = VTAConfig(log_block=1, log_uop_buff_size=7, log_inp_buff_size=6, log_wgt_buff_size=7, log_acc_buff_size=8)
DATA, WEIGHTS, OUTPUT, UOPS = 0x1000, 0x1400, 0x1800, 0x1C00
"""Byte addresses."""


@functools.cache
def gapped_core(depth: int) -> CoreSim:
    """Return a core whose instructions come with gaps of 0 to 50 cycles into queues of ``depth``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hw.core, "InstructionFetch", GappedFetch)
        return CoreSim(SMALL, HardwareConfig(inst_queue_depth=depth))


@pytest.mark.parametrize("depth", [*(pytest.param(n, marks=pytest.mark.long) for n in (1, 2, 3)), 4])
def test_br_047_instructions_that_come_with_gaps_into_short_queues_hang_nothing(depth: int) -> None:
    core = gapped_core(depth)
    rng = np.random.default_rng(47)
    for index, stall in enumerate((0.0, 0.0, 0.5, 0.9)):
        program = random_program(rng, SMALL, length=30)
        core.design.reset()  # the reference begins with scratchpads of zeros
        launch, memory = core.run(program, latency=1 + 20 * index, stalls=stall, seed=index + 1)
        assert launch.done, (depth, index, launch)
        assert launch.cycles > 20 * len(program.instructions)  # gaps of 25 cycles on average
        np.testing.assert_array_equal(memory, execute(program).memory)


def padded_load() -> Program:
    """Return a program that pads (3, 5) tiles on every side, shifts and stores them."""
    x = (np.arange(3 * 5 * 2) % 23 - 11).astype(np.int32)
    count = 5 * 6
    every: dict[str, Any] = {"uop_end": 1, "iter_out": count, "dst_factor_out": 1, "src_factor_out": 1}
    instructions: tuple[Instruction, ...] = (
        Load(memory=MemoryId.UOP, x_size=1, y_size=1, dram_base=UOPS // 4),
        Load(
            memory=MemoryId.ACC,
            dram_base=DATA // SMALL.acc_elem_bytes,
            x_size=5,
            y_size=3,
            x_stride=5,
            y_pad_0=1,
            y_pad_1=1,
            x_pad_1=1,
        ),
        Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=5, **every),
        Alu(alu_opcode=AluOpcode.SHR, use_imm=True, imm=1, deps=Deps(push_next=True), **every),
        Store(x_size=count, y_size=1, dram_base=OUTPUT // SMALL.out_elem_bytes, deps=Deps(pop_prev=True)),
        Finish(),
    )
    return _program(instructions, [MicroOp()], MemorySegment.from_array(DATA, x))


def matmul() -> Program:
    """Return a program that multiplies (2, 2) tiles by (2, 2) tiles and clips the result."""
    a = (np.arange(8) * 7 % 17 - 8).astype(np.int8)
    b = (np.arange(16) * 5 % 13 - 6).astype(np.int8)
    uops = [MicroOp(dst=2 * i + j, src=2 * i + k, wgt=2 * j + k) for i in range(2) for j in range(2) for k in range(2)]
    instructions: tuple[Instruction, ...] = (
        Load(memory=MemoryId.INP, x_size=4, y_size=1, dram_base=DATA // SMALL.inp_elem_bytes),
        Load(
            memory=MemoryId.WGT,
            x_size=4,
            y_size=1,
            dram_base=WEIGHTS // SMALL.wgt_elem_bytes,
            deps=Deps(push_next=True),
        ),
        Load(memory=MemoryId.UOP, x_size=len(uops), y_size=1, dram_base=UOPS // 4),
        Gemm(reset=True, uop_end=len(uops)),
        Gemm(uop_end=len(uops), deps=Deps(pop_prev=True)),
        Alu(alu_opcode=AluOpcode.MIN, use_imm=True, imm=50, uop_end=1, iter_out=4, dst_factor_out=1),
        Alu(
            alu_opcode=AluOpcode.MAX,
            use_imm=True,
            imm=-20,
            uop_end=1,
            iter_out=4,
            dst_factor_out=1,
            deps=Deps(push_next=True),
        ),
        Store(x_size=4, y_size=1, dram_base=OUTPUT // SMALL.out_elem_bytes, deps=Deps(pop_prev=True)),
        Finish(),
    )
    return _program(instructions, uops, MemorySegment.from_array(DATA, a), MemorySegment.from_array(WEIGHTS, b))


def _program(instructions: tuple[Instruction, ...], uops: list[MicroOp], *segments: MemorySegment) -> Program:
    return Program(
        config=SMALL,
        instructions=instructions,
        uops=tuple(encode_uop(uop, SMALL) for uop in uops),
        uop_base=UOPS,
        memory=MemoryImage(segments=segments),
    )


@pytest.mark.parametrize("program", [padded_load(), matmul()], ids=["padded_load", "matmul"])
def test_br_048_the_accumulators_are_the_reference_s_after_every_instruction(program: Program) -> None:
    assert first_difference(gapped_core(1), program) is None


def test_br_048_the_first_instruction_after_which_accumulators_differ_is_named() -> None:
    program = padded_load()
    add = program.instructions[2]
    assert isinstance(add, Alu)
    other = replace(program, instructions=(*program.instructions[:2], replace(add, imm=6), *program.instructions[3:]))
    assert first_difference(gapped_core(1), other, program) == (
        "after instruction 2, ALU: accumulator [0, 0, 0] is 6, not 5"
    )
