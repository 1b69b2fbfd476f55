"""Order and tokens on the stage: pushes wait for everything before them, loads for those that use what they replace."""

from dataclasses import replace
from typing import Any

import numpy as np

from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, MicroOp
from isa.machine.causes import Cause
from tests.support.hw.compute_rig import COMPUTE_CONFIGS, ComputeRig, Stalls, load_uops, uop_image

CONFIG = COMPUTE_CONFIGS["block4"]
LONG = Gemm(uop_end=1, iter_in=100, dst_factor_in=0)
SHORT = Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=1, uop_bgn=1, uop_end=2)
UOPS = [MicroOp(dst=0, src=0), MicroOp(dst=40, src=41), MicroOp(dst=3, src=5, wgt=1), MicroOp(dst=50, src=50)] + [
    MicroOp(dst=dst, src=dst) for dst in range(40, 44)
]


def _rig(*, stalls: Stalls | None = None, memory: None = None) -> Any:
    words = uop_image(UOPS, CONFIG).ljust(4096, b"\x11") if memory is None else memory
    rig = ComputeRig(CONFIG, seed=3, stalls=stalls or Stalls(), memory=words)
    rig.run([load_uops(len(UOPS))])
    return rig


def test_a_push_waits_for_every_earlier_instruction() -> None:
    push = replace(SHORT, deps=Deps(push_prev=True, push_next=True))
    rig = _rig()
    trace = rig.run([LONG, push, replace(LONG, iter_in=20), replace(push, deps=Deps(push_next=True))])
    rig.check()
    assert trace.g2l == trace.g2s[:1]
    assert trace.g2l[0] >= 100
    assert trace.g2s[1] >= trace.g2s[0] + 20
    assert trace.finish > trace.g2s[1]


def test_a_reset_is_posted_for_the_load_module_and_nobody_else() -> None:
    reset = Gemm(reset=True, uop_end=1, iter_in=14, dst_factor_in=4, iter_out=2, deps=Deps(push_prev=True))
    both = replace(reset, deps=Deps(push_prev=True, push_next=True))
    add = Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=1, uop_end=1, iter_in=14, dst_factor_in=4)
    rig = _rig()
    trace = rig.run([reset, both, replace(add, deps=Deps(push_prev=True))])
    rig.check()
    assert trace.g2l[0] <= trace.starts[0] + 2
    assert trace.g2l[1] <= trace.starts[1] + 2
    assert trace.g2s[0] > trace.g2l[1] + 28
    assert trace.g2l[2] > trace.g2s[0]


def test_a_reset_s_push_waits_for_a_gemm_before_it() -> None:
    trace = _rig().run([LONG, Gemm(reset=True, uop_end=1, deps=Deps(push_prev=True))])
    assert trace.g2l[0] >= 100


def test_work_begins_before_its_range_is_known_where_no_other_unit_has_work() -> None:
    count = 60
    uops = [MicroOp(dst=index % 40, src=index % 40) for index in range(count)]
    gemm = Gemm(uop_end=count)
    for work in (gemm, Alu(alu_opcode=AluOpcode.ADD, uop_end=count, use_imm=True, imm=1)):
        rig = ComputeRig(CONFIG, seed=3, memory=uop_image(uops, CONFIG).ljust(4096, b"\0"))
        rig.run([load_uops(count)])
        trace = rig.run([work, work])
        rig.check()
        assert trace.finish < 2 * count + 25


def test_micro_ops_of_work_that_ended_before_it_was_bound_are_replaced_without_confusion() -> None:
    uops = [MicroOp(dst=index, src=index) for index in range(30)] + [MicroOp(dst=55, src=index) for index in range(30)]
    rig = ComputeRig(CONFIG, seed=3, memory=uop_image(uops, CONFIG).ljust(4096, b"\0"))
    rig.run([load_uops(60)])
    short = Gemm(uop_end=30)
    other: list[Instruction] = [load_uops(30, at=0, first=30), Gemm(uop_end=30), replace(SHORT, uop_bgn=0, uop_end=30)]
    rig.run([short, *other, load_uops(30, at=0), short, replace(SHORT, uop_bgn=0, uop_end=30)] * 3)
    rig.check()


def test_an_instruction_without_work_pushes_in_order() -> None:
    nop = Load(memory=MemoryId.ACC, deps=Deps(push_prev=True))
    trace = _rig().run([LONG, nop, nop, nop])
    assert trace.g2l == [trace.g2l[0] + index for index in range(3)]
    assert trace.g2l[0] >= 100
    assert trace.finish == trace.g2l[-1] + 1


def test_micro_ops_are_not_replaced_while_they_are_used() -> None:
    rig = _rig()
    other = load_uops(1, at=0, first=2)
    rig.run([LONG, other, replace(LONG, iter_in=3), replace(SHORT, uop_bgn=0, uop_end=1)])
    rig.check()


def test_micro_ops_are_loaded_under_a_gemm_that_uses_others() -> None:
    alone = _rig().run([LONG]).finish
    rig = _rig(stalls=Stalls(latency=40))
    trace = rig.run([LONG, load_uops(2, at=8), replace(LONG, uop_bgn=8, uop_end=9, iter_in=1)])
    rig.check()
    assert trace.finish <= alone + 15


def test_accumulators_are_loaded_under_a_gemm_that_uses_others() -> None:
    load = Load(memory=MemoryId.ACC, sram_base=20, dram_base=4, y_size=1, x_size=16, x_pad_0=1, x_pad_1=2)
    moving = Gemm(uop_bgn=4, uop_end=8, iter_in=14)
    alone = _rig().run([moving]).finish
    rig = _rig()
    trace = rig.run([moving, load])
    rig.check()
    assert trace.finish <= alone + 3
    rig.run([replace(load, sram_base=0), LONG, replace(load, sram_base=0), replace(SHORT, uop_bgn=2, uop_end=3)])
    rig.check()


def test_a_load_does_not_wait_for_a_gemm_that_keeps_to_one_bank() -> None:
    load = Load(memory=MemoryId.ACC, sram_base=20, dram_base=4, y_size=1, x_size=16)
    rig = _rig()
    trace = rig.run([replace(LONG, iter_out=4), load, Load(memory=MemoryId.UOP)])
    rig.check()
    assert trace.finish <= _rig().run([replace(LONG, iter_out=4)]).finish + 8
    assert all(wait < 60 for wait in rig.waits["acc_dma"])


def test_an_instruction_waits_for_both_tokens() -> None:
    rig = _rig(stalls=Stalls(tokens=90))
    trace = rig.run([replace(SHORT, deps=Deps(pop_prev=True, pop_next=True))] * 10)
    rig.check()
    assert {Cause.TOKEN_PREV, Cause.TOKEN_NEXT} <= set(trace.causes)


def test_finish_comes_after_everything() -> None:
    rig = _rig(stalls=Stalls(latency=50))
    load = Load(memory=MemoryId.ACC_8BIT, sram_base=0, dram_base=1, y_size=3, x_size=4, x_stride=9, y_pad_0=1)
    rig.run([LONG, load, SHORT])
    np.testing.assert_array_equal(rig.accumulators(), rig.reference.acc)


def test_finish_may_pop() -> None:
    rig = _rig(stalls=Stalls(tokens=95))
    trace = rig.run([SHORT], last=Finish(deps=Deps(pop_prev=True, pop_next=True)))
    assert trace.finish == len(trace.causes) - 1
