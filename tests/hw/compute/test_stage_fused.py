"""Fused steps on the stage: exact, in any mixture with others, and one a cycle while their operands stay the same."""

from dataclasses import replace

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Gemm, Instruction, MicroOp
from isa.machine.hardware_config import HardwareConfig
from tests.support.hw.compute_rig import ComputeRig, Stalls, load_uops, random_compute_program, uop_image

SMALL = VTAConfig(
    log_block=2, log_uop_buff_size=8, log_inp_buff_size=8, log_wgt_buff_size=9, log_acc_buff_size=10, fused_alu=1
)
CONFIGS = {
    "block4": SMALL,
    "batch": replace(SMALL, log_batch=1, log_inp_width=2, log_wgt_width=1),
    "lane": replace(SMALL, log_block=0, log_inp_buff_size=6, log_wgt_buff_size=4, log_acc_buff_size=3),
    "block8": replace(SMALL, log_block=3, log_wgt_buff_size=11, depthwise_taps=3),
    "block16": replace(SMALL, log_block=4, log_inp_buff_size=9, log_wgt_buff_size=11, log_acc_buff_size=11),
}


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        pytest.param(name, shared, marks=() if (name, shared) == ("block4", 1) else pytest.mark.long)
        for name in CONFIGS
        for shared in (0, 1)
    ],
)
def test_random_programs_agree_with_the_reference(name: str, shared: int) -> None:
    config, hardware = CONFIGS[name], HardwareConfig(share_multipliers=shared)
    if 2 * config.depthwise_taps > config.block_in:
        hardware = replace(hardware, share_multipliers=0)
    fused = 0
    for seed in range(6):
        program, memory = random_compute_program(np.random.default_rng(seed), config)
        fused += sum(isinstance(each, Alu) and each.fused for each in program)
        rig = ComputeRig(config, seed=seed, stalls=Stalls(insn=30, memory=30), hardware=hardware, memory=memory)
        rig.run(program)
        rig.check()
    assert fused >= 5


def _cycles(uops: list[MicroOp], program: list[Instruction]) -> int:
    rig = ComputeRig(SMALL, seed=2, memory=uop_image(uops, SMALL).ljust(256, b"\0"))
    rig.run([load_uops(len(uops))])
    cycles = rig.run(program).finish
    rig.check()
    return cycles


def _clamp(count: int, **more: int) -> Alu:
    alu = Alu(alu_opcode=AluOpcode.MAX, fused=True, imm=3, uop_end=1, iter_in=count, dst_factor_in=1)
    return replace(alu, **more)  # type: ignore[arg-type]  # whole numbers


def test_a_run_with_the_same_operands_takes_a_cycle_a_step_and_one_more_for_the_second_operand() -> None:
    uops = [MicroOp(dst=0, src=60)]
    counts = [_cycles(uops, [_clamp(count)]) for count in (10, 40)]
    assert counts[1] - counts[0] == 30
    plain = replace(_clamp(40), fused=False, imm=0)
    behind = [_cycles(uops, [each] * 3) - _cycles(uops, [each] * 2) for each in (plain, _clamp(40))]
    assert behind[1] - behind[0] <= 2


def test_operands_that_change_at_every_step_take_two_cycles_a_step() -> None:
    uops = [MicroOp(dst=0, src=24)]
    counts = [_cycles(uops, [_clamp(count, src_factor_in=2)]) for count in (4, 16)]
    assert 24 <= counts[1] - counts[0] <= 30


@pytest.mark.parametrize("src", [0, 1, 2, 3, 4, 7])
def test_a_step_that_writes_an_operand_of_those_behind_it_is_waited_for(src: int) -> None:
    """``src`` or the one after it is written amid the run, by the step itself, too."""
    uops = [MicroOp(dst=0, src=src), MicroOp(dst=5, src=src), MicroOp(dst=1, src=src)]
    program = [
        Alu(alu_opcode=opcode, fused=True, imm=imm, uop_end=3, iter_in=3, dst_factor_in=1, src_factor_in=factor)
        for opcode, imm in ((AluOpcode.MUL, 1), (AluOpcode.MAX, -1))
        for factor in (0, 1)
    ]
    _cycles(uops, [*program, *program])


def test_gemm_and_fused_steps_keep_out_of_each_others_way() -> None:
    """The range of an instruction reaches to the second operand: up to 15 here, which GEMM leaves alone, or 16."""
    uops = [MicroOp(dst=0, src=14), MicroOp(dst=16, src=2), MicroOp(dst=0, src=15)]
    gemm = Gemm(uop_bgn=1, uop_end=2, iter_in=8, iter_out=4, dst_factor_in=1)
    alone = _cycles(uops, [gemm])
    assert _cycles(uops, [gemm, _clamp(14)]) <= alone + 10
    assert _cycles(uops, [gemm, _clamp(14, uop_bgn=2, uop_end=3)]) >= alone + 20
    _cycles(uops, [gemm, _clamp(14, uop_bgn=1, uop_end=2), gemm, _clamp(14), gemm])
