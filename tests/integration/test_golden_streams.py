"""The recorded spine cases from te schedule to simulated result: what our stack does is what upstream's did.

Every case is built in its own configuration, with common subexpressions eliminated and not, and called twice. Runtime
calls, instruction words (addresses included), micro-ops, statistics and outputs equal the recording.
"""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

import vta
from runtime.session import Session
from tests.support.golden.golden import SPINE_PREFIXES, Case, case_names, load_case
from tests.support.golden.golden_arrays import place_arrays
from tests.support.golden.spine_cases import schedule_case
from tests.support.runtime.call_log import CallLog
from vta.nd import NDArray

CASES = case_names(*SPINE_PREFIXES)
UNFILLED = ("gemm_unittest", "alu_unittest")
"""Benchmarks that compute on scratchpads which nobody filled: their outputs mean nothing."""


@dataclass(frozen=True, slots=True)
class Run:
    case: Case
    session: Session
    module: vta.Module
    arrays: dict[str, NDArray]

    def call(self) -> None:
        self.module(*self.arrays.values())


@functools.cache
def scheduled_and_lowered(folder: str, name: str, cse: bool) -> vta.tir.IRModule:
    """Return a case's lowered module; its compiled one is made for each test, so that it can be listened to."""
    case = load_case(folder, name)
    disabled = set() if cse else {"tir.CommonSubexprElimTIR"}
    with vta.Environment(case.config) as env, vta.build_config(disabled_pass=disabled):
        scheduled = schedule_case(case, env)
        return vta.lower(scheduled.schedule, scheduled.args)


def prepare(folder: str, name: str, *, cse: bool = True, device: str = "sim") -> Run:
    case = load_case(folder, name)
    session = Session(case.config, device, record=True)
    module = vta.build(scheduled_and_lowered(folder, name, cse))
    arrays = place_arrays(case, session)
    for key, values in case.arrays.items():
        if key.startswith("in_"):
            arrays[key.removeprefix("in_")].copyfrom(values)
    return Run(case, session, module, arrays)


def check_launches(run: Run, count: int) -> None:
    """Compare words and micro-ops of the launches so far with the recording."""
    [recorded] = run.case.record["launches"]
    launches = run.session.queue.launcher.launches
    assert len(launches) == count
    for launch in launches:
        assert launch.words == run.case.words
        assert [f"{word:08x}" for word in launch.uops.tolist()] == recorded["uop_dram_hex"]
        layout = [(place["sram_begin"], place["sram_end"]) for place in recorded["uop_layout"]]
        assert [(place.begin, place.end) for place in launch.resident] == layout


def test_every_spine_case_is_here() -> None:
    assert len(CASES) == 65
    assert all(load_case(*case).calls for case in CASES)


@pytest.mark.parametrize("cse", [True, False], ids=["cse", "no_cse"])
@pytest.mark.parametrize(("folder", "name"), CASES)
def test_calls_words_micro_ops_and_statistics_equal_the_recorded_ones(
    folder: str, name: str, cse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = prepare(folder, name, cse=cse)
    run.module.replays = False
    with CallLog().installed(monkeypatch) as log:
        run.call()
        assert log.take() == list(run.case.calls)
        assert run.session.device.stats.as_dict() == run.case.record["profiler"]
        run.call()
        assert log.take() == list(run.case.calls)
    check_launches(run, 2)


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_a_replayed_stream_equals_the_recorded_one(folder: str, name: str) -> None:
    run = prepare(folder, name)
    run.call()
    run.call()
    check_launches(run, 2)


@pytest.mark.parametrize("device", ["sim", "reference"])
@pytest.mark.parametrize(("folder", "name"), [case for case in CASES if load_case(*case).arrays])
def test_outputs_equal_the_recorded_ones(folder: str, name: str, device: str) -> None:
    if name.endswith(UNFILLED):
        return
    run = prepare(folder, name, device=device)
    run.call()
    for key, expected in run.case.arrays.items():
        if key.startswith("out_"):
            np.testing.assert_array_equal(run.arrays[key.removeprefix("out_")].numpy(), expected)
