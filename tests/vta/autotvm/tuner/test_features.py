"""Features of a choice: knobs as numbers, the analytic model's share, one row each."""

import math

import vta
from vta.autotvm.library import model_of, tiles_of
from vta.autotvm.made import Template
from vta.autotvm.space import ConfigSpace
from vta.autotvm.task import Task, extract_from_operators
from vta.autotvm.tuner.features import Features
from vta.topi import Dense


def test_what_the_analytic_model_says_is_part_of_a_row() -> None:
    [task] = extract_from_operators([Dense(8, 64, 64)])
    features = Features(task)
    first = next(task.config_space.valid_indices())
    config = task.config_space.get(first)
    operator = task.operator
    price = operator.price(task.env, tiles_of(operator, config, task.env))
    assert features.has_model
    assert features.priors([first]).tolist() == [math.log(price.cycles)]
    [row] = features.rows([first]).tolist()
    assert row[-5:] == [math.log(price.cycles)] + [
        part / price.cycles for part in (price.load, price.gemm, price.alu, price.store)
    ]
    assert model_of(operator, task.env)(config) == price


def test_knobs_of_every_kind_are_numbers() -> None:
    space = ConfigSpace()
    space.define_split("s", 8)
    space.define_reorder("o", [1, 2], "all")
    space.define_annotate("a", [1], "try_unroll")
    space.define_knob("k", ["x", 3, None])
    env = vta.get_env()
    task = Task(Template("t", lambda *_: None, lambda *_: None), (), env.target, env, space)
    features = Features(task)
    assert not features.has_model
    rows = {tuple(row) for row in features.rows(list(range(len(space)))).tolist()}
    assert len(rows) == len(space)
    assert features.priors([0, 1]).tolist() == [0.0, 0.0]
    assert features.rows([space.knob2point((1, 1, 0, 1))]).tolist() == [[0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 3.0]]
