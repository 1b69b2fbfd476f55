"""Builder and runner: exact cycles, wrong numbers, what cannot be made, built or run."""

import numpy as np
import pytest

import vta
from isa.errors import VTAError
from vta import autotvm
from vta.autotvm import LocalBuilder, LocalRunner, MeasureErrorNo, MeasureResult, TuningError
from vta.autotvm.measure import judge, local
from vta.autotvm.measure.local import Built
from vta.autotvm.task import Task, extract_from_operators
from vta.cost import predict
from vta.topi import Dense
from vta.topi.core.epilogue import ShiftRight

LAYER = Dense(16, 128, 64, (ShiftRight(4),))
ENV = vta.Environment(vta.get_env().config, hardware={"data_width": 64, "memory_latency": 1})


@pytest.fixture(scope="module")
def task() -> Task:
    [found] = extract_from_operators([LAYER], env=ENV)
    return found


def valid(task: Task, place: int) -> autotvm.ConfigEntity:
    return task.config_space.get(list(task.config_space.valid_indices())[place])


def test_costs_are_exact_cycles_at_a_clock(task: Task) -> None:
    fast, slow = LocalRunner(clock_mhz=200), LocalRunner(seed=7)
    for place in (10, 60):
        built = LocalBuilder().build(task, valid(task, place))
        assert isinstance(built, Built)
        [found, other] = [runner.run(built) for runner in (fast, slow)]
        assert found.error_no == other.error_no == 0
        assert other.costs == (found.costs[0] * 2,)
        cycles = round(other.cost * 1e8)
        assert other.costs == (cycles / 1e8,)
        expected = predict(LAYER, env=ENV, tiles=autotvm.library.tiles_of(LAYER, built.config, ENV)).cycles
        assert cycles == pytest.approx(expected, rel=0.5)


def test_a_choice_that_makes_no_schedule_says_why(task: Task) -> None:
    invalid = next(i for i in range(len(task.config_space)) if not task.config_space.is_index_valid(i))
    del invalid
    config = autotvm.ConfigEntity(None, {})
    found = LocalBuilder().build(task, config)
    assert isinstance(found, MeasureResult)
    assert (found.error_no, found.error) == (
        MeasureErrorNo.INSTANTIATION_ERROR,
        "there is no knob 'tile_b'; there are none",
    )


def test_what_cannot_be_built_or_run_says_why(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise VTAError("no")

    builder, runner = LocalBuilder(), LocalRunner()
    built = builder.build(task, valid(task, 0))
    assert isinstance(built, Built)
    monkeypatch.setattr(local, "_run", refused)
    found = runner.run(built)
    assert (found.error_no, found.error) == (MeasureErrorNo.RUNTIME_DEVICE, "no")
    monkeypatch.setattr(local, "build", refused)
    failed = builder.build(task, valid(task, 0))
    assert isinstance(failed, MeasureResult)
    assert (failed.error_no, failed.error) == (MeasureErrorNo.COMPILE_HOST, "no")
    monkeypatch.undo()
    assert runner.run(built).error_no == MeasureErrorNo.NO_ERROR  # on new sessions


def test_wrong_numbers_are_found(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = task.operator
    assert operator is not None
    monkeypatch.setattr(judge, "_drawn", lambda _, shape, dtype: np.ones(shape, dtype))
    monkeypatch.setattr(type(operator), "reference_on", lambda *_: np.zeros((16, 64), np.int8))
    found = autotvm.measure_option(LocalBuilder(), LocalRunner()).measure(task, valid(task, 0))
    assert (found.error_no, found.error) == (
        MeasureErrorNo.WRONG_ANSWER,
        "on sim, the result is not what the operator means",
    )


def test_a_clock_ticks() -> None:
    with pytest.raises(TuningError) as caught:
        LocalRunner(clock_mhz=0)
    assert str(caught.value) == "LocalRunner: clock_mhz is above 0, not 0"
