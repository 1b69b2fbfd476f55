"""Models of version 6: broadcasts by axis, attributes of training; and what is refused."""

import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from vta.relay.interpreter import run
from vta.relay.onnx.errors import OnnxError
from vta.relay.onnx.importer import from_onnx
from vta.relay.onnx.old_versions import in_known_version


def old(
    nodes: list[onnx.NodeProto], shapes: dict[str, tuple[int, ...] | None], opset: int = 6, output: str = "y"
) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "old", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3)


@pytest.mark.parametrize(
    ("attributes", "shape", "placed"),
    [
        ({"broadcast": 1, "axis": 1}, (3,), (3, 1, 1)),
        ({"broadcast": 1, "axis": 0}, (2, 3), (2, 3, 1, 1)),
        ({"broadcast": 1, "axis": -2}, (4, 5), (4, 5)),
        ({"broadcast": 1, "axis": 2}, (4,), (4, 1)),
        ({"broadcast": 1}, (4, 5), (4, 5)),
        ({}, (2, 3, 4, 5), (2, 3, 4, 5)),
    ],
)
@pytest.mark.parametrize("kind", ["Add", "Mul", "Sub", "Div"])
def test_an_operand_goes_where_its_attributes_say(
    kind: str, attributes: dict[str, int], shape: tuple[int, ...], placed: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(6)
    x, b = rng.uniform(1, 2, (2, 3, 4, 5)).astype(np.float32), rng.uniform(1, 2, shape).astype(np.float32)
    model = old([helper.make_node(kind, ["x", "b"], ["y"], **attributes)], {"x": x.shape, "b": b.shape})
    wanted = {"Add": np.add, "Mul": np.multiply, "Sub": np.subtract, "Div": np.divide}[kind](x, b.reshape(placed))
    np.testing.assert_allclose(run(from_onnx(model), [x, b]), wanted, rtol=1e-6)


def test_the_operand_of_a_node_in_the_middle_is_placed_too() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Neg", ["b"], ["n"]),
             helper.make_node("Add", ["r", "n"], ["y"], broadcast=1, axis=1)]  # fmt: skip
    x, b = -np.ones((1, 2, 3, 3), np.float32), np.array([1, 2], np.float32)
    found = run(from_onnx(old(nodes, {"x": x.shape, "b": b.shape})), [x, b])
    np.testing.assert_array_equal(found, np.broadcast_to([[[[-1]], [[-2]]]], x.shape))


def test_a_gemm_and_a_dropout_lose_what_version_7_does_not_say() -> None:
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["g"], broadcast=1, transB=1),
             helper.make_node("Dropout", ["g"], ["y"], is_test=1, ratio=0.5)]  # fmt: skip
    x, w, b = np.ones((2, 3), np.float32), np.ones((4, 3), np.float32), np.arange(4, dtype=np.float32)
    found = run(from_onnx(old(nodes, {"x": x.shape, "w": w.shape, "b": b.shape})), [x, w, b])
    np.testing.assert_array_equal(found, x @ w.T + b)


def test_a_model_of_another_version_stays_as_it_is() -> None:
    for opset in (5, 7, 13):
        model = old([helper.make_node("Relu", ["x"], ["y"])], {"x": (3,)}, opset=opset)
        assert in_known_version(model) is model


@pytest.mark.parametrize(
    ("node", "shapes", "sentence"),
    [
        (
            helper.make_node("PRelu", ["x", "b"], ["y"]), {"x": (1, 3, 2, 2), "b": (3,)},
            "PRelu 'y': version 6 of this operator is not supported; export the model with a newer version",
        ),
        (
            helper.make_node("Add", ["x", "b"], ["y"], broadcast=1, axis=1), {"x": None, "b": (3,)},
            "Add 'y': the sizes of its operands are not known, and version 6 broadcasts by axis",
        ),
        (
            helper.make_node("Add", ["x", "b"], ["y"], name="sum", broadcast=1, axis=1), {"x": (2, 3), "b": (3, 4)},
            "Add 'sum': 2 axes do not fit into 2 from axis 1",
        ),
    ],
)  # fmt: skip
def test_what_version_7_cannot_say_is_refused(
    node: onnx.NodeProto, shapes: dict[str, tuple[int, ...] | None], sentence: str
) -> None:
    with pytest.raises(OnnxError, match=f"^{re.escape(sentence)}$"):
        from_onnx(old([node], shapes))
