"""Templates for the CPU: timed by the clock, compared with the stages as they are, recorded and applied."""

from pathlib import Path

import numpy as np
import pytest

from vta import autotvm, te
from vta.autotvm import LocalBuilder, LocalRunner, MeasureErrorNo, TuningError
from vta.autotvm.callback import log_to_file
from vta.autotvm.measure.local import Built
from vta.autotvm.measure.on_cpu import Clock
from vta.autotvm.measure.remote import RPCRunner
from vta.autotvm.record import load_from_file
from vta.autotvm.task import Task, create
from vta.autotvm.tuner import GridSearchTuner, XGBTuner
from vta.build_module import build_generic
from vta.codegen import Module
from vta.target import Target
from vta.te.schedule import Schedule

HERE, NAME = LocalBuilder(n_parallel=0), "tests.on_cpu.product"


@autotvm.template(NAME)
def product(n: int, dtype: str) -> tuple[Schedule, list[te.Tensor]]:
    a, b = te.placeholder((n, n), dtype, "A"), te.placeholder((n, n), dtype, "B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    config = autotvm.get_config()
    config.define_split("tile_x", c.op.axis[1], num_outputs=2)
    config.define_split("tile_k", k, num_outputs=2)
    xo, xi = config["tile_x"].apply(s, c, c.op.axis[1])
    ko, ki = config["tile_k"].apply(s, c, k)
    s[c].reorder(c.op.axis[0], xo, ko, ki, xi)
    return s, [a, b, c]


@pytest.fixture(scope="module")
def task() -> Task:
    return create(NAME, (12, "float32"), target="llvm")


def test_a_choice_is_timed_as_often_as_was_said(task: Task) -> None:
    assert task.on_cpu
    assert not create(NAME, (12, "int32")).on_cpu
    built = HERE.build(task, task.config_space.get(5))
    assert isinstance(built, Built)
    result = LocalRunner(clock=Clock(2, 4)).run(built)
    assert result.error_no == 0
    assert len(result.costs) == 4
    assert all(0 < cost < 1 for cost in result.costs)
    long = LocalRunner(clock=Clock(1, 2, min_repeat_ms=5)).run(built)
    assert len(long.costs) == 2
    assert long.all_cost > 0.01


def test_wrong_numbers_are_an_error_and_rounding_is_none(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    built = HERE.build(task, task.config_space.get(0))
    assert isinstance(built, Built)
    call = Module.__call__

    def off(by: float) -> MeasureErrorNo:
        def wrong(module: Module, *args: object) -> None:
            call(module, *args)
            if module is built.module:
                args[-1].copyfrom(args[-1].numpy() * np.float32(by))  # type: ignore[attr-defined]  # an array

        monkeypatch.setattr(Module, "__call__", wrong)
        return LocalRunner().run(built).error_no

    assert off(1 + 1e-6) == MeasureErrorNo.NO_ERROR
    assert off(1.01) == MeasureErrorNo.WRONG_ANSWER


@pytest.mark.parametrize("kind", [GridSearchTuner, XGBTuner])
def test_the_fastest_of_a_log_is_applied_inside_of_the_cpus_target(
    task: Task, kind: type[GridSearchTuner | XGBTuner], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    option = autotvm.measure_option(HERE, LocalRunner(clock=Clock(1, 1)))
    kind(task).tune(n_trial=3, measure_option=option, callbacks=[log_to_file(log)])
    records = list(load_from_file(log))
    assert [(given.target, given.hardware, result.error_no) for given, result in records] == [
        ("llvm -keys=cpu", None, 0)
    ] * 3
    best = min(records, key=lambda record: record[1].cost)[0]
    with autotvm.apply_history_best(log), Target("llvm"):
        s, args = product(12, "float32")
    sizes = [values for knob in ("tile_x", "tile_k") for values in best.config[knob].size[1:]]
    assert [int(str(size)) for size in sizes] == [
        relation.factor.value for relation in s[args[-1]].relations if hasattr(relation, "factor")
    ]
    rng = np.random.default_rng(0)
    x, y = rng.random((12, 12), np.float32), rng.random((12, 12), np.float32)
    out = np.zeros((12, 12), np.float32)
    build_generic(s, args, "llvm")(x, y, out)
    np.testing.assert_allclose(out, x @ y, rtol=1e-5)


def test_what_cannot_be_measured_here_is_refused(task: Task) -> None:
    with pytest.raises(TuningError) as caught:
        Clock(0)
    assert str(caught.value) == "LocalRunner: number is 1 or more, not 0"
    with pytest.raises(TuningError) as caught:
        create("dense_packed.vta", (1,), target="llvm")
    assert str(caught.value) == (
        "task 'dense_packed.vta': the library's template is for the accelerator; leave target=llvm out"
    )
    option = autotvm.measure_option(HERE, RPCRunner("key", "127.0.0.1", 1))
    with option.measuring() as measuring, pytest.raises(TuningError) as caught:
        list(measuring.results(task, [task.config_space.get(0)]))
    assert str(caught.value) == f"{task!r}: choices for the CPU are measured on this one; give it a LocalRunner"
