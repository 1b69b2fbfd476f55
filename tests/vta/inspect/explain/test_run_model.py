"""The model of a run: measured times come back exactly, and changes act where they should."""

from pathlib import Path

import numpy as np
import pytest

from isa.instructions import Module
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session
from tests.support.configs import CONFIGS
from tests.support.runtime.recorded_runs import record_programs, some_program
from vta.inspect.explain import RunModel, explain
from vta.inspect.explain import changes as change
from vta.inspect.explain.critical_path import Share
from vta.inspect.trace import Recorded, read_trace, recording

BEAT = 8


def recorded(path: Path, seed: int, device: str = "tsim") -> Recorded:
    _, [launch] = record_programs(path / "t", device, some_program(seed))
    return launch


@pytest.mark.parametrize("seed", range(12))
def test_the_model_gives_the_measured_times_back(tmp_path: Path, seed: int) -> None:
    launch = recorded(tmp_path, seed)
    model = RunModel.of(launch, beat_bytes=BEAT)
    times = model.schedule()
    assert launch.timeline.issued is not None
    assert times.issued.tolist() == launch.timeline.issued.tolist()
    assert times.begun.tolist() == launch.timeline.begun.tolist()
    assert launch.timeline.settled is not None
    assert times.ended.tolist() == launch.timeline.settled.tolist()  # a reset holds up what waits for it, no more
    assert model.cycles() == launch.timeline.duration
    assert (model.work >= 0).all()
    assert (model.rest >= 0).all()


DEAR = ("block32", "b2k16")
"""Configurations whose hardware takes long to be compiled."""


@pytest.mark.parametrize(
    "config", [pytest.param(name, marks=pytest.mark.long if name in DEAR else ()) for name in CONFIGS]
)
def test_the_times_come_back_on_every_configuration(tmp_path: Path, config: str) -> None:
    for seed in (20, 21):
        _, [launch] = record_programs(tmp_path / "t", "tsim", some_program(seed, config))
        times = RunModel.of(launch, beat_bytes=BEAT).schedule()
        assert times.begun.tolist() == launch.timeline.begun.tolist()
        assert launch.timeline.settled is not None
        assert times.ended.tolist() == launch.timeline.settled.tolist()


def test_the_times_come_back_from_a_memory_that_stalls(tmp_path: Path) -> None:
    program = some_program(4)
    device = RtlSimulator(program.config, DeviceMemory(1 << 32), latency=17, stall_seed=3)
    session = Session(program.config, device)
    with recording(session, tmp_path / "t"):
        session.run_program(program)
    with read_trace(tmp_path / "t") as reader:
        [launch] = list(reader)
    times = RunModel.of(launch, beat_bytes=BEAT).schedule()
    assert times.begun.tolist() == launch.timeline.begun.tolist()
    assert launch.timeline.settled is not None
    assert times.ended.tolist() == launch.timeline.settled.tolist()


@pytest.mark.parametrize("seed", range(6))
def test_no_faster_part_makes_a_run_longer(tmp_path: Path, seed: int) -> None:
    model = RunModel.of(recorded(tmp_path, seed), beat_bytes=BEAT)
    improved = [
        change.wider_memory(model, 2),
        change.other_latency(model, -31),
        change.stored_aside(model),
        change.stores_for_free(model),
        change.uops_for_free(model),
        change.issued_at_once(model),
        change.double_block(model),
    ]
    assert all(other.cycles() <= model.cycles() for other in improved)
    assert change.other_latency(model, 50).cycles() > model.cycles()
    assert change.wider_memory(model, 1).cycles() == model.cycles()


def test_a_buffer_that_lets_loads_go_before_others_is_not_advised(tmp_path: Path) -> None:
    header, [launch] = record_programs(tmp_path / "t", "tsim", some_program(0))
    model = RunModel.of(launch, beat_bytes=BEAT)
    assert change.buffered_again(model).cycles() > model.cycles()  # accumulators come after the inputs
    told = explain(launch, header.hardware)
    assert "one more buffer for loads" not in [advice.name for advice in told.advice]
    assert sum(told.path.values()) == told.cycles


def test_buffers_that_make_a_run_longer_leave_no_turns_to_blame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header, [launch] = record_programs(tmp_path / "t", "tsim", some_program(0))
    assert Share.TURNS in explain(launch, header.hardware).path
    monkeypatch.setattr(change, "stored_aside", lambda model: change.other_latency(model, 200))
    told = explain(launch, header.hardware)
    assert Share.TURNS not in told.path
    assert sum(told.path.values()) == told.cycles


def test_a_change_touches_its_own_instructions_alone(tmp_path: Path) -> None:
    model = RunModel.of(recorded(tmp_path, 3), beat_bytes=BEAT)
    stores = model.module(Module.STORE)
    others = np.setdiff1d(np.arange(len(model.instructions)), stores)
    changed = change.stores_for_free(model)
    assert not changed.rest[stores].any()
    assert changed.rest[others].tolist() == model.rest[others].tolist()
    assert changed.work.tolist() == model.work.tolist()
    assert any(transfer.writes for transfer in model.transfers)
    assert changed.transfers == tuple(transfer for transfer in model.transfers if not transfer.writes)


def test_a_launch_without_a_clock_or_that_failed_is_refused(tmp_path: Path) -> None:
    from dataclasses import replace

    with pytest.raises(ValueError, match=r"^device 'sim' has no clock; record with --target tsim$"):
        explain(recorded(tmp_path, 1, "sim"), {})
    launch = recorded(tmp_path, 1)
    failed = Recorded(0, replace(launch.timeline, error="deadlock"))
    with pytest.raises(ValueError, match=r"^the launch failed, so there is no whole run to explain$"):
        RunModel.of(failed, beat_bytes=BEAT)
