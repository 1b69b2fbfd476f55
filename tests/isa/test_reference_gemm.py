"""GEMM semantics against plain sums over whole numbers."""

from dataclasses import replace

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.encoding import encode_uop
from isa.instructions import Finish, Gemm, MicroOp
from isa.program import Program
from isa.reference import InterpreterError, Reference
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS

INT4 = VTAConfig(log_inp_width=2, log_wgt_width=1, log_inp_buff_size=14, log_wgt_buff_size=16)
ALL = {**CONFIGS, "int4": INT4}


def _machine(config: VTAConfig, *uops: MicroOp) -> Reference:
    """A machine with random numbers in every scratchpad."""
    machine = Reference(config, np.zeros(0, np.uint8))
    rng = np.random.default_rng(9)
    inp, wgt = 1 << (config.inp_width - 1), 1 << (config.wgt_width - 1)
    machine.inp[:] = rng.integers(-inp, inp, machine.inp.shape)
    machine.wgt[:] = rng.integers(-wgt, wgt, machine.wgt.shape)
    machine.acc[:] = rng.integers(-(2**31), 2**31, machine.acc.shape)
    machine.uop[: len(uops)] = [encode_uop(uop, config) for uop in uops]
    return machine


@pytest.mark.parametrize("name", ALL)
def test_a_product_is_added_to_every_destination(name: str) -> None:
    config = ALL[name]
    uops = (MicroOp(dst=7, src=2, wgt=1), MicroOp(dst=7, src=0, wgt=3), MicroOp(dst=1, src=5, wgt=0))
    machine = _machine(config, *uops)
    acc = machine.acc.astype(np.int64)
    gemm = Gemm(
        uop_end=3,
        iter_out=2,
        iter_in=3,
        dst_factor_out=2,
        dst_factor_in=1,
        src_factor_out=3,
        src_factor_in=2,
        wgt_factor_out=5,
        wgt_factor_in=4,
    )
    machine.step(gemm)
    for i in range(2):
        for j in range(3):
            for uop in uops:
                a = machine.inp[uop.src + 3 * i + 2 * j].astype(np.int64)
                w = machine.wgt[uop.wgt + 5 * i + 4 * j].astype(np.int64)
                for b in range(config.batch):
                    for o in range(config.block_out):
                        acc[uop.dst + 2 * i + j, b, o] += sum(a[b, k] * w[o, k] for k in range(config.block_in))
    assert np.array_equal(machine.acc, acc.astype(np.int32))
    assert machine.counts.gemm_counter == 18


def test_sums_wrap_at_32_bits() -> None:
    machine = _machine(VTAConfig(), MicroOp())
    machine.acc[0] = 2**31 - 1
    machine.inp[0] = -128
    machine.wgt[0] = -128
    machine.step(Gemm(uop_end=1, iter_in=2))
    assert set(machine.acc[0].ravel().tolist()) == {2**31 - 1 + 2 * 16 * 128 * 128 - 2**32}


def test_a_reset_zeroes_and_looks_at_no_operand() -> None:
    config = VTAConfig()
    machine = _machine(config, MicroOp(dst=3, src=2047, wgt=1023))
    before = machine.acc.copy()
    reset = Gemm(reset=True, uop_end=1, iter_in=4, dst_factor_in=2, src_factor_in=2047, wgt_factor_in=1023)
    machine.step(reset)
    before[[3, 5, 7, 9]] = 0
    assert np.array_equal(machine.acc, before)
    assert machine.counts.gemm_counter == 0


@pytest.mark.parametrize(
    "gemm",
    [
        Gemm(uop_bgn=3, uop_end=3),
        Gemm(uop_bgn=9000 % 8192, uop_end=2),
        Gemm(uop_end=1, iter_out=0),
        Gemm(uop_end=1, iter_in=0),
        Gemm(uop_end=1, iter_in=0, reset=True),
    ],
)
def test_a_zero_extent_is_no_work(gemm: Gemm) -> None:
    machine = _machine(VTAConfig(), MicroOp())
    before = machine.acc.copy()
    machine.step(gemm)
    assert np.array_equal(machine.acc, before)
    assert machine.counts.gemm_counter == 0


def test_long_loops_are_cut_into_parts_that_join() -> None:
    machine = _machine(VTAConfig(), MicroOp(), MicroOp(dst=1))
    expected = machine.acc.copy()
    product = (machine.inp[0].astype(np.int64) @ machine.wgt[0].T.astype(np.int64)) * 16383
    for dst in (0, 1):
        expected[dst] = (expected[dst] + product).astype(np.int32)
    machine.step(Gemm(uop_end=2, iter_in=16383))
    assert np.array_equal(machine.acc, expected)
    assert machine.counts.gemm_counter == 2 * 16383


def test_br_008_an_empty_micro_op_range_changes_nothing_and_the_next_gemm_is_right() -> None:
    machine = _machine(VTAConfig(), MicroOp(), MicroOp(), MicroOp(), MicroOp(dst=2, src=1, wgt=1))
    before = machine.acc.copy()
    empty = Gemm(uop_bgn=3, uop_end=3)
    program = Program(config=VTAConfig(), instructions=(empty, replace(empty, uop_end=4), Finish()))
    machine.run(program)
    before[2] += machine.inp[1] @ machine.wgt[1].T
    assert np.array_equal(machine.acc, before)
    assert machine.counts.gemm_counter == 1


@pytest.mark.parametrize("name", ["depthwise", "depthwise_int4"])
def test_a_depthwise_step_multiplies_every_lane_by_itself(name: str) -> None:
    config = ODD_CONFIGS[name]
    machine = _machine(config, MicroOp(dst=7, src=2, wgt=1), MicroOp(dst=7, src=0, wgt=3))
    acc = machine.acc.astype(np.int64)
    machine.step(Gemm(uop_end=2, iter_in=3, dst_factor_in=1, src_factor_in=2, wgt_factor_in=4, depthwise=True))
    for j in range(3):
        for src, wgt in ((2, 1), (0, 3)):
            for b in range(config.batch):
                for lane in range(config.block_out):
                    acc[7 + j, b, lane] += sum(
                        int(machine.inp[src + 2 * j + tap, b, lane]) * int(machine.wgt[wgt + 4 * j, lane, tap])
                        for tap in range(config.depthwise_taps)
                    )
    assert np.array_equal(machine.acc, acc.astype(np.int32))
    assert machine.counts.gemm_counter == 6


def test_the_last_tap_of_a_depthwise_step_is_inside_of_the_buffer() -> None:
    config = ODD_CONFIGS["depthwise"]
    machine = _machine(config, MicroOp(src=config.inp_depth - 3))
    machine.step(Gemm(uop_end=1, depthwise=True))
    machine.step(Gemm(uop_end=1, depthwise=True, reset=True, src_factor_in=1, iter_in=2))
    with pytest.raises(InterpreterError) as caught:
        machine.step(Gemm(uop_end=1, depthwise=True, src_factor_in=1, iter_in=2))
    depth = config.inp_depth
    assert str(caught.value) == f"instruction 0: input index {depth} is out of range, the buffer has {depth} elements"
