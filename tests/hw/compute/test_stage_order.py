"""Order and tokens on the stage: pushes wait for everything before them, loads for those that use what they replace."""

from dataclasses import replace

import numpy as np

from hw.accounting import Cause
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Load, MemoryId, MicroOp
from tests.support.compute_rig import COMPUTE_CONFIGS, ComputeRig, Stalls, load_uops, uop_image

CONFIG = COMPUTE_CONFIGS["block4"]
LONG = Gemm(uop_end=1, iter_in=100, dst_factor_in=0)
SHORT = Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=1, uop_bgn=1, uop_end=2)
UOPS = [MicroOp(dst=0, src=0), MicroOp(dst=40, src=41), MicroOp(dst=3, src=5, wgt=1), MicroOp(dst=50, src=50)] + [
    MicroOp(dst=dst, src=dst) for dst in range(40, 44)
]


def _rig(*, stalls=None, memory=None):
    words = uop_image(UOPS, CONFIG).ljust(4096, b"\x11") if memory is None else memory
    rig = ComputeRig(CONFIG, seed=3, stalls=stalls or Stalls(), memory=words)
    rig.run([load_uops(len(UOPS))])
    return rig


def test_a_push_waits_for_every_earlier_instruction():
    push = replace(SHORT, deps=Deps(push_prev=True, push_next=True))
    rig = _rig()
    trace = rig.run([LONG, push, replace(LONG, iter_in=20), replace(push, deps=Deps(push_next=True))])
    rig.check()
    assert trace.g2l == trace.g2s[:1]
    assert trace.g2l[0] >= 100
    assert trace.g2s[1] >= trace.g2s[0] + 20
    assert trace.finish > trace.g2s[1]


def test_an_instruction_without_work_pushes_in_order():
    nop = Load(memory=MemoryId.ACC, deps=Deps(push_prev=True))
    trace = _rig().run([LONG, nop, nop, nop])
    assert trace.g2l == [trace.g2l[0] + index for index in range(3)]
    assert trace.g2l[0] >= 100
    assert trace.finish == trace.g2l[-1] + 1


def test_micro_ops_are_not_replaced_while_they_are_used():
    rig = _rig()
    other = load_uops(1, at=0, first=2)
    rig.run([LONG, other, replace(LONG, iter_in=3), replace(SHORT, uop_bgn=0, uop_end=1)])
    rig.check()


def test_micro_ops_are_loaded_under_a_gemm_that_uses_others():
    alone = _rig().run([LONG]).finish
    rig = _rig(stalls=Stalls(latency=40))
    trace = rig.run([LONG, load_uops(2, at=8), replace(LONG, uop_bgn=8, uop_end=9, iter_in=1)])
    rig.check()
    assert trace.finish <= alone + 15


def test_accumulators_are_loaded_under_a_gemm_that_uses_others():
    load = Load(memory=MemoryId.ACC, sram_base=20, dram_base=4, y_size=1, x_size=16, x_pad_0=1, x_pad_1=2)
    moving = Gemm(uop_bgn=4, uop_end=8, iter_in=14)
    alone = _rig().run([moving]).finish
    rig = _rig()
    trace = rig.run([moving, load])
    rig.check()
    assert trace.finish <= alone + 3
    rig.run([replace(load, sram_base=0), LONG, replace(load, sram_base=0), replace(SHORT, uop_bgn=2, uop_end=3)])
    rig.check()


def test_a_load_does_not_wait_for_a_gemm_that_keeps_to_one_bank():
    load = Load(memory=MemoryId.ACC, sram_base=20, dram_base=4, y_size=1, x_size=16)
    rig = _rig()
    trace = rig.run([replace(LONG, iter_out=4), load, Load(memory=MemoryId.UOP)])
    rig.check()
    assert trace.finish <= _rig().run([replace(LONG, iter_out=4)]).finish + 8
    assert all(wait < 60 for wait in rig.waits["acc_dma"])


def test_an_instruction_waits_for_both_tokens():
    rig = _rig(stalls=Stalls(tokens=90))
    trace = rig.run([replace(SHORT, deps=Deps(pop_prev=True, pop_next=True))] * 10)
    rig.check()
    assert {Cause.TOKEN_PREV, Cause.TOKEN_NEXT} <= set(trace.causes)


def test_finish_comes_after_everything():
    rig = _rig(stalls=Stalls(latency=50))
    load = Load(memory=MemoryId.ACC_8BIT, sram_base=0, dram_base=1, y_size=3, x_size=4, x_stride=9, y_pad_0=1)
    rig.run([LONG, load, SHORT])
    np.testing.assert_array_equal(rig.accumulators(), rig.reference.acc)


def test_finish_may_pop():
    rig = _rig(stalls=Stalls(tokens=95))
    trace = rig.run([SHORT], last=Finish(deps=Deps(pop_prev=True, pop_next=True)))
    assert trace.finish == len(trace.causes) - 1
