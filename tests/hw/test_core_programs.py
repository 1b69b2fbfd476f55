"""Whole programs on the core in native code: random ones with random stalls, and the recorded streams' cycles."""

import functools
from typing import Any

import numpy as np
import pytest

from isa.machine.causes import Cause
from isa.machine.hardware_config import HardwareConfig
from isa.reference import execute
from tests.support.configs import CONFIGS
from tests.support.golden.golden import load_case
from tests.support.hw.core_sim import CoreSim, golden_launches, reference_memory
from tests.support.isa.random_programs import random_program
from tests.support.odd_configs import ODD_CONFIGS

QUICK_STREAMS = (
    "insn.test_alu.ADD",
    "insn.test_gemm.smt",
    "insn.test_padded_load.all",
    "insn.test_relu",
    "insn.test_save_load_out",
    "insn.test_shift_and_scale",
    "benchmark_gemm.128.alu_unittest",
    "benchmark_gemm.128.gemm_unittest",
    "benchmark_gemm.128.normal",
    "tut.matrix_multiply",
    "tut.vta_get_started",
    "alu.residual_add_int32",
)
LONG_STREAMS = (
    "conv2d.resnet-18.C7",
    "conv2d.resnet-18.C9",
    "conv2d.resnet-18.C2",
    "conv2d_transpose.DCGAN.CT1",
    "dense.128x128x128",
    "group_conv2d.mobilenet.D1",
    "group_conv2d.mobilenet.D8",
    "tut.convolution_opt",
    "tut.matrix_multiply_opt",
)


SMALLEST = {
    "inst_queue_depth": 1,
    "fetch_buffer_depth": 2,
    "max_burst_beats": 1,
    "read_bursts": 1,
    "read_beats": 1,
    "write_bursts": 1,
    "load_jobs": 2,
    "store_jobs": 2,
}


@functools.cache
def simulation(name: str, width: int) -> Any:
    return CoreSim({**CONFIGS, **ODD_CONFIGS}[name], HardwareConfig(data_width=width))


def check_random_programs(sim: CoreSim, seeds: range) -> None:
    for seed in seeds:
        program = random_program(np.random.default_rng(seed), sim.vta)
        want = execute(program).memory
        sim.design.reset()  # scratchpads of zeros, as the reference has them
        launch, memory = sim.run(
            program, latency=(1, 3, 32, 100)[seed % 4], stalls=(0.0, 0.3, 0.7)[seed % 3], seed=seed + 1, limit=400_000
        )
        assert launch.done, f"seed {seed}: {launch}"
        np.testing.assert_array_equal(memory, want, f"seed {seed}")
        assert all(sum(causes.values()) == launch.cycles for causes in launch.causes.values())
        assert Cause.IDLE.name not in launch.causes["compute"]


@pytest.mark.parametrize(("name", "width"), [("single_lane", 64), pytest.param("one_bit", 256, marks=pytest.mark.long)])
def test_random_programs_leave_what_the_reference_leaves(name: str, width: int) -> None:
    check_random_programs(simulation(name, width), range(25))


def test_the_smallest_hardware_leaves_what_the_reference_leaves() -> None:
    check_random_programs(CoreSim(ODD_CONFIGS["two_lanes_in"], HardwareConfig(**SMALLEST)), range(100, 120))


@pytest.mark.long
@pytest.mark.parametrize("width", [64, 128, 256, 512])
@pytest.mark.parametrize("name", [*CONFIGS, *ODD_CONFIGS])
def test_random_programs_leave_what_the_reference_leaves_at_every_width(name: Any, width: Any) -> None:
    check_random_programs(simulation(name, width), range(60))


def check_stream(stream: str, latencies: tuple[int, ...]) -> None:
    case = load_case("default", stream)
    memory, launches = golden_launches(case, seed=1)
    want = reference_memory(case, memory, launches)
    sim = simulation("default", 64)
    for latency in latencies:
        sim.design.reset()
        dram = memory.copy()
        ends = [
            sim.launch(dram, address, len(words), latency=latency, stalls=0.0, seed=1) for address, words in launches
        ]
        assert all(end.done for end in ends)
        np.testing.assert_array_equal(dram, want)
        cycles = sum(end.cycles for end in ends)
        assert cycles <= case.record["upstream_rtl_cycles"][str(latency)], f"latency {latency}"


@pytest.mark.parametrize("stream", QUICK_STREAMS)
def test_a_recorded_stream_needs_no_more_cycles_than_upstream(stream: str) -> None:
    check_stream(stream, (1, 32, 100))


@pytest.mark.long
@pytest.mark.parametrize("stream", LONG_STREAMS)
def test_a_long_recorded_stream_needs_no_more_cycles_than_upstream(stream: Any) -> None:
    check_stream(stream, (1, 32, 100))
