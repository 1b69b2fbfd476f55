"""Nodes that onnxruntime runs: the right numbers, and a sentence for whatever is not a sound node."""

import base64
import sys

import numpy as np
import onnx
import pytest

from runtime.executor.operators.foreign import OnnxNodeAttrs, foreign_session, model_text
from runtime.executor.operators.names import Op
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import RelayError, TensorType, TupleType
from tests.support.relay.onnx_models import model_of, node

TOP_K = model_of(
    [onnx.helper.make_node("TopK", ["x", "k"], ["values", "places"])], {"x": ("float32", (2, 5))},
    outputs=("values", "places"), weights={"k": np.array([2])}, opset=11,
)  # fmt: skip
GIVES = (((2, 2), "float32"), ((2, 2), "int64"))


def refused(model: onnx.ModelProto | str, text: str) -> None:
    given = model if isinstance(model, str) else model_text(model.SerializeToString())
    with pytest.raises(RelayError, match=f"^{text}$"):
        foreign_session(given)


def test_a_node_gives_what_numpy_gives() -> None:
    attrs = OnnxNodeAttrs(model_text(TOP_K.SerializeToString()), GIVES)
    row = operator(Op.ONNX_NODE)
    assert row.infer([TensorType((2, 5), "float32")], attrs) == TupleType(
        (TensorType((2, 2), "float32"), TensorType((2, 2), "int64"))
    )
    x = np.random.default_rng(3).permutation(10).reshape(2, 5).astype(np.float32)
    values, places = row.evaluate([x], attrs)
    order = np.argsort(-x, axis=1)[:, :2]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


def test_results_of_another_type_are_refused() -> None:
    attrs = OnnxNodeAttrs(model_text(TOP_K.SerializeToString()), (((2, 3), "float32"), ((2, 2), "int64")))
    with pytest.raises(RelayError, match=r"^onnxruntime gave .*, not .*: what it gives depends on numbers$"):
        operator(Op.ONNX_NODE).evaluate([np.zeros((2, 5), np.float32)], attrs)
    with pytest.raises(RelayError, match=r"^its model takes 1 inputs, not 2$"):
        operator(Op.ONNX_NODE).evaluate([np.zeros((2, 5), np.float32)] * 2, attrs)
    with pytest.raises(RelayError, match=r"^onnxruntime stopped: "):
        operator(Op.ONNX_NODE).evaluate([np.zeros((3, 5), np.float64)], attrs)
    with pytest.raises(RelayError, match=r"^it gives nothing$"):
        operator(Op.ONNX_NODE).infer([TensorType((1,), "int8")], OnnxNodeAttrs("", ()))


def test_damaged_and_hostile_models_are_refused() -> None:
    refused("%%%", "its model is damaged")
    refused(base64.b64encode(b"\xff" * 9).decode(), "its model is damaged")
    refused(model_of([node("Relu", ["x"], "y"), node("Relu", ["y"], "z")], {"x": ("float32", (1,))}),
            "its model has 2 nodes, and it is to be one")  # fmt: skip
    outside = model_of([node("Add", ["x", "w"], "y")], {"x": ("float32", (1,))}, weights={"w": np.zeros(1, np.float32)})
    tensor = outside.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    refused(outside, "its model has numbers in other files")
    sparse = onnx.helper.make_sparse_tensor(tensor, onnx.numpy_helper.from_array(np.zeros(1, np.int64)), [1])
    constant = onnx.helper.make_node("Constant", [], ["y"], sparse_value=sparse)
    refused(model_of([constant], {}), "its model has numbers in other files")
    refused(model_of([node("Rellu", ["x"], "y")], {"x": ("float32", (1,))}), "onnxruntime cannot run it: .*")


def test_loops_are_refused_however_deep() -> None:
    body = onnx.helper.make_graph(
        [node("Identity", ["go"], "on")],
        "body",
        [
            onnx.helper.make_tensor_value_info("round", onnx.TensorProto.INT64, []),
            onnx.helper.make_tensor_value_info("go", onnx.TensorProto.BOOL, []),
        ],
        [onnx.helper.make_tensor_value_info("on", onnx.TensorProto.BOOL, [])],
    )
    loop = onnx.helper.make_node("Loop", ["", "c"], [], body=body)
    relu = node("Identity", ["c"], "z")
    branch = onnx.helper.make_graph(
        [loop, relu], "branch", [], [onnx.helper.make_tensor_value_info("z", onnx.TensorProto.BOOL, [])]
    )
    either = onnx.helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    for each in (loop, either):
        made = model_of([each], {"c": ("bool", ())}, outputs=("y",))
        refused(made, "its model has a loop, and nobody knows how long that takes")


def test_without_onnxruntime_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    refused(
        model_text(b"never seen"),
        r"onnxruntime runs it, and is not installed: pip install \'vta-toolchain\[onnxruntime\]\'",
    )
