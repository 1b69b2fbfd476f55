"""``GraphModule``: inputs, outputs, times; and what is refused."""

import itertools
import re

import numpy as np
import pytest

import vta
from runtime.evaluator import TimingError
from runtime.executor.network import NetworkError
from vta import graph_executor, relay

ONE = np.array([1, 2, 3], np.float32)


@pytest.fixture
def module() -> graph_executor.GraphModule:
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    function = relay.Function([x, y], relay.Tuple([relay.add(x, y), relay.multiply(x, y)]))
    return graph_executor.GraphModule(relay.build(function, "llvm")["default"](vta.nd.cpu(0)))


def test_inputs_and_outputs_by_name_and_number(module: graph_executor.GraphModule) -> None:
    assert (module.get_num_inputs(), module.get_num_outputs()) == (2, 2)
    assert [module.get_input_index(name) for name in ("x", "y", "z")] == [0, 1, -1]
    assert module.get_input_info() == ({"x": (3,), "y": (3,)}, {"x": "float32", "y": "float32"})
    module.set_input("x", ONE)
    module.set_input(1, vta.nd.array(ONE * 2), weight=ONE)  # a parameter that is a constant, or is not there
    module.run()
    assert module.get_input("y").numpy().tolist() == [2, 4, 6]
    assert [module.get_output(index).numpy().tolist() for index in range(2)] == [[3, 6, 9], [2, 8, 18]]
    module["run"](x=ONE * 0)
    out = vta.nd.empty((3,))
    assert module.get_output(1, out) is out
    assert out.numpy().tolist() == [0, 0, 0]
    assert [node.on_device for node in module.nodes] == [False, False]


def test_an_input_is_what_it_was_when_it_was_set(module: graph_executor.GraphModule) -> None:
    mine = ONE.copy()
    module.set_input(x=mine, y=ONE)
    mine[:] = 9
    module.run()
    assert module.get_output(0).numpy().tolist() == [2, 4, 6]


def test_runs_are_timed(module: graph_executor.GraphModule) -> None:
    module.set_input(x=ONE, y=ONE)
    found = module.module.time_evaluator("run", vta.nd.cpu(0), number=2, repeat=3)()
    assert len(found.results) == 3
    assert 0 < found.min <= found.median <= found.max
    assert found.mean > 0
    assert found.std >= 0
    assert len(module.benchmark(vta.nd.cpu(0), repeat=2, number=1).results) == 2


def test_a_row_of_runs_takes_the_time_that_it_is_given(
    module: graph_executor.GraphModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    module.set_input(x=ONE, y=ONE)
    runs = itertools.count()
    monkeypatch.setattr(module.module.runner, "run", lambda _: {"runs": next(runs)})
    module.benchmark(vta.nd.cpu(0), repeat=1, number=1, min_repeat_ms=2)
    assert next(runs) > 10
    with pytest.raises(TimingError, match=r"^number and repeat are at least 1, not 0 and 1$"):
        module.module.time_evaluator("run", number=0)


def test_what_cannot_be_is_refused(module: graph_executor.GraphModule) -> None:
    for call, text in (
        (module.run, "input 'x' was not set; give it to set_input"),
        (lambda: module.get_output(0), "there are no outputs yet: run the module first"),
        (lambda: module.get_input("x"), "input 'x' was not set"),
        (lambda: module.set_input("z", ONE), "the network has inputs x, y, not 'z'"),
        (lambda: module.set_input(2, ONE), "the network has inputs x, y, not 2"),
        (lambda: module.set_input("x"), "input 'x' is set to a value, and none was given"),
        (lambda: module.set_input("x", ONE[:2]), "input 'x' has shape (3,), not (2,)"),
        (lambda: module.set_input("x", ONE.astype(int)), "input 'x' is float32, not int64; convert it with astype"),
        (lambda: module["odd"], "the module has no function 'odd'"),
        (lambda: module.module.time_evaluator("walk"), "what is timed is 'run', not 'walk'"),
    ):
        with pytest.raises(NetworkError, match=f"^{re.escape(text)}$"):
            call()  # type: ignore[no-untyped-call]
    module.set_input(x=ONE, y=ONE)
    module.run()
    with pytest.raises(NetworkError, match=r"^the network has outputs .*, not 2$"):
        module.get_output(2)
