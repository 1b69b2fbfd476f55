"""The learned search: valid new choices, equal seeds, better than chance, logs that are gone on with."""

from pathlib import Path

import pytest

from tests.support.tuning.modelled import modelled
from vta.autotvm import TuningError
from vta.autotvm.callback import log_to_file
from vta.autotvm.task import Task, extract_from_operators
from vta.autotvm.tuner import RandomTuner, XGBTuner
from vta.topi import Conv2d, Dense

pytest.importorskip("lightgbm")


@pytest.fixture(scope="module")
def task() -> Task:
    [found] = extract_from_operators([Dense(6, 64, 48)])
    return found


@pytest.mark.parametrize("loss", ["reg", "rank"])
def test_all_valid_choices_are_measured_in_the_end_each_once(loss: str, task: Task) -> None:
    failing = frozenset(range(0, 4000, 7))
    builder, option = modelled(failing=failing)
    tuner = XGBTuner(task, 64, loss_type=loss, seed=2)
    tuner.tune(10**6, option)
    assert sorted(builder.asked) == list(task.config_space.valid_indices())
    costs = [option.measure(task, task.config_space.get(index)).cost for index in builder.asked[:]]
    assert tuner.best_cost == min(costs)


def test_the_first_batch_are_the_best_of_the_analytic_model() -> None:
    [conv] = extract_from_operators([Conv2d(1, 64, 14, 14, 64, (3, 3), padding=(1, 1, 1, 1))])
    operator = conv.operator
    assert operator is not None
    _, option = modelled()
    tuner, chance = XGBTuner(conv, 8, seed=0), RandomTuner(conv, seed=0)
    tuner.tune(8, option)
    chance.tune(50, option)
    assert tuner.best_cost * 1e8 <= operator.price(conv.env).cycles * 1.02
    assert tuner.best_cost < chance.best_cost


def test_a_killed_run_goes_on_and_equal_seeds_write_equal_logs(task: Task, tmp_path: Path) -> None:
    whole, log = tmp_path / "whole", tmp_path / "log"
    first, option = modelled()
    XGBTuner(task, 8, seed=3).tune(30, option, callbacks=[log_to_file(whole)])
    _, dying = modelled(at_most=19)
    with pytest.raises(KeyboardInterrupt):
        XGBTuner(task, 8, seed=3).tune(30, dying, callbacks=[log_to_file(log)])
    again, option = modelled()
    XGBTuner(task, 8, seed=3).tune(30, option, callbacks=[log_to_file(log)], resume=log)
    assert log.read_bytes() == whole.read_bytes()
    assert again.asked == first.asked[19:]


def test_failures_alone_are_followed_by_strangers(task: Task) -> None:
    builder, option = modelled(failing=frozenset(range(len(task.config_space))))
    tuner = XGBTuner(task, 4)
    tuner.tune(12, option)
    assert len(set(builder.asked)) == 12
    assert tuner.best_config is None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"plan_size": 0}, "XGBTuner: plan_size is 1 or more, not 0"),
        ({"feature_type": "itervar"}, "XGBTuner: feature_type is 'knob', not 'itervar'"),
        ({"loss_type": "mse"}, "XGBTuner: loss_type is one of reg, rank, not 'mse'"),
        ({"num_threads": 0}, "XGBTuner: num_threads is 1 or more, not 0"),
    ],
)
def test_searches_that_cannot_be_are_refused(options: dict[str, object], text: str, task: Task) -> None:
    with pytest.raises(TuningError) as caught:
        XGBTuner(task, **options)
    assert str(caught.value) == text
