"""ALU instructions: both forms of operand, loops, and the order of dependent steps."""

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.encoding import encode_uop
from isa.instructions import FUSED, Alu, AluOpcode, MicroOp
from isa.reference import InterpreterError, Reference
from tests.support.configs import CONFIGS
from tests.support.isa.alu_judge import judge_lanes
from tests.support.odd_configs import ODD_CONFIGS

MIN, MAX, ADD, SHR = AluOpcode.MIN, AluOpcode.MAX, AluOpcode.ADD, AluOpcode.SHR


def _machine(config: VTAConfig, *uops: MicroOp) -> Reference:
    machine = Reference(config, np.zeros(0, np.uint8))
    machine.uop[: len(uops)] = [encode_uop(uop, config) for uop in uops]
    rng = np.random.default_rng(8)
    machine.acc[:] = rng.integers(-(2**31), 2**31, machine.acc.shape)
    return machine


@pytest.mark.parametrize("name", CONFIGS)
def test_both_forms_read_operand_0_at_dst(name: str) -> None:
    machine = _machine(CONFIGS[name], MicroOp(dst=3, src=5))
    before = machine.acc.copy()
    machine.step(Alu(alu_opcode=ADD, uop_end=1))
    assert np.array_equal(machine.acc[3], before[3] + before[5])
    machine = _machine(CONFIGS[name], MicroOp(dst=3, src=5))
    machine.step(Alu(alu_opcode=ADD, use_imm=True, imm=-9, uop_end=1))
    assert np.array_equal(machine.acc[3], before[3] - np.int32(9))
    assert np.array_equal(np.delete(machine.acc, 3, 0), np.delete(before, 3, 0))


def test_loops_run_outer_then_inner_then_micro_ops() -> None:
    machine = _machine(VTAConfig(), MicroOp(dst=1, src=0), MicroOp(dst=100, src=1))
    acc = machine.acc.copy()
    machine.step(
        Alu(
            alu_opcode=ADD,
            uop_end=2,
            iter_out=3,
            iter_in=4,
            dst_factor_out=4,
            dst_factor_in=1,
            src_factor_out=4,
            src_factor_in=1,
        )
    )
    for i in range(3):
        for j in range(4):
            for dst, src in ((1, 0), (100, 1)):
                acc[dst + 4 * i + j] += acc[src + 4 * i + j]
    assert np.array_equal(machine.acc, acc)
    assert machine.counts.alu_counter == 24


@pytest.mark.parametrize("operation", AluOpcode)
def test_steps_that_depend_on_each_other_run_in_order(operation: AluOpcode) -> None:
    rng = np.random.default_rng(int(operation))
    for _ in range(40):
        uops = [MicroOp(dst=int(d), src=int(s)) for d, s in rng.integers(0, 5, (4, 2))]
        machine = _machine(VTAConfig(), *uops)
        machine.acc[:] = rng.integers(-40, 40, machine.acc.shape)
        acc = machine.acc.tolist()
        factors = [int(f) for f in rng.integers(0, 3, 4)]
        machine.step(
            Alu(
                alu_opcode=operation,
                uop_end=4,
                iter_out=2,
                iter_in=3,
                dst_factor_out=factors[0],
                dst_factor_in=factors[1],
                src_factor_out=factors[2],
                src_factor_in=factors[3],
            )
        )
        for i in range(2):
            for j in range(3):
                for uop in uops:
                    dst = uop.dst + i * factors[0] + j * factors[1]
                    src = uop.src + i * factors[2] + j * factors[3]
                    acc[dst] = judge_lanes(operation, acc[dst], acc[src]).tolist()
        assert machine.acc.tolist() == acc


def test_the_immediate_form_looks_at_no_source() -> None:
    config = CONFIGS["in16out32"]
    machine = _machine(config, MicroOp(dst=0, src=config.inp_depth - 1))
    machine.step(Alu(alu_opcode=MAX, use_imm=True, imm=5, uop_end=1, iter_in=2, src_factor_in=config.acc_depth - 1))
    assert machine.acc[0].min() >= 5


# --- user reports ----------------------------------------------------------------------------------------------------

