"""Knobs of the library's schedules: each valid choice builds and is right, the search's best is one of them."""

import itertools

import numpy as np
import pytest

import vta
from tests.support.configs import CONFIGS
from tests.support.tuning.operators import OPERATORS
from vta.autotvm import ConfigEntity, LocalBuilder, LocalRunner, TuningError, measure_option
from vta.autotvm.library import index_of_tiles, model_of, tiles_of, workload_of
from vta.autotvm.space import OtherOptionEntity, SplitEntity
from vta.autotvm.task import Task, extract_from_operators
from vta.autotvm.tuner.in_order import random_order
from vta.topi import BatchMatmul, Conv2d, Dense
from vta.topi.core.epilogue import ShiftRight
from vta.topi.core.operator import OperatorError


@pytest.fixture(scope="module", params=OPERATORS)
def task(request: pytest.FixtureRequest) -> Task:
    [found] = extract_from_operators([OPERATORS[request.param]])
    return found


def test_valid_choices_build_and_are_right(task: Task) -> None:
    option = measure_option(LocalBuilder(n_parallel=0), LocalRunner())
    order = random_order(task.config_space, np.random.default_rng(1))
    for index in itertools.islice(order, 2):
        result = option.measure(task, task.config_space.get(index))
        assert (result.error_no, result.error) == (0, ""), task.config_space.get(index)


def test_the_best_that_the_search_finds_is_one_of_the_choices(task: Task) -> None:
    require_own_choice(task)


def test_the_best_of_a_dense_layer_is_one_of_the_choices() -> None:
    [task] = extract_from_operators([Dense(128, 128, 128, epilogue=(ShiftRight(8),))])
    require_own_choice(task)


def require_own_choice(task: Task) -> None:
    """Require that the tiles that the search finds have a number, which means them."""
    assert task.operator is not None
    tiles = task.operator.schedule(task.env).tiles
    index = index_of_tiles(task.config_space, tiles)
    assert index is not None
    assert task.config_space.is_index_valid(index)
    assert tiles_of(task.operator, task.config_space.get(index), task.env) == tiles


def test_the_model_says_of_a_choice_what_the_operator_says_of_its_tiles(task: Task) -> None:
    assert task.operator is not None
    model = model_of(task.operator, task.env)
    order = random_order(task.config_space, np.random.default_rng(2))
    for index in itertools.islice(order, 5):
        config = task.config_space.get(index)
        tiles = tiles_of(task.operator, config, task.env)
        assert model(config) == task.operator.price(task.env, tiles)


def test_choices_with_virtual_threads_have_no_model() -> None:
    knobs = {"oc_nthread": OtherOptionEntity(2)}
    layer = Conv2d(1, 32, 4, 4, 32, (1, 1))
    assert model_of(layer, vta.get_env())(ConfigEntity(None, knobs)) is None
    splits = {name: SplitEntity((-1, 1)) for name in ("tile_b", "tile_ci", "tile_co")}
    assert model_of(Dense(4, 32, 32), vta.get_env())(ConfigEntity(None, splits)) is None


@pytest.mark.parametrize("config", CONFIGS)
def test_every_configuration_has_choices(config: str) -> None:
    env = vta.Environment(CONFIGS[config])
    for operator in OPERATORS.values():
        if any(operand.dtype == "int8" != env.inp_dtype for operand in operator.inputs(env)):
            with pytest.raises(OperatorError, match="the accumulator loads 8-bit numbers"):
                extract_from_operators([operator], env=env)
            continue
        [found] = extract_from_operators([operator], env=env)
        assert next(random_order(found.config_space, np.random.default_rng(0)), None) is not None


def test_products_of_batches_have_no_template() -> None:
    layer = BatchMatmul(2, 16, 16, 16)
    assert workload_of(layer, vta.get_env()) is None
    with pytest.raises(TuningError) as caught:
        tiles_of(layer, ConfigEntity(0, {}), vta.get_env())
    assert str(caught.value) == "there is no template for BatchMatmul"
