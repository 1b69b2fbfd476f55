"""Every cycle of the stage has one cause, and it is the right one."""

from collections import Counter
from typing import Any

from isa.instructions import Alu, AluOpcode, Gemm, Load, MemoryId, MicroOp
from isa.machine.causes import Cause
from tests.support.hw.compute_rig import COMPUTE_CONFIGS, ComputeRig, Stalls, load_uops, uop_image

CONFIG = COMPUTE_CONFIGS["block4"]


def _causes(program: Any, *, uops: int = 4, **stalls: Any) -> Any:
    rig = ComputeRig(
        CONFIG, seed=3, stalls=Stalls(**stalls), memory=uop_image([MicroOp()] * 8, CONFIG).ljust(4096, b"\0")
    )
    trace = rig.run([load_uops(uops), *program])
    assert len(trace.causes) == trace.finish + 1
    return Counter(Cause(cause) for cause in trace.causes)


def test_a_gemm_works_one_cycle_a_step() -> None:
    gemm = Gemm(uop_end=4, iter_in=20)
    assert _causes([gemm, gemm])[Cause.WORK] - _causes([gemm])[Cause.WORK] == 80


def test_micro_ops_under_way_are_named() -> None:
    causes = _causes([], latency=50)
    assert 45 <= causes[Cause.UOP_LOAD] <= 55


def test_accumulators_under_way_are_named() -> None:
    causes = _causes([Load(memory=MemoryId.ACC, y_size=1, x_size=1)], uops=0, latency=50)
    assert 45 <= causes[Cause.MEMORY] <= 55


def test_a_unit_that_waits_for_another_one_is_named() -> None:
    gemm = Gemm(uop_end=1)
    alu = Alu(alu_opcode=AluOpcode.MAX, use_imm=True, uop_end=1)
    assert _causes([gemm, alu, gemm, alu])[Cause.HAZARD] > 0


def test_missing_instructions_are_named() -> None:
    assert _causes([Load(memory=MemoryId.UOP)] * 20, insn=80)[Cause.INSTRUCTION] > 20


def test_micro_ops_lie_in_a_copy_of_two_halves_for_gemm_the_alu_and_the_binder() -> None:
    design = ComputeRig(CONFIG, seed=1, stalls=Stalls(), memory=bytes(4096)).design
    copies = [name for name in design.memories if ".copy_" in name]
    assert len(copies) == 3 * 2
    assert sum(design.memory(name).nbytes for name in copies) == 3 * 4 * CONFIG.uop_depth
