"""Nodes without an operator of ours: calls of onnxruntime, told as such, and refused where they cannot be."""

import re
import sys

import numpy as np
import onnx
import pytest

from isa.config import VTAConfig
from runtime.executor.container import network_from_bytes, network_to_bytes
from runtime.executor.network import NetworkError
from runtime.executor.operators.names import Op
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.relay.onnx_models import model_of, node
from vta.environment import get_env
from vta.relay.backend.report import reports
from vta.relay.backend.session import compile_model
from vta.relay.interpreter import run
from vta.relay.ir.nodes import Call
from vta.relay.ir.traverse import calls
from vta.relay.onnx.errors import OnnxError
from vta.relay.onnx.importer import from_onnx
from vta.relay.onnx.one_node import captured_names

X = {"x": ("float32", (2, 6))}


def foreign(model: onnx.ModelProto) -> list[Call]:
    return [each for each in calls(from_onnx(model)) if each.callee is Op.ONNX_NODE]


def cumulative() -> onnx.ModelProto:
    return model_of(
        [node("Relu", ["x"], "r"), node("CumSum", ["r", "axis"], "sums"), node("Relu", ["sums"], "y")], X,
        weights={"axis": np.array(1)},
    )  # fmt: skip


def test_a_network_with_such_a_node_runs_is_told_and_is_kept_in_a_file() -> None:
    built = compile_model(cumulative(), get_env(), jobs=1)
    places = {each.name: (each.place, each.rule) for each in reports(built)}
    assert places["sums"] == ("onnxruntime", "onnxruntime runs it: this operator is not supported; is Sum meant?")
    assert places["r"][0] == places["y"][0] == "host"
    network = network_from_bytes(network_to_bytes(built.network))
    runner = NetworkRunner(network, Session(VTAConfig(), "sim"))
    x = np.random.default_rng(1).standard_normal((2, 6)).astype(np.float32)
    np.testing.assert_allclose(runner.run({"x": x})["y"], np.cumsum(np.maximum(x, 0), axis=1), rtol=1e-6)


def test_a_file_with_such_a_node_says_where_onnxruntime_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = network_to_bytes(compile_model(cumulative(), get_env(), jobs=1).network)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    from runtime.executor.operators.foreign import foreign_session

    foreign_session.cache_clear()
    text = "step 'sums', onnx.node: onnxruntime runs it, and is not installed: pip install 'vta-toolchain[onnxruntime]'"
    with pytest.raises(Exception, match=re.escape(text)):
        network_from_bytes(data)


def test_without_onnxruntime_the_node_is_refused_with_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    text = (
        "CumSum 'sums': this operator is not supported; is Sum meant?; the host may run it by onnxruntime: "
        "pip install 'vta-toolchain[onnxruntime]'"
    )
    with pytest.raises(OnnxError, match=f"^{re.escape(text)}$"):
        from_onnx(cumulative())


def test_several_outputs_and_those_that_nobody_wants() -> None:
    top = onnx.helper.make_node("TopK", ["x", "k"], ["", "places"], name="top")
    model = model_of([top], X, outputs=("places",), weights={"k": np.array([2])})
    x = np.random.default_rng(1).permutation(12).reshape(2, 6).astype(np.float32)
    np.testing.assert_array_equal(run(from_onnx(model), [x]), np.argsort(-x, axis=1)[:, :2])


def test_graphs_within_a_node_see_the_values_around_it() -> None:
    add = onnx.helper.make_graph(
        [node("Add", ["s", "e"], "t"), node("Mul", ["t", "f"], "out"), node("Identity", ["out"], "row")], "step",
        [onnx.helper.make_tensor_value_info(name, 1, [6]) for name in ("s", "e")],
        [onnx.helper.make_tensor_value_info(name, 1, [6]) for name in ("out", "row")],
    )  # fmt: skip
    scan = onnx.helper.make_node("Scan", ["start", "x"], ["end", "rows"], name="scan", num_scan_inputs=1, body=add)
    assert captured_names(scan) == ["f"]
    twice = node("Add", ["g", "g"], "f")
    model = model_of([twice, scan], {**X, "start": ("float32", (6,)), "g": ("float32", (6,))}, outputs=("end", "rows"))
    rng = np.random.default_rng(5)
    x, start, g = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 6), (6,), (6,)))
    end, rows = run(from_onnx(model), [x, start, g])
    first = (start + x[0]) * (g + g)
    second = (first + x[1]) * (g + g)
    np.testing.assert_allclose(rows, np.stack([first, second]), rtol=1e-5)
    np.testing.assert_allclose(end, second, rtol=1e-5)


def test_shapes_that_depend_on_numbers_need_constants_or_what_the_model_says() -> None:
    open_shape = model_of([node("NonZero", ["x"], "y")], X)
    with pytest.raises(OnnxError, match=r"^NonZero 'y': this operator is not supported$"):
        from_onnx(open_shape)
    data = np.array([[0, 3, 0], [1, 0, 2]], np.float32)
    known = model_of([node("NonZero", ["c"], "y"), node("Cast", ["y"], "z", to=1)], X, weights={"c": data})
    np.testing.assert_array_equal(run(from_onnx(known), [np.zeros((2, 6), np.float32)]), np.array(np.nonzero(data)))
    said = model_of([node("NonZero", ["x"], "y")], X)
    said.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", 7, [2, 12]))
    function = from_onnx(said)
    assert run(function, [np.ones((2, 6), np.float32)]).shape == (2, 12)
    with pytest.raises(Exception, match="what it gives depends on numbers"):
        run(function, [np.zeros((2, 6), np.float32)])


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (node("RandomNormalLike", ["x"], "y"), "RandomNormalLike 'y': this operator is not supported"),
        (node("DFT", ["x"], "y"), "DFT 'y': this operator is not supported"),
        (node("CumSum", ["x"], "y"), "CumSum 'y': this operator is not supported; is Sum meant?"),
    ],
)
def test_what_onnxruntime_cannot_run_or_runs_otherwise_is_refused(made: onnx.NodeProto, text: str) -> None:
    with pytest.raises(OnnxError, match=f"^{re.escape(text)}$"):
        from_onnx(model_of([made], X))


def test_a_result_that_is_not_what_was_said_stops_the_run_in_a_sentence() -> None:
    said = model_of([node("NonZero", ["x"], "y")], X)
    said.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", 7, [2, 12]))
    network = compile_model(said, get_env(), jobs=1).network
    with pytest.raises(NetworkError, match=r"^step 'y', onnx.node: onnxruntime gave .* depends on numbers$"):
        NetworkRunner(network, Session(VTAConfig(), "sim")).run({"x": np.zeros((2, 6), np.float32)})
