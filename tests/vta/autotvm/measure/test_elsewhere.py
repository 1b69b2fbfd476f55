"""Workers of a cluster measure what this process does, and write the same log; scripts' templates stay here."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster import local_cluster
from vta.autotvm import callback
from vta.autotvm.errors import TuningError
from vta.autotvm.measure.inputs import MeasureErrorNo
from vta.autotvm.measure.local import LocalBuilder, LocalRunner
from vta.autotvm.measure.option import measure_option
from vta.autotvm.measure.remote import RPCRunner
from vta.autotvm.task import extract_from_operators
from vta.autotvm.tuner import RandomTuner
from vta.cluster import DeadWorkersError
from vta.topi import Dense

[TASK] = extract_from_operators([Dense(4, 32, 32)])


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with local_cluster() as running:
        yield running.scheduler_address


def test_the_log_of_a_cluster_is_that_of_this_process(address: str, tmp_path: Path) -> None:
    logs = []
    for scheduler in (None, address):
        log = tmp_path / f"{scheduler is None}.log"
        option = measure_option(LocalBuilder(n_parallel=0), LocalRunner(clock_mhz=200), scheduler=scheduler)
        RandomTuner(TASK, seed=3).tune(5, option, callbacks=[callback.log_to_file(log)])
        logs.append(log.read_bytes())
    assert logs[0].count(b"\n") == 5
    assert logs[0] == logs[1]


def test_limits_of_time_hold_on_a_worker(address: str) -> None:
    option = measure_option(LocalBuilder(timeout=0.01), LocalRunner(), scheduler=address)
    with option.measuring() as measuring:
        [result] = measuring.results(TASK, [TASK.config_space.get(0)])
    assert (result.error_no, result.error) == (MeasureErrorNo.BUILD_TIMEOUT, "it took longer than 0.01 s to build")


def test_a_choice_that_no_worker_survives_is_an_error_in_the_log(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def dead(self: object, function: object, request: object) -> Any:
        raise DeadWorkersError("the workers that were asked died")

    monkeypatch.setattr("vta.cluster.Cluster.ask", dead)
    with measure_option(LocalBuilder(), LocalRunner(), scheduler=address).measuring() as measuring:
        [result] = measuring.results(TASK, [TASK.config_space.get(0)])
    assert (result.error_no, result.error) == (MeasureErrorNo.UNKNOWN_ERROR, "the workers that were asked died")


def test_a_template_of_a_script_is_refused(address: str) -> None:
    script = replace(TASK, template=replace(TASK.template, name="mine"))
    with (
        measure_option(LocalBuilder(), LocalRunner(), scheduler=address).measuring() as measuring,
        pytest.raises(TuningError, match=rf"^mine: the workers of {address} do not know this template of a script;"),
    ):
        list(measuring.results(script, [TASK.config_space.get(0)]))


def test_devices_of_a_farm_are_not_asked_through_a_cluster() -> None:
    runner = RPCRunner.__new__(RPCRunner)
    with pytest.raises(TuningError, match=r"^measure_option: workers of tcp://x:1 measure by LocalRunner, not RPCRun"):
        measure_option(LocalBuilder(), runner, scheduler="tcp://x:1")
