"""Schedules from a definition alone, under TVM's names."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.tuning.definitions import pool_with_residual
from vta.compat.answering import answering


@pytest.fixture(scope="module")
def tvm() -> Iterator[Any]:
    with answering():
        yield importlib.import_module("tvm")


def test_a_definition_is_searched_and_the_best_of_its_log_applied(tvm: Any, tmp_path: Path) -> None:
    scheduler, log = tvm.auto_scheduler, str(tmp_path / "log")
    task = scheduler.create_task(scheduler.register_workload(pool_with_residual), (1, 4), target="ext_dev")
    options = scheduler.TuningOptions(
        num_measure_trials=1, builder=scheduler.LocalBuilder(n_parallel=0), runner=scheduler.LocalRunner(repeat=1),
        measure_callbacks=[scheduler.RecordToFile(log)], verbose=0,
    )  # fmt: skip
    schedule, args = scheduler.auto_schedule(task, tuning_options=options)
    assert [str(arg.name) for arg in args] == [str(arg.name) for arg in task.apply_best(log)[1]]
    assert tvm.lower(schedule, args) is not None


def test_the_cpu_has_other_ways_and_the_best_is_in_a_file(tvm: Any) -> None:
    scheduler = tvm.auto_scheduler
    with pytest.raises(tvm.TVMError) as caught:
        scheduler.SearchTask(func=pool_with_residual, args=(1, 4), target=tvm.target.Target("llvm"))
    assert str(caught.value) == (
        "auto_scheduler makes schedules for the accelerator, not for llvm -keys=cpu; for the CPU there are topi's "
        "schedules, and autotvm.template for one's own"
    )
    with pytest.raises(tvm.TVMError) as caught:
        scheduler.auto_schedule(scheduler.SearchTask(pool_with_residual, (1, 4)))
    assert str(caught.value).startswith("auto_schedule: expected a RecordToFile among measure_callbacks")
