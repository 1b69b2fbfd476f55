"""What tuners share: nothing is measured twice, logs are gone on with, equal seeds write equal logs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.tuning.modelled import modelled
from vta.autotvm import TuningError, TuningWarning
from vta.autotvm.callback import log_to_file
from vta.autotvm.record import load_from_file
from vta.autotvm.task import Task, extract_from_operators
from vta.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, Tuner
from vta.topi import Conv2d, Dense

TUNERS: dict[str, Callable[[Task], Tuner]] = {
    "grid": GridSearchTuner,
    "random": lambda task: RandomTuner(task, seed=3),
    "genetic": lambda task: GATuner(task, pop_size=8, seed=3),
}


@pytest.fixture(scope="module")
def task() -> Task:
    [found] = extract_from_operators([Dense(6, 64, 48)])
    return found


@pytest.mark.parametrize("kind", TUNERS)
def test_only_valid_choices_are_measured_each_once_and_the_best_is_kept(kind: str, task: Task) -> None:
    builder, option = modelled()
    tuner = TUNERS[kind](task)
    tuner.tune(10**6, option)
    assert sorted(builder.asked) == list(task.config_space.valid_indices())
    costs = [option.measure(task, task.config_space.get(index)).cost for index in builder.asked[:]]
    assert tuner.best_cost == min(costs)
    assert tuner.best_config is not None
    assert option.measure(task, tuner.best_config).cost == tuner.best_cost


@pytest.mark.parametrize("kind", TUNERS)
def test_equal_seeds_write_equal_logs_and_a_killed_run_goes_on_without_measuring_again(
    kind: str, task: Task, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    first, option = modelled(failing=frozenset(range(0, 4000, 5)))
    TUNERS[kind](task).tune(30, option, callbacks=[log_to_file(whole)])
    assert len(list(load_from_file(whole))) == 30
    for killed_after in (0, 1, 11, 29):
        log = tmp_path / f"killed{killed_after}"
        _, dying = modelled(failing=frozenset(range(0, 4000, 5)), at_most=killed_after)
        with pytest.raises(KeyboardInterrupt):
            TUNERS[kind](task).tune(30, dying, callbacks=[log_to_file(log)])
        if killed_after > 1:
            log.write_bytes(log.read_bytes()[:-9])  # in the middle of a line
            with pytest.warns(TuningWarning):
                callback = log_to_file(log)
        else:
            callback = log_to_file(log)
        again, living = modelled(failing=frozenset(range(0, 4000, 5)))
        TUNERS[kind](task).tune(30, living, callbacks=[callback], resume=log)
        assert log.read_bytes() == whole.read_bytes()
        assert again.asked == first.asked[max(0, killed_after - (killed_after > 1)) :]


def test_logs_of_other_tasks_and_other_versions_of_a_template_are_passed_over(task: Task, tmp_path: Path) -> None:
    log = tmp_path / "log"
    [other] = extract_from_operators([Dense(6, 64, 64)])
    _, option = modelled()
    GridSearchTuner(other).tune(3, option, callbacks=[log_to_file(log)])
    with log.open("a", encoding="utf-8") as file:
        line = log.read_text().splitlines()[0].replace("[4, 4, 16, 16]", "[3, 4, 16, 16]")
        file.write(line.replace("rotate_tiles", "turned_tiles") + "\n")
    builder, option = modelled()
    GridSearchTuner(task).tune(3, option, resume=log)
    assert len(builder.asked) == 3


def test_a_search_stops_where_nothing_gets_better(task: Task) -> None:
    builder, option = modelled()
    tuner = RandomTuner(task, seed=1)
    tuner.tune(10**6, option, early_stopping=15)
    costs = [option.measure(task, task.config_space.get(index)).cost for index in list(builder.asked)]
    assert len(costs) - 1 - costs.index(min(costs)) == 15
    assert tuner.tried == len(costs)


def test_the_best_is_within_one_percent_of_the_optimum_on_tasks_that_can_be_enumerated() -> None:
    operators = [
        Dense(8, 128, 64),
        Dense(1, 256, 256),
        Dense(12, 64, 96),
        Conv2d(1, 32, 4, 4, 32, (3, 3), padding=(1, 1, 1, 1)),
        Conv2d(1, 64, 3, 3, 64, (1, 1)),
    ]
    for task in extract_from_operators(operators):
        _, option = modelled()
        valid = list(task.config_space.valid_indices())
        optimum = min(option.measure(task, task.config_space.get(index)).cost for index in valid)
        tuner = GATuner(task, seed=0)
        tuner.tune(len(valid) // 2, option)
        assert tuner.best_cost <= optimum * 1.01, task


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda task: GridSearchTuner(task).tune(0, modelled()[1]), "tune: n_trial is 1 or more, not 0"),
        (
            lambda task: GridSearchTuner(task).tune(1, modelled()[1], early_stopping=0),
            "tune: early_stopping is 1 or more, not 0",
        ),
        (
            lambda task: GATuner(task, pop_size=1),
            "GATuner: pop_size is 2 or more and elite_num at most that, not 1 and 3",
        ),
        (lambda task: GATuner(task, mutation_prob=2), "GATuner: mutation_prob is 0 to 1, not 2"),
    ],
)
def test_what_no_search_can_do_is_refused(call: Callable[[Task], object], text: str, task: Task) -> None:
    with pytest.raises(TuningError) as caught:
        call(task)
    assert str(caught.value) == text
