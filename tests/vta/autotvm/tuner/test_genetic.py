"""The genetic search: it needs fewer measurements than chance, and gets along with failures."""

from tests.support.tuning.modelled import modelled
from vta.autotvm.task import extract_from_operators
from vta.autotvm.tuner import GATuner, RandomTuner
from vta.topi import Conv2d

[TASK] = extract_from_operators([Conv2d(1, 64, 7, 7, 64, (3, 3), padding=(1, 1, 1, 1))])


def test_it_finds_better_choices_than_chance_does() -> None:
    found = {}
    for kind in (GATuner, RandomTuner):
        best = []
        for seed in range(2):
            tuner = kind(TASK, seed=seed)
            tuner.tune(100, modelled()[1])
            best.append(tuner.best_cost)
        found[kind] = sum(best)
    assert found[GATuner] < found[RandomTuner]


def test_a_generation_of_failures_is_followed_by_strangers() -> None:
    builder, option = modelled(failing=frozenset(range(len(TASK.config_space))))
    tuner = GATuner(TASK, pop_size=4)
    tuner.tune(12, option)
    assert len(set(builder.asked)) == 12
    assert tuner.best_config is None
