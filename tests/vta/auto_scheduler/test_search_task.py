"""Search tasks: schedules that are right and fast, logs that are gone on with, the best that is applied."""

from pathlib import Path

import pytest

import vta
from tests.support.tuning.definitions import convolution, pool_with_residual
from vta import auto_scheduler, topi
from vta.auto_scheduler import DefinitionError, LocalBuilder, RecordToFile, SearchTask, TuningOptions
from vta.autotvm.record import load_from_file
from vta.topi import Conv2d
from vta.topi.core.epilogue import Bias, Clip, ShiftRight

HERE = LocalBuilder(n_parallel=0)


def test_choices_are_ranked_measured_recorded_and_applied(tmp_path: Path) -> None:
    log = tmp_path / "log"
    task = SearchTask(auto_scheduler.register_workload(pool_with_residual), (2, 5))
    told: list[float] = []
    tell = lambda _, __, results: told.extend(result.cost for result in results)  # noqa: E731
    task.tune(TuningOptions(2, [RecordToFile(log), tell], HERE))
    task.tune(TuningOptions(3, [RecordToFile(log)], HERE))
    records = list(load_from_file(log))
    assert [result.error_no for _, result in records] == [0, 0, 0]
    assert [result.cost for _, result in records[:2]] == told
    best = min(records, key=lambda record: record[1].cost)[0]
    lines = task.print_best(log).splitlines()
    assert lines[0] == f"tile_0 = {best.config['tile_0'].val}"
    schedule, tensors = task.apply_best(log)
    with task.env:
        vta.build(schedule, tensors, target=task.env.target)


def test_the_first_choice_of_a_convolution_is_as_fast_as_the_librarys() -> None:
    costs: list[float] = []
    task = SearchTask(convolution, (2, 7, 2))
    tell = lambda _, __, results: costs.extend(result.cost * 1e8 for result in results)  # noqa: E731
    task.tune(TuningOptions(1, [tell], HERE))
    layer = Conv2d(1, 32, 7, 7, 32, (3, 3), padding=(1, 1, 1, 1), epilogue=(ShiftRight(6), Bias(), Clip(-100, 100)))
    assert costs[0] <= layer.price(task.env).cycles * 1.05


def test_a_log_without_a_record_of_the_task_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    task = SearchTask(pool_with_residual, (2, 5))
    with pytest.raises(DefinitionError) as caught:
        task.apply_best(tmp_path / "log")
    assert str(caught.value) == (
        f"{tmp_path / 'log'}: it has no record of auto_scheduler.tests.support.tuning.definitions.pool_with_residual; "
        "tune the task first"
    )


def test_the_environment_of_a_task_is_that_of_its_tensors() -> None:
    env = vta.Environment(vta.get_env().config, hardware={"memory_latency": 40})
    task = SearchTask(pool_with_residual, (1, 4), env=env)
    assert task.task.env == env
    assert isinstance(task.tensors()[-1], type(topi.relu(task.tensors()[-1])))
