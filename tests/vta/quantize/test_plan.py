"""Which tensors become int8: where kernels end, and nowhere within them."""

import numpy as np
import onnx

from tests.support.relay.float_models import float_model, node, small_network
from vta.quantize.graph import Graph
from vta.quantize.plan import plan
from vta.quantize.prepare import prepared

W = {"w": np.ones((3, 3, 1, 1), np.float32), "v": np.ones((3, 3, 1, 1), np.float32)}


def points(
    nodes: list[onnx.NodeProto], weights: dict[str, np.ndarray] | None = None, outputs: tuple[str, ...] = ("out",)
) -> dict[str, str]:
    """Return the points and their roots."""
    graph = Graph(float_model(nodes, {**W, **(weights or {})}, outputs=outputs))
    return {name: point.root for name, point in plan(graph).points.items()}


def test_a_layer_ends_behind_its_activation_and_its_residual() -> None:
    found = plan(prepared(small_network()))
    assert list(found.points) == ["image", "relu6", "relu", "relu3", "pool", "average", "features", "logits"]
    assert found.points["relu3"].made_by == ("project", "sum", "relu3")
    assert found.points["pool"].root == "relu3"
    assert found.points["features"].root == "average"
    assert [each.output[0] for each in found.layers] == ["norm", "depthwise", "project", "logits"]


def test_of_two_layers_that_are_added_the_later_one_adds() -> None:
    nodes = [node("Conv", ["image", "w"], "a"), node("Conv", ["image", "v"], "b"), node("Add", ["b", "a"], "out")]
    assert list(points(nodes)) == ["image", "a", "out"]


def test_limited_sums_are_rounded_before_they_are_added() -> None:
    nodes = [node("Conv", ["image", "w"], "a"), node("Relu", ["a"], "r"), node("Add", ["r", "image"], "out")]
    assert list(points(nodes)) == ["image", "r", "out"]


def test_functions_of_one_tensor_are_points_at_their_ends() -> None:
    constants = {name: np.array(value, np.float32) for name, value in (("three", 3), ("six", 6), ("zero", 0))}
    nodes = [
        node("Conv", ["image", "w"], "x"), node("Add", ["x", "three"], "a"), node("Clip", ["a", "zero", "six"], "b"),
        node("Mul", ["x", "b"], "c"), node("Div", ["c", "six"], "swish"), node("Conv", ["swish", "v"], "out"),
    ]  # fmt: skip
    assert list(points(nodes, constants)) == ["image", "x", "swish", "out"]


def test_parts_of_a_concatenation_are_rounded_at_its_scale() -> None:
    nodes = [node("Conv", ["image", "w"], "a"), node("Concat", ["a", "image"], "cat", axis=1)]
    wide = {"wide": np.ones((2, 6, 1, 1), np.float32)}
    assert list(points([*nodes, node("Conv", ["cat", "wide"], "out")], wide)) == ["image", "cat", "out"]


def test_float_operators_stay_float_and_layers_in_front_of_them_end_in_int8() -> None:
    nodes = [node("Conv", ["image", "w"], "a"), node("Softmax", ["a"], "out", axis=1)]
    assert list(points(nodes)) == ["image", "a"]
    before = [node("Mul", ["image", "half"], "scaled"), node("Conv", ["scaled", "w"], "out")]
    assert list(points(before, {"half": np.array(0.5, np.float32)})) == ["scaled", "out"]


def test_nodes_that_are_kept_have_no_int8_weights() -> None:
    graph = prepared(small_network())
    found = plan(graph, keep=("depthwise", "relu"))
    assert "depthwise" not in [each.output[0] for each in found.layers]
    assert "relu" in found.points  # the next layer reads it
    assert found.points["relu"].made_by == ("relu",)


def test_a_factor_for_each_channel_from_the_network_itself_is_a_product_of_int8() -> None:
    nodes = [
        node("Conv", ["image", "w"], "x"), node("GlobalAveragePool", ["x"], "g"), node("Conv", ["g", "v"], "h"),
        node("Sigmoid", ["h"], "s"), node("Mul", ["x", "s"], "out"),
    ]  # fmt: skip
    assert list(points(nodes)) == ["image", "x", "g", "h", "s", "out"]
