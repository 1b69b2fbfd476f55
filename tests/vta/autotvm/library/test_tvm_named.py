"""The library's templates: what stands for which operator, choices as tiles, TVM-VTA's knobs."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import vta
from tests.support.configs import CONFIGS
from vta.autotvm import ConfigEntity, TuningError
from vta.autotvm.library import tiles_of, workload_of
from vta.autotvm.space import Entity, OtherOptionEntity, SplitEntity
from vta.autotvm.task import create, extract_from_operators
from vta.autotvm.tuner.in_order import random_order
from vta.topi import Conv2d, ConvTiles, Dense, DenseTemplate
from vta.topi.conv.conv2d_tiling import conv_candidates
from vta.topi.core.epilogue import Bias, Clip, Relu, Residual, ShiftRight
from vta.topi.core.operator import Operator
from vta.topi.matmul.matmul_schedule import MatmulTiles
from vta.topi.tiling import TilingError

OPERATORS: dict[str, Operator] = {
    "conv": Conv2d(2, 40, 9, 7, 48, (3, 3), (2, 1), (1, 1, 0, 1), epilogue=(ShiftRight(6), Bias(), Relu())),
    "pointwise": Conv2d(1, 64, 7, 7, 32, (1, 1), epilogue=(Residual("int8"), Clip(-8, 7))),
    "folded": Conv2d(1, 3, 11, 11, 16, (3, 3), zero_point=3),
    "dense": Dense(5, 72, 40, (ShiftRight(3),), zero_point=2),
}


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("kind", OPERATORS)
def test_the_task_of_an_operator_has_its_schedules(kind: str, config: str) -> None:
    operator, env = OPERATORS[kind], vta.Environment(CONFIGS[config])
    [task] = extract_from_operators([operator], env=env)
    assert workload_of(operator, env) == task.workload
    assert task.operator is not None
    assert workload_of(task.operator, env) == task.workload
    order = random_order(task.config_space, np.random.default_rng(0))
    for index in itertools.islice(order, 3):
        choice = task.config_space.get(index)
        tiles = tiles_of(operator, choice, env)
        scheduled = operator.schedule(env, tiles)
        _, args = task.instantiate(choice)
        assert [str(a.shape) for a in args] == [str(a.shape) for a in scheduled.args]
        assert operator.price(env, tiles) == task.operator.price(env, tiles)


def test_the_best_that_the_search_finds_is_one_of_the_choices() -> None:
    env = vta.get_env()
    layer = Conv2d(1, 64, 14, 14, 64, (3, 3), padding=(1, 1, 1, 1), epilogue=(ShiftRight(8),), fold=(1, 1))
    [task] = extract_from_operators([layer], env=env)
    space = task.config_space
    found = [candidate.tiles for candidate in conv_candidates(layer.shape_on(env))]
    for tiles in (layer.chosen(env), *found[::29]):
        values: dict[str, Entity] = {}
        for name, knob in space.knobs.items():
            value = getattr(tiles, name)
            values[name] = SplitEntity((-1, value)) if isinstance(knob[0], SplitEntity) else OtherOptionEntity(value)
        index = space.index_of(ConfigEntity(None, values))
        assert space.is_index_valid(index)
        assert tiles_of(layer, space.get(index), env) == tiles


def test_knobs_of_tvms_records_are_its_tiles_and_threads() -> None:
    env = vta.get_env()
    inner = {"tile_b": 1, "tile_h": 7, "tile_w": 14, "tile_ci": 1, "tile_co": 2}
    splits = {name: SplitEntity((-1, size)) for name, size in inner.items()}
    threads = {"oc_nthread": OtherOptionEntity(2), "h_nthread": OtherOptionEntity(1)}
    layer = Conv2d(1, 64, 14, 14, 64, (3, 3), padding=(1, 1, 1, 1))
    config = ConfigEntity(1, {**splits, **threads})
    assert tiles_of(layer, config, env) == ConvTiles(tile_h=7, tile_w=14, tile_co=2, oc_nthread=2)
    dense = {name: splits[name] for name in ("tile_b", "tile_ci", "tile_co")}
    assert tiles_of(Dense(4, 64, 64), ConfigEntity(1, dense), env) == DenseTemplate(1, 1, 2, 1)
    assert tiles_of(
        Dense(4, 64, 64), ConfigEntity(1, {**dense, "oc_nthread": OtherOptionEntity(2)}), env
    ) == DenseTemplate(1, 1, 2, 2)


def test_choices_that_do_not_fit_are_not_valid_and_make_no_schedule() -> None:
    [task] = extract_from_operators([Dense(64, 1024, 1024)])
    space = task.config_space
    invalid = [index for index in range(0, len(space), 97) if not space.is_index_valid(index)]
    assert invalid
    too_large = space.index_of(replace(space.get(0), values={**space.get(0).values, **_whole(space.knobs)}))
    assert not space.is_index_valid(too_large)
    with pytest.raises(TilingError, match="buffer would need"):
        task.instantiate(space.get(too_large))


def _whole(knobs: dict[str, tuple[object, ...]]) -> dict[str, object]:
    return {name: knobs[name][-1] for name in ("tile_b", "tile_ci", "tile_co")}


@pytest.mark.parametrize(
    ("knob", "value", "text"),
    [
        ("resident", "all", "knob 'resident' is one of none, data, kernel, not 'all'"),
        ("rotate_tiles", "two", "knob 'rotate_tiles' is a whole number, not 'two'"),
        ("rotate_steps", -1, "knob 'rotate_steps' is a whole number, not -1"),
    ],
)
def test_values_that_no_schedule_has_are_refused(knob: str, value: object, text: str) -> None:
    [task] = extract_from_operators([Dense(4, 32, 32)])
    values = {**task.config_space.get(0).values, knob: OtherOptionEntity(value)}  # type: ignore[arg-type]  # wrong ones
    with pytest.raises(TuningError) as caught:
        task.instantiate(ConfigEntity(None, values))
    assert str(caught.value) == text


def test_tasks_by_name_have_the_usual_epilogue_unless_they_name_another_one() -> None:
    data, weight = ("TENSOR", (4, 2, 1, 16), "int8"), ("TENSOR", (2, 2, 16, 16), "int8")
    usual = create("dense_packed.vta", (data, weight, None, "int32"))
    named = create("dense_packed.vta", (data, weight, None, "int32", (("Relu",),)))
    assert usual.operator == Dense(4, 32, 32, (ShiftRight(8), Clip(0, 127)))
    assert named.operator == Dense(4, 32, 32, (Relu(),))
    assert MatmulTiles(1, 1, 1) == tiles_of(Dense(4, 32, 32), usual.config_space.get(0), vta.get_env())
