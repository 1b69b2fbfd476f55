"""``tvm.autotvm`` in scripts: TVM's signatures, templates of the library's names, tuners."""

from collections.abc import Callable
from typing import Any

import pytest

import vta
from vta import autotvm
from vta.autotvm import LocalBuilder, LocalRunner
from vta.autotvm.measure import remote
from vta.autotvm.task import Task, extract_from_operators
from vta.compat import autotvm_names as module
from vta.compat.answer import Answer
from vta.compat.autotvm_names import autotvm_names
from vta.topi import Dense

NAMES: Any = Answer("tvm.autotvm", autotvm_names())


@pytest.fixture(scope="module")
def task() -> Task:
    [found] = extract_from_operators([Dense(4, 32, 32)])
    return found


def test_options_that_have_no_meaning_here_are_taken() -> None:
    builder = NAMES.LocalBuilder(timeout=20, n_parallel=3, build_func="default")
    runner = NAMES.LocalRunner(timeout=30, number=4, repeat=3, min_repeat_ms=0, module_loader=None)
    vta.module_loader()
    assert isinstance(builder, LocalBuilder)
    assert isinstance(runner, LocalRunner)
    assert (builder.timeout, builder.n_parallel, runner.timeout) == (20, 3, 30)
    option = NAMES.measure.measure_option(builder=builder, runner=runner)
    assert (option.builder, option.runner) == (builder, runner)


def test_a_template_of_the_librarys_name_is_the_librarys() -> None:
    def function(*args: object) -> None:
        raise AssertionError("the library's template stands for it")

    assert NAMES.template("dense_packed.vta")(function) is function
    assert NAMES.task.template is NAMES.template
    made = NAMES.task.create("dense_packed.vta", extract_from_operators([Dense(4, 32, 32)])[0].args)
    assert made.operator == Dense(4, 32, 32)
    assert NAMES.template("test_autotvm_names.own")(function) is not function


def test_features_of_loops_are_those_of_knobs(task: Task) -> None:
    pytest.importorskip("lightgbm")
    for kind in ("itervar", "curve", "knob"):
        assert isinstance(NAMES.tuner.XGBTuner(task, loss_type="rank", feature_type=kind), autotvm.tuner.XGBTuner)
    with pytest.raises(autotvm.TuningError, match="feature_type is 'knob', not 'loops'"):
        NAMES.tuner.XGBTuner(task, feature_type="loops")


def test_the_runner_of_a_farm_and_a_remote_ask_the_tracker(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(host: str, port: int, **_: object) -> None:
        raise vta.rpc.RpcError(f"{host}:{port} was asked")

    monkeypatch.setattr(remote, "connect_tracker", refused)
    monkeypatch.setattr(module, "connect_tracker", refused)
    asks: list[Callable[[], object]] = [
        lambda: NAMES.RPCRunner("tsim", host="here", port=1, number=5, timeout=6, module_loader=None),
        lambda: NAMES.measure.measure_methods.request_remote("tsim", "here", 1, timeout=5),
    ]
    for ask in asks:
        with pytest.raises(vta.rpc.RpcError, match=r"^here:1 was asked$"):
            ask()
