"""The learned search: valid new choices, equal seeds, better than chance, logs that are gone on with."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.tuning.modelled import modelled
from vta.autotvm import TuningError
from vta.autotvm.callback import log_to_file
from vta.autotvm.measure.inputs import MeasureErrorNo, MeasureResult
from vta.autotvm.task import Task, extract_from_operators
from vta.autotvm.tuner import GATuner, RandomTuner, XGBTuner
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
    assert tuner.considered == len(builder.asked)
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
    assert tuner.best_cost <= chance.best_cost


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


def test_measurements_of_other_tasks_of_the_template_are_learned_of(task: Task) -> None:
    [other, conv] = extract_from_operators([Dense(12, 64, 48), Conv2d(1, 32, 4, 4, 32, (1, 1))])
    valid = list(other.config_space.valid_indices())

    def slow(index: int) -> float:  # the more copies of tiles, the faster
        return float(10 - other.config_space.point2knob(index)[3])

    records = [(other.input(other.config_space.get(index)), MeasureResult((slow(index) / 1e6,))) for index in valid]
    failed = (other.input(other.config_space.get(valid[0])), MeasureResult((), MeasureErrorNo.COMPILE_HOST, "no"))
    strange = (conv.input(conv.config_space.get(0)), MeasureResult((1.0,)))
    unknown = replace(records[0][0], config=conv.config_space.get(0))
    history = [*records, failed, strange, (unknown, MeasureResult((1.0,)))]
    plain, taught, ranked = XGBTuner(task, 8), XGBTuner(task, 8), XGBTuner(task, 8, loss_type="rank")
    taught.load_history(history)
    ranked.load_history(history)
    assert ranked.next_batch() == XGBTuner(task, 8, loss_type="rank").next_batch()

    def copies(tuner: XGBTuner) -> int:
        return sum(task.config_space.point2knob(index)[3] for index in tuner.next_batch()[1:])

    assert copies(taught) > copies(plain)
    GATuner(task, pop_size=4).load_history(history)  # learns nothing
