"""The engines give the same memory: recorded streams, tutorials and random programs on reference, ``sim`` and ``tsim``.

The hardware runs with a memory that stalls at random. What takes long (the larger recordings, the five configurations,
many programs) is marked; ``python -m bench.fuzz --engines tsim`` runs as many random programs as asked for.
"""

import zlib

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from isa.text.disassembler import disassemble
from runtime.devices.functional import FunctionalSimulator
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session
from tests.support.configs import CONFIGS
from tests.support.golden.golden import case_names, load_case
from tests.support.golden.golden_launch import GOLDEN_MEMORY_LIMIT, place_case
from tests.support.golden.spine_cases import (
    Scheduled,
    blocked_matrix_multiply,
    gemm_benchmark,
    matrix_multiply,
    vector_add,
)
from tests.support.hw.rtl_comparison import account_error, rtl_difference
from tests.support.hw.small_designs import SMALL_DESIGNS
from tests.support.isa.random_programs import random_program
from tests.support.runtime.engine_comparison import run_reference
from tests.support.turns import few
from vta.nd import EXT_DEV, Device, array, empty

QUICK = ("insn.", "tut.vta_get_started", "tut.matrix_multiply", "benchmark_gemm.128.alu_unittest")
CASES = case_names()


def compare_case(folder: str, name: str, *, latency: int, stall_seed: int | None) -> None:
    case = load_case(folder, name)
    sim = FunctionalSimulator(case.config, DeviceMemory(GOLDEN_MEMORY_LIMIT))
    tsim = RtlSimulator(case.config, DeviceMemory(GOLDEN_MEMORY_LIMIT), latency=latency, stall_seed=stall_seed)
    for device in (sim, tsim):
        placed = place_case(device.memory, case)
        launch = device.launch(placed.address, placed.count)
    assert account_error(launch) is None
    assert tsim.stats.as_dict() | {"cycle_count": None} == sim.stats.as_dict() | {"cycle_count": None}
    assert np.array_equal(tsim.memory.address_space(), sim.memory.address_space())


@pytest.mark.parametrize("name", [name for folder, name in CASES if folder == "default" and name.startswith(QUICK)])
def test_a_recorded_stream_leaves_the_same_memory_on_sim_and_tsim(name: str) -> None:
    compare_case("default", name, latency=1, stall_seed=None)


@pytest.mark.long
@pytest.mark.parametrize(("folder", "name"), CASES)
def test_every_recorded_stream_leaves_the_same_memory_with_stalls(folder: str, name: str) -> None:
    compare_case(folder, name, latency=32, stall_seed=zlib.crc32(name.encode()))


def compare_programs(config: VTAConfig, seed: int, count: int) -> None:
    for index in range(count):
        program = random_program(np.random.default_rng([seed, index]), config)
        latency = int(np.random.default_rng([seed, index, 1]).integers(1, 40))
        difference = rtl_difference(program, run_reference(program), latency=latency, stall_seed=index)
        assert difference is None, f"program {index}, latency {latency}: {difference}\n{disassemble(program)}"


@pytest.mark.parametrize("name", few(SMALL_DESIGNS))
def test_random_programs_agree_with_the_reference_whatever_memory_does(name: str) -> None:
    compare_programs(SMALL_DESIGNS[name], 41, 25)


@pytest.mark.long
@pytest.mark.parametrize("name", CONFIGS)
def test_many_random_programs_agree_on_every_configuration(name: str) -> None:
    compare_programs(CONFIGS[name], 42, 500)


def outputs(env: vta.Environment, scheduled: Scheduled, device: str) -> np.ndarray:
    """Run on seeded random data; return the output."""
    place = Device(EXT_DEV, 0, Session(env.config, device))
    with env:
        module = vta.build(scheduled.schedule, scheduled.args)
    rng = np.random.default_rng(43)
    inputs = []
    for tensor in scheduled.args[:-1]:
        info = np.iinfo(tensor.dtype)
        shape = [int(extent) for extent in tensor.shape]
        inputs.append(rng.integers(info.min, info.max, size=shape, dtype=tensor.dtype, endpoint=True))
    out = empty(scheduled.args[-1].shape, scheduled.args[-1].dtype, place)
    module(*(array(values, place) for values in inputs), out)
    return out.numpy()


def tutorial(env: vta.Environment, name: str) -> Scheduled:
    match name:
        case "vector_add":
            return vector_add(env)
        case "matrix_multiply":
            return matrix_multiply(env)
        case _:
            return blocked_matrix_multiply(env) if env.BATCH == 1 else gemm_benchmark(env, 128, "normal")


TUTORIALS = ("vector_add", "matrix_multiply", "blocked")


def compare_tutorial(config: str, name: str) -> None:
    env = vta.Environment(CONFIGS[config])
    scheduled = tutorial(env, name)
    np.testing.assert_array_equal(outputs(env, scheduled, "tsim"), outputs(env, scheduled, "sim"))


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_gives_the_same_on_sim_and_tsim(name: str) -> None:
    compare_tutorial("default", name)


@pytest.mark.long
@pytest.mark.parametrize("config", [name for name in CONFIGS if name != "default"])
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_gives_the_same_on_every_configuration(name: str, config: str) -> None:
    compare_tutorial(config, name)


def test_an_environment_runs_on_tsim_and_counts_cycles() -> None:
    from vta.testing import simulator

    config = VTAConfig(target="tsim")
    with vta.Environment(config) as env:
        scheduled = vector_add(env)
        module = vta.build(scheduled.schedule, scheduled.args)
        shape = [int(extent) for extent in scheduled.args[0].shape]
        place = vta.nd.ext_dev()
        values = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
        out = empty(scheduled.args[-1].shape, "int8", place)
        simulator.clear_stats()
        module(array(values, place), array(values, place), out)
        np.testing.assert_array_equal(out.numpy(), (2 * values).astype(np.int8))
        assert simulator.enabled()
        assert simulator.stats()["cycle_count"] > 1000
        assert simulator.stats()["alu_counter"] == 64