V = [-7, -1, 0, 1, 7, 100, -100, 2147483647, -2147483648, 3, 4, 5, 6, 8, 9, 10]
ADDED = [v + 32767 for v in V]
ADDED[7] = -2147450882
CASES = [
    (MAX, -5, [-5, -1, 0, 1, 7, 100, -5, 2147483647, -5, 3, 4, 5, 6, 8, 9, 10]),
    (MIN, -5, [-7, -5, -5, -5, -5, -5, -100, -5, -2147483648, -5, -5, -5, -5, -5, -5, -5]),
    (ADD, -1, [-8, -2, -1, 0, 6, 99, -101, 2147483646, 2147483647, 2, 3, 4, 5, 7, 8, 9]),
    (SHR, 3, [-1, -1, 0, 0, 0, 12, -13, 268435455, -268435456, 0, 0, 0, 0, 1, 1, 1]),
    (SHR, -3, [-56, -8, 0, 8, 56, 800, -800, -8, 0, 24, 32, 40, 48, 64, 72, 80]),
    (MAX, -32768, [max(v, -32768) for v in V]),
    (ADD, 32767, ADDED),
]


@pytest.mark.parametrize(("operation", "imm", "expected"), CASES)
def test_br_002_negative_immediates_are_negative(operation: AluOpcode, imm: int, expected: list[int]) -> None:
    machine = _machine(VTAConfig(), MicroOp(dst=4, src=4))
    machine.acc[4, 0] = V
    machine.step(Alu(alu_opcode=operation, use_imm=True, imm=imm, uop_end=1))
    assert machine.acc[4, 0].tolist() == expected


@pytest.mark.parametrize("name", ["fused", "fused_all"])
@pytest.mark.parametrize("operation", FUSED)
@pytest.mark.parametrize("count", [0, 1, 13, 31, 32, -1, -20, -32])
def test_a_fused_step_is_three_steps_one_after_the_other(name: str, operation: AluOpcode, count: int) -> None:
    config = ODD_CONFIGS[name]
    uops = [MicroOp(dst=0, src=8), MicroOp(dst=1, src=10)]
    loops = {"uop_end": 2, "iter_out": 2, "iter_in": 2, "dst_factor_out": 4, "dst_factor_in": 2, "src_factor_out": 1}
    fused = _machine(config, *uops)
    fused.step(Alu(alu_opcode=operation, fused=True, imm=count, **loops))  # type: ignore[arg-type]
    apart = _machine(config, *uops, *(MicroOp(dst=uop.dst, src=uop.src + 1) for uop in uops))
    second = {**loops, "uop_bgn": 2, "uop_end": 4}
    apart.step(Alu(alu_opcode=operation, **loops))  # type: ignore[arg-type]
    apart.step(Alu(alu_opcode=FUSED[operation], **second))  # type: ignore[arg-type]
    apart.step(Alu(alu_opcode=SHR, use_imm=True, imm=count, **loops))  # type: ignore[arg-type]
    assert np.array_equal(fused.acc, apart.acc)
    assert (fused.counts.alu_counter, apart.counts.alu_counter) == (8, 24)


@pytest.mark.parametrize(("dst", "src"), [(3, 3), (4, 3), (3, 4)])
def test_a_fused_step_reads_all_operands_before_it_writes(dst: int, src: int) -> None:
    machine = _machine(ODD_CONFIGS["fused"], MicroOp(dst=dst, src=src))
    acc = machine.acc.copy()
    machine.step(Alu(alu_opcode=MAX, fused=True, uop_end=1, iter_in=5, dst_factor_in=1, src_factor_in=1))
    for j in range(5):
        acc[dst + j] = judge_lanes(MIN, judge_lanes(MAX, acc[dst + j], acc[src + j]), acc[src + j + 1].copy())
    assert np.array_equal(machine.acc, acc)


def test_the_second_operand_of_a_fused_step_is_inside_of_the_buffer() -> None:
    config = ODD_CONFIGS["fused"]
    machine = _machine(config, MicroOp(src=config.acc_depth - 2))
    machine.step(Alu(alu_opcode=MAX, fused=True, uop_end=1))
    with pytest.raises(InterpreterError) as caught:
        machine.step(Alu(alu_opcode=MAX, fused=True, uop_end=1, src_factor_in=1, iter_in=2))
    depth = config.acc_depth
    text = f"instruction 0: accumulator index {depth} is out of range, the buffer has {depth} elements"
    assert str(caught.value) == text
