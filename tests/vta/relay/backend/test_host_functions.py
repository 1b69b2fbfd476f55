"""What sessions compile of the host's steps: the numbers stay, whoever runs the network, and a report says so."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from runtime.executor.session import NetworkSession
from tests.support.relay.random_host_steps import chain
from vta import relay
from vta.environment import get_env
from vta.relay.backend.build import build_network
from vta.relay.backend.host_functions import host_functions
from vta.relay.backend.report import reports
from vta.relay.backend.session import InferenceSession

SHAPE = (1, 16, 64, 96)


def model() -> object:
    """Return a float model: functions of elements, and one that numpy has an approximation of its own for."""
    nodes = [
        helper.make_node("LeakyRelu", ["x"], ["a"], "leaky", alpha=0.1),
        helper.make_node("Mul", ["a", "x"], ["b"], "product"),
        helper.make_node("Exp", ["b"], ["c"], "power"),
        helper.make_node("Erf", ["c"], ["y"], "erf"),
    ]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in "xy"]
    graph = helper.make_graph(nodes, "elements", value[:1], value[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def test_a_session_and_its_file_give_the_same_numbers_with_and_without_the_compiler(tmp_path: Path) -> None:
    session = InferenceSession(model(), jobs=1)  # type: ignore[arg-type]
    x = np.random.default_rng(3).standard_normal(SHAPE).astype(np.float32)
    [found] = session.run(None, {"x": x})
    assert [node.node for node in session.nodes] == ["leaky, product", "power", "erf"]
    session.save(tmp_path / "n.vtam")
    bare = NetworkSession(tmp_path / "n.vtam", "reference")
    assert [node.node for node in (bare.run(None, {"x": x}), bare)[1].nodes] == ["leaky", "product", "power", "erf"]
    for other in (bare, InferenceSession(tmp_path / "n.vtam")):
        np.testing.assert_array_equal(other.run(None, {"x": x})[0], found)


def test_a_report_says_what_is_compiled() -> None:
    session = InferenceSession(model(), jobs=1)  # type: ignore[arg-type]
    assert session.built is not None
    assert [(each.name, each.where) for each in reports(session.built)] == [
        ("leaky", "host, compiled"), ("product", "host, compiled"), ("power", "host, numpy"), ("erf", "host, compiled")
    ]  # fmt: skip


def test_processes_compile_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vta.relay.backend.host_functions._ALONE", 2)
    network = chain((4, 4), "nn.relu", "exp", "abs", "exp", "sqrt")
    made = host_functions(network, jobs=2, cache=False, pays=0)
    x = np.array(np.random.default_rng(4).standard_normal((4, 4)), np.float32)
    for each, wanted in zip(made, (np.maximum(x, 0), np.abs(x)), strict=False):
        np.testing.assert_array_equal(each.run([x]), wanted)
    assert len(made) == 3


def test_a_float_network_of_the_host_alone() -> None:
    x = relay.var("x", shape=(1, 8, 40, 40))
    weight = relay.const(np.random.default_rng(5).standard_normal((8, 1, 3, 3)).astype(np.float32))
    body = relay.nn.relu(relay.nn.conv2d(x, weight, padding=1, groups=8, channels=8, kernel_size=(3, 3)))
    built = build_network(relay.Function([x], body), get_env(), accelerator=False, jobs=1)
    [made] = host_functions(built.network)
    assert made.steps == (0, 1)
    assert [each.where for each in reports(built)] == ["host, compiled", "host, compiled"]
