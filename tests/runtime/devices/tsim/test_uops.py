"""Micro-ops that reach out of a scratchpad are found before the hardware runs them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from isa.bulk import encode_all
from isa.config import VTAConfig
from isa.encoding import encode_uop
from isa.instructions import Alu, AluOpcode, Finish, Gemm, Instruction, Load, MemoryId, MicroOp, Store
from runtime.devices.tsim.stream import Fault, InstructionStream
from runtime.devices.tsim.uops import MicroOpShadow
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program

CONFIG = VTAConfig()
UOPS = [MicroOp(dst=2000, src=3), MicroOp(dst=7, src=2040), MicroOp(dst=1, src=1, wgt=1020), MicroOp()]
MEMORY = np.zeros(1 << 16, np.uint8)
MEMORY[0x1000:0x1010] = np.array([encode_uop(uop, CONFIG) for uop in UOPS], "<u4").view(np.uint8)


def load(first: int, count: int, *, to: int = 0) -> Load:
    return Load(memory=MemoryId.UOP, sram_base=to, dram_base=0x400 + first, y_size=1, x_size=count)


def fault(instructions: Sequence[Instruction], shadow: MicroOpShadow | None = None) -> Fault | None:
    stream = InstructionStream(encode_all([*instructions, Finish()], CONFIG), CONFIG)
    return (shadow or MicroOpShadow(CONFIG)).first_fault(stream, MEMORY, before=len(instructions) + 1)


ADD = AluOpcode.ADD
ACC = "accumulator index 2048 is out of range, the buffer has 2048 elements"
INP = "input index 2048 is out of range, the buffer has 2048 elements"
WGT = "weight index 1024 is out of range, the buffer has 1024 elements"
CASES: list[tuple[Instruction, str]] = [
    (Gemm(uop_end=1, iter_in=49, dst_factor_in=1), ACC),
    (Gemm(uop_end=2, iter_out=3, src_factor_out=4), INP),
    (Gemm(uop_bgn=2, uop_end=3, iter_in=2, iter_out=2, wgt_factor_in=3, wgt_factor_out=1), WGT),
    (Alu(alu_opcode=ADD, uop_bgn=1, uop_end=2, iter_in=9, src_factor_in=1), ACC),
    (Alu(alu_opcode=ADD, use_imm=True, uop_end=1, iter_in=2, dst_factor_in=48), ACC),
]
INNOCENT: list[Instruction] = [
    Gemm(uop_end=1, iter_in=48, dst_factor_in=1),
    Gemm(reset=True, uop_end=2, iter_out=3, src_factor_out=4, wgt_factor_out=900),
    Alu(alu_opcode=ADD, use_imm=True, uop_bgn=1, uop_end=2, iter_in=9, src_factor_in=1),
    Gemm(uop_end=1, iter_in=0, iter_out=9, dst_factor_out=2047),
]


@pytest.mark.parametrize(("instruction", "message"), CASES)
def test_the_first_instruction_that_reaches_too_far_is_found(instruction: Instruction, message: str) -> None:
    assert fault([load(0, 4), *INNOCENT, instruction, CASES[0][0]]) == Fault(1 + len(INNOCENT), message)


def test_what_stays_inside_is_no_fault() -> None:
    assert fault([load(0, 4), *INNOCENT]) is None


def test_a_load_changes_what_follows_it_and_stays_for_the_next_launch() -> None:
    shadow = MicroOpShadow(CONFIG)
    far = Gemm(uop_end=1, iter_in=49, dst_factor_in=1)
    assert fault([far, load(1, 1), far], shadow) is None
    assert fault([far], shadow) is None
    assert fault([load(0, 1)], shadow) is None
    assert fault([far], shadow) is not None


def test_unused_bits_of_a_micro_op_are_named() -> None:
    config = VTAConfig(log_wgt_buff_size=17)  # 11, 11 and 9 bits
    memory = MEMORY.copy()
    memory[0x1004:0x1008] = 0xFF
    instructions: list[Instruction] = [
        load(0, 2),
        Gemm(uop_end=1),
        Gemm(uop_bgn=1, uop_end=2, reset=True, iter_in=2048),
        Finish(),
    ]
    stream = InstructionStream(encode_all(instructions, config), config)
    found = MicroOpShadow(config).first_fault(stream, memory, before=4)
    assert found == Fault(2, "UOP: unused bits from bit 31 on must be zero, not 0x1")


def test_a_launch_that_stores_its_own_micro_ops_is_told_from_others() -> None:
    def stores_own(place: int) -> bool:
        instructions: list[Instruction] = [Store(dram_base=place, y_size=1, x_size=1), load(0, 1), Finish()]
        return InstructionStream(encode_all(instructions, CONFIG), CONFIG).stores_own_uops

    assert [stores_own(place) for place in (0xFF, 0x100, 0x101)] == [False, True, False]


def test_what_the_buffer_really_holds_can_be_learnt() -> None:
    shadow = MicroOpShadow(CONFIG)
    far = Gemm(uop_end=1, iter_in=49, dst_factor_in=1)
    words = np.zeros(CONFIG.uop_depth, np.uint32)
    words[0] = encode_uop(UOPS[0], CONFIG)
    assert fault([far], shadow) is None
    shadow.learn(words)
    assert fault([far], shadow) == Fault(0, ACC)


@pytest.mark.parametrize("name", CONFIGS)
def test_valid_random_programs_have_no_fault(name: str) -> None:
    for seed in range(20):
        program = random_program(np.random.default_rng([51, seed]), CONFIGS[name])
        memory = np.zeros(1 << 22, np.uint8)
        image = program.dram()
        memory[: image.size] = image
        stream = InstructionStream(program.words, program.config)
        shadow = MicroOpShadow(program.config)
        assert shadow.first_fault(stream, memory, before=len(stream)) is None


def test_a_load_that_changes_nothing_still_counts_for_what_follows() -> None:
    shadow = MicroOpShadow(CONFIG)
    far = Gemm(uop_end=1, iter_in=49, dst_factor_in=1)
    for _ in range(3):
        assert fault([load(0, 1), INNOCENT[0], load(0, 1), far], shadow) == Fault(3, ACC)
        assert fault([load(1, 1), far], shadow) is None


def test_the_taps_of_a_depthwise_step_count() -> None:
    config = VTAConfig(depthwise_taps=3)
    inside = Gemm(uop_end=1, iter_in=2, src_factor_in=5, depthwise=True)
    beyond = replace(inside, src_factor_in=6)
    found = []
    for last in (inside, beyond, replace(beyond, depthwise=False)):
        stream = InstructionStream(encode_all([load(1, 1), last, Finish()], config), config)
        found.append(MicroOpShadow(config).first_fault(stream, MEMORY, before=3))
    assert found == [None, Fault(1, INP), None]


def test_both_operands_of_a_fused_step_count() -> None:
    config = replace(CONFIG, fused_alu=1)
    depth = config.acc_depth
    inside = Alu(alu_opcode=AluOpcode.MAX, fused=True, uop_end=1, iter_in=2, src_factor_in=depth - 5)
    beyond = replace(inside, src_factor_in=depth - 4)
    found = []
    for last in (inside, beyond, replace(beyond, fused=False)):
        stream = InstructionStream(encode_all([load(0, 1), last, Finish()], config), config)
        found.append(MicroOpShadow(config).first_fault(stream, MEMORY, before=3))
    text = f"accumulator index {depth} is out of range, the buffer has {depth} elements"
    assert found == [None, Fault(1, text), None]
