"""Predictions, compared with runs that were changed in the predicted way: hardware, memory, and the schedule."""

from pathlib import Path
from statistics import median

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.program import Program
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session
from tests.support.runtime.recorded_runs import some_program
from vta.environment import Environment
from vta.inspect.capsule import Capture
from vta.inspect.explain import RunModel, explain
from vta.inspect.explain import changes as change
from vta.inspect.trace import Recorded, TraceHeader, read_trace, recording
from vta.topi.conv.conv2d import ConvTiles
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import Clip, ShiftRight
from vta.topi.core.operator import compile as compile_operator

CONFIG = VTAConfig()
CONV = Conv2d(
    batch=1, in_channels=128, height=14, width=14, out_channels=128, kernel=(3, 3), padding=(1, 1, 1, 1),
    epilogue=(ShiftRight(8), Clip(0, 127)),
)  # fmt: skip


def program_of(tiles: ConvTiles) -> Program:
    """Return the launch of the convolution with a choice of tiles."""
    env = Environment(CONFIG)
    compiled = compile_operator(CONV, env, tiles)
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-128, 128, operand.shape).astype(operand.dtype) for operand in CONV.inputs(env)]
    capture = Capture(env.session)
    with capture.watching():
        compiled(*arrays)
    capsule = capture.capsule()
    assert capsule is not None
    [program] = capsule.programs
    return program


def run(folder: Path, program: Program, *, width: int = 64, latency: int = 32) -> tuple[TraceHeader, Recorded]:
    hardware = HardwareConfig(data_width=width)
    session = Session(CONFIG, RtlSimulator(CONFIG, DeviceMemory(1 << 32), hardware=hardware, latency=latency))
    with recording(session, folder / "t"):
        session.run_program(program)
    with read_trace(folder / "t") as reader:
        [launch] = list(reader)
        return reader.header, launch


def error(predicted: int, found: int) -> float:
    return abs(predicted - found) / found


ONE = ConvTiles(tile_h=7, tile_w=14, tile_co=4)
SMALL = ConvTiles(tile_h=2, tile_w=14, tile_co=1)
TWO = ConvTiles(tile_h=7, tile_w=14, tile_co=4, oc_nthread=2)


def test_a_second_thread_brings_what_is_predicted(tmp_path: Path) -> None:
    header, launch = run(tmp_path, program_of(ONE))
    _, threaded = run(tmp_path, program_of(TWO))
    model = RunModel.of(launch, beat_bytes=8)
    predicted, found = change.buffered_again(model).cycles(), threaded.timeline.duration
    assert found < 0.9 * launch.timeline.duration
    assert error(predicted, found) < 0.05
    told = explain(launch, header.hardware)
    assert told.cycles == launch.timeline.duration
    thread = next(advice for advice in told.advice if "virtual thread" in advice.turn)
    assert thread.cycles == predicted


@pytest.mark.parametrize("tiles", [ONE, TWO, SMALL])
def test_a_wider_memory_port_brings_what_is_predicted(tmp_path: Path, tiles: ConvTiles) -> None:
    program = program_of(tiles)
    _, launch = run(tmp_path, program)
    _, wide = run(tmp_path, program, width=128)
    predicted = change.wider_memory(RunModel.of(launch, beat_bytes=8), 2).cycles()
    assert error(predicted, wide.timeline.duration) < 0.03


@pytest.mark.parametrize("tiles", [ONE, TWO, SMALL])
@pytest.mark.parametrize("latency", [1, 100])
def test_another_latency_changes_what_is_predicted(tmp_path: Path, tiles: ConvTiles, latency: int) -> None:
    program = program_of(tiles)
    _, launch = run(tmp_path, program)
    _, other = run(tmp_path, program, latency=latency)
    predicted = change.other_latency(RunModel.of(launch, beat_bytes=8), latency - 32).cycles()
    assert error(predicted, other.timeline.duration) < 0.03


def test_changes_of_the_memory_are_predicted_on_random_programs(tmp_path: Path) -> None:
    errors: dict[str, list[float]] = {"width": [], "fast": [], "slow": []}
    for seed in range(20, 32):
        program = some_program(seed)
        _, launch = run(tmp_path, program)
        model = RunModel.of(launch, beat_bytes=8)
        for name, changed, (width, latency) in (
            ("width", change.wider_memory(model, 2), (128, 32)),
            ("fast", change.other_latency(model, -31), (64, 1)),
            ("slow", change.other_latency(model, 68), (64, 100)),
        ):
            _, found = run(tmp_path, program, width=width, latency=latency)
            errors[name].append(error(changed.cycles(), found.timeline.duration))
    for found_errors in errors.values():
        assert max(found_errors) < 0.1
        assert median(found_errors) < 0.02


def test_the_bound_is_named(tmp_path: Path) -> None:
    header, launch = run(tmp_path, program_of(TWO), latency=1)
    told = explain(launch, header.hardware)
    assert told.bound == "compute"
    assert told.advice[0].name == "a GEMM core twice as large"
    header, launch = run(tmp_path, program_of(SMALL), latency=100)
    told = explain(launch, header.hardware)
    assert told.bound in ("loads", "memory latency", "tokens")
    assert told.because.endswith(" % of the critical path")
    assert told.advice[0].cycles < 0.9 * told.cycles
