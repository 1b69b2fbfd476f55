"""Choices are measured on devices of a farm: the cycles that this computer counts, wrong numbers, lost devices."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import vta
from tests.support.configs import CONFIGS
from tests.support.remote.clients import until
from tests.support.remote.servers import KEY, Running
from tests.support.remote.trackers import running_tracker, tracked_server
from vta import autotvm
from vta.autotvm import LocalBuilder, LocalRunner, MeasureErrorNo, RPCRunner, TuningError
from vta.autotvm.measure import judge, remote
from vta.autotvm.measure.local import Built
from vta.autotvm.task import Task, extract_from_operators
from vta.rpc.tracker_client import TrackerSession
from vta.topi import Dense
from vta.topi.core.epilogue import ShiftRight

LAYER = Dense(4, 32, 32, (ShiftRight(4),))
ENV = vta.Environment(CONFIGS["default"], hardware={"memory_latency": 3})


@pytest.fixture(scope="module")
def tracker() -> Iterator[TrackerSession]:
    with running_tracker() as (_, client):
        yield client


@pytest.fixture(scope="module")
def farm(tracker: TrackerSession) -> Iterator[Running]:
    with tracked_server(tracker, "default", ("tsim", "tsim", "sim")) as server:
        yield server


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "key"
    path.write_text(KEY.hex())
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def runner(farm: Running, tracker: TrackerSession, key_file: Path) -> Iterator[RPCRunner]:
    made = RPCRunner("tsim", tracker.address.host, tracker.address.port, key_file=key_file)
    yield made
    made.close()
    assert until(lambda: farm.server.pool.free == 3)


@pytest.fixture(scope="module")
def task() -> Task:
    [found] = extract_from_operators([LAYER], env=ENV)
    return found


def built(task: Task, place: int) -> Built:
    made = LocalBuilder().build(task, task.config_space.get(list(task.config_space.valid_indices())[place]))
    assert isinstance(made, Built)
    return made


def test_costs_are_those_of_a_simulator_in_this_process(runner: RPCRunner, farm: Running, task: Task) -> None:
    before = farm.server.metrics.value("sessions")
    for place in (0, 7):
        choice = built(task, place)
        there, here = runner.run(choice), LocalRunner().run(choice)
        assert (there.costs, there.error) == (here.costs, "")
        assert there.all_cost > 0
        assert there.timestamp > 0
    assert farm.server.metrics.value("sessions") == before + 1  # one for both


def test_a_tuner_measures_there(runner: RPCRunner, task: Task) -> None:
    tuner = autotvm.tuner.GridSearchTuner(task)
    tuner.tune(2, autotvm.measure_option(LocalBuilder(), runner))
    assert tuner.best_config is not None
    assert tuner.best_cost == min(LocalRunner().run(built(task, place)).cost for place in (0, 1))
    assert runner._kept == []  # devices are given back when a tuner has ended


def test_averages_of_calls_are_what_one_call_takes(
    runner: RPCRunner, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = runner.run(built(task, 0)).cost
    monkeypatch.setattr(runner, "number", 2)
    monkeypatch.setattr(runner, "repeat", 3)
    monkeypatch.setattr(runner, "clock_mhz", 200.0)
    monkeypatch.setattr(runner, "cooldown_interval", 0.01)
    found = runner.run(built(task, 0)).costs
    assert len(found) == 3
    assert found[1] == found[2] == pytest.approx(once / 2, rel=0.2)


def test_threads_share_the_devices(farm: Running, tracker: TrackerSession, key_file: Path, task: Task) -> None:
    del farm
    where = tracker.address.host, tracker.address.port
    runner = RPCRunner(f"tsim/{CONFIGS['default'].digest}", *where, n_parallel=1, key_file=key_file)
    choices = [built(task, place) for place in (0, 3)]
    found: dict[int, float] = {}
    threads = [
        threading.Thread(target=lambda at=at, choice=choice: found.update({at: runner.run(choice).cost}))
        for at, choice in enumerate(choices)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {at: LocalRunner().run(choice).cost for at, choice in enumerate(choices)}
    runner.close()


def test_wrong_numbers_are_found(runner: RPCRunner, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_case", None)
    monkeypatch.setattr(judge, "_drawn", lambda _, shape, dtype: np.ones(shape, dtype))
    monkeypatch.setattr(type(task.operator), "reference_on", lambda *_: np.zeros((4, 32), np.int8))
    found = runner.run(built(task, 0))
    assert found.error_no == MeasureErrorNo.WRONG_ANSWER
    assert found.error.startswith("on tsim at 127.0.0.1:")
    assert found.error.endswith(", the result is not what the operator means")


def test_a_call_that_takes_too_long_is_an_error_of_its_choice_alone(runner: RPCRunner, task: Task) -> None:
    cost = runner.run(built(task, 0)).cost
    [place] = runner._kept
    place.session.limit_calls(1e-6)
    found = runner.run(built(task, 0))
    assert found.error_no == MeasureErrorNo.RUNTIME_DEVICE
    assert found.error == "the call took longer than 1e-06 s and was ended; the session is over"
    assert runner.run(built(task, 0)).cost == cost


def test_a_server_that_is_gone_is_no_fault_of_the_choice(
    tracker: TrackerSession, key_file: Path, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_RECONNECT_SECONDS", 0.1)
    runner = RPCRunner("tsim", tracker.address.host, tracker.address.port, key_file=key_file)
    with ExitStack() as first:
        first.enter_context(tracked_server(tracker, "default", ("tsim",)))
        cost = runner.run(built(task, 0)).cost
    with tracked_server(tracker, "default", ("tsim",)):
        assert runner.run(built(task, 0)).cost == cost
        runner.close()


def test_devices_without_a_clock_are_refused(farm: Running, tracker: TrackerSession, key_file: Path) -> None:
    runner = RPCRunner("sim", tracker.address.host, tracker.address.port, key_file=key_file)
    [task] = extract_from_operators([LAYER], env=vta.Environment(CONFIGS["default"]))
    with pytest.raises(TuningError) as error:
        runner.run(built(task, 0))
    assert str(error.value) == (
        f"device 'sim' at 127.0.0.1:{farm.port} counts no cycles; ask the tracker for 'tsim', or 'tsim/DIGEST'"
    )
    assert until(lambda: not any(slot.busy for slot in farm.server.pool.slots if slot.target == "sim"))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"timeout": 0.0}, "timeout is above 0, not 0.0"),
        ({"clock_mhz": -1.0}, "clock_mhz is above 0, not -1.0"),
        ({"number": 0}, "number is 1 or more, not 0"),
        ({"repeat": 0}, "repeat is 1 or more, not 0"),
        ({"n_parallel": 0}, "n_parallel is 1 or more, not 0"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, float], text: str) -> None:
    with pytest.raises(TuningError) as error:
        RPCRunner("tsim", "127.0.0.1", 1, **wrong)  # type: ignore[arg-type]  # numbers of any kind
    assert str(error.value) == f"RPCRunner: {text}"
