"""Measuring side by side: the same logs for any number of workers, and nothing is left when it ends early."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vta.autotvm import LocalBuilder, LocalRunner, TuningError, measure_option
from vta.autotvm.callback import log_to_file
from vta.autotvm.measure.inputs import MeasureResult
from vta.autotvm.measure.local import Built
from vta.autotvm.space import ConfigEntity
from vta.autotvm.task import Task, extract_from_operators
from vta.autotvm.tuner import RandomTuner
from vta.topi import Dense

[TASK] = extract_from_operators([Dense(4, 32, 32)])
ROOT = Path(__file__).resolve().parents[4]


def test_logs_are_the_same_for_any_number_of_workers(tmp_path: Path) -> None:
    logs = []
    for workers in (0, 2):
        logs.append(tmp_path / f"{workers}")
        option = measure_option(LocalBuilder(n_parallel=workers), LocalRunner())
        RandomTuner(TASK, seed=4).tune(4, option, callbacks=[log_to_file(logs[-1])])
    texts = [log.read_bytes() for log in logs]
    assert len(texts[0].splitlines()) == 4
    assert texts[0] == texts[1]


class Elsewhere:
    """A runner that is no local one, and says how many choices it had at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def run(self, built: Built) -> MeasureResult:
        self.now += 1
        self.most = max(self.most, self.now)
        time.sleep(0.5)
        self.now -= 1
        assert built.config.index is not None
        return MeasureResult((1.0 + built.config.index,))


def test_a_runner_elsewhere_gets_several_choices_at_once_and_results_keep_their_order() -> None:
    runner = Elsewhere()
    choices = [TASK.config_space.get(index) for index in list(TASK.config_space.valid_indices())[:6]]
    with measure_option(LocalBuilder(n_parallel=3), runner).measuring() as measuring:
        found = list(measuring.results(TASK, choices))
        assert list(measuring.results(TASK, [])) == []
    assert [result.cost for result in found] == [1.0 + config.index for config in choices]
    assert runner.most > 1


class Broken(LocalBuilder):
    """A builder with an error that is no candidate's."""

    def build(self, task: Task, config: ConfigEntity) -> MeasureResult:
        raise KeyError(task.name, config.index)


def test_errors_of_the_program_are_raised() -> None:
    with measure_option(Broken(n_parallel=2), Elsewhere()).measuring() as measuring, pytest.raises(KeyError):
        list(measuring.results(TASK, [TASK.config_space.get(0)]))


SCRIPT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from vta import autotvm
from vta.topi import Dense
[task] = autotvm.task.extract_from_operators([Dense(64, 512, 512)])
option = autotvm.measure_option(autotvm.LocalBuilder(n_parallel=2), autotvm.LocalRunner())
tell = lambda tuner, inputs, results: print("measured", flush=True)
autotvm.tuner.RandomTuner(task, seed=0).tune(1000, option, callbacks=[tell])
"""


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Signals as a terminal's commands have them: what a shell starts in the background ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_leaves_no_process_behind() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "measured\n"
    os.killpg(process.pid, signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    assert errors.count("KeyboardInterrupt") == 1, errors
    for _ in range(100):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    raise AssertionError("a worker outlived its tuner")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"timeout": 0}, "LocalBuilder: timeout is above 0, not 0"),
        ({"n_parallel": -1}, "LocalBuilder: n_parallel is 0 or more, not -1"),
    ],
)
def test_builders_that_cannot_be_are_refused(options: dict[str, int], text: str) -> None:
    with pytest.raises(TuningError) as caught:
        LocalBuilder(**options)
    assert str(caught.value) == text
