"""Records, applied: the fastest for the sizes and the hardware, for operators and their networks."""

from pathlib import Path

import pytest

import vta
from tests.support.configs import CONFIGS
from vta.autotvm import MeasureErrorNo, MeasureInput, MeasureResult, apply_history_best
from vta.autotvm.history import best_config, best_of
from vta.autotvm.library import tiles_of
from vta.autotvm.record import encode
from vta.autotvm.space import ConfigEntity, Entity, OtherOptionEntity, SplitEntity
from vta.autotvm.task import Task, extract_from_operators
from vta.topi import Conv2d, Dense, DenseTemplate
from vta.topi.core.epilogue import Clip, ShiftRight
from vta.topi.core.operator import OperatorError

LAYER = Dense(16, 64, 64, (ShiftRight(8),))


def task_on(env: vta.Environment) -> Task:
    [found] = extract_from_operators([LAYER], env=env)
    return found


def record(task: Task, place: int, cost: float) -> tuple[MeasureInput, MeasureResult]:
    """Return a record of valid choice number ``place``."""
    valid = list(task.config_space.valid_indices())
    return task.input(task.config_space.get(valid[place])), MeasureResult((cost,))


def test_the_fastest_that_worked_is_applied() -> None:
    env = vta.get_env()
    task = task_on(env)
    slow, fast, same = record(task, 3, 2.0), record(task, 9, 1.0), record(task, 11, 1.0)
    failed = (record(task, 20, 0.1)[0], MeasureResult((), MeasureErrorNo.WRONG_ANSWER, "wrong"))
    with apply_history_best([slow, failed, fast, same]):
        assert best_config(task.workload, env) == fast[0].config
        assert LAYER.schedule(env).tiles == tiles_of(LAYER, fast[0].config, env)
        assert Dense(17, 64, 64).schedule(env)  # no records: the search's
        assert Conv2d(1, 32, 5, 5, 32, (3, 3), groups=2).schedule(env)
    assert best_config(task.workload, env) is None


def test_records_are_for_the_hardware_that_they_name() -> None:
    config = vta.get_env().config
    wide = vta.Environment(config, hardware={"data_width": 128, "memory_latency": 9})
    other = vta.Environment(config, hardware={"data_width": 64, "memory_latency": 9})
    of_wide, of_any = record(task_on(wide), 3, 1.0), record(task_on(vta.Environment(config)), 9, 2.0)
    workload = task_on(wide).workload
    with apply_history_best([of_wide, of_any]):
        assert best_config(workload, wide) == of_wide[0].config
        assert best_config(workload, other) == of_any[0].config
    with apply_history_best([of_wide]):
        assert best_config(workload, other) is None
        assert best_config(workload, vta.Environment(CONFIGS["b1k8"])) is None


def test_the_innermost_records_go_first_and_none_change_nothing(tmp_path: Path) -> None:
    env = vta.get_env()
    task, log = task_on(env), tmp_path / "log"
    outer, inner = record(task, 3, 1.0), record(task, 9, 5.0)
    log.write_text(encode(*inner) + "\n")
    with apply_history_best([outer]), apply_history_best(log), apply_history_best(None):
        assert best_config(task.workload, env) == inner[0].config
    assert [given for given, _ in best_of(log).values()] == [inner[0]]


def test_a_record_without_an_epilogue_is_for_any() -> None:
    env = vta.get_env()
    layer = Conv2d(1, 32, 8, 8, 32, (3, 3), padding=(1, 1, 1, 1), epilogue=(ShiftRight(4), Clip(-8, 7)))
    [task] = extract_from_operators([layer], env=env)
    config = task.config_space.get(next(task.config_space.valid_indices()))
    model = env.MODEL.replace("sim_", "pynq_")
    given = MeasureInput(f"ext_dev -keys=vta,cpu -device=vta -model={model}", task.workload[:-1], config)
    with apply_history_best([(given, MeasureResult((1.0,)))]):
        assert layer.chosen(env) == tiles_of(layer, config, env)


def test_a_dense_record_of_tvm_is_applied_as_it_is() -> None:
    env = vta.get_env()
    task = task_on(env)
    tiles = DenseTemplate(tile_b=4, tile_ci=2, tile_co=1, oc_nthread=2)
    knobs: dict[str, Entity] = {
        name: SplitEntity((-1, getattr(tiles, name))) for name in ("tile_b", "tile_ci", "tile_co")
    }
    config = ConfigEntity(3, {**knobs, "oc_nthread": OtherOptionEntity(2)})
    given = MeasureInput(str(task.target), task.workload[:-1], config)
    with apply_history_best([(given, MeasureResult((1.0,)))]):
        assert LAYER.schedule(env).tiles == tiles
        with pytest.raises(OperatorError) as error:
            LAYER.price(env)
        assert str(error.value) == "Dense: TVM's DenseTemplate has no model; give MatmulTiles"


def test_records_for_other_constants_of_an_epilogue_are_applied_where_there_are_no_own() -> None:
    made = Dense(16, 64, 64, (ShiftRight(8), Clip(0, 127)))
    [task] = extract_from_operators([made])
    first, second, *_ = task.config_space.valid_indices()
    records = [(task.input(task.config_space.get(first)), MeasureResult((1.0,)))]
    other = Dense(16, 64, 64, (ShiftRight(3), Clip(-5, 9)))
    [of_other] = extract_from_operators([other])
    more = [*records, (of_other.input(of_other.config_space.get(second)), MeasureResult((9.0,)))]
    with apply_history_best(records):
        assert other.schedule(task.env).tiles == tiles_of(made, task.config_space.get(first), task.env)
        without = Dense(16, 64, 64, (ShiftRight(8),))
        assert without.schedule(task.env).tiles != tiles_of(made, task.config_space.get(first), task.env)
    with apply_history_best(more):
        assert other.schedule(task.env).tiles == tiles_of(other, of_other.config_space.get(second), task.env)
