"""Layers with factors and offsets behind them give the same numbers once these are folded in."""

import numpy as np
import onnx
import pytest

from tests.support.relay.float_models import float_model, node
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.prepare import prepared

RNG = np.random.default_rng(3)


def numbers(*shape: int) -> np.ndarray:
    return RNG.uniform(0.5, 2, shape).astype(np.float32)


def results(model: onnx.ModelProto, image: np.ndarray, name: str) -> np.ndarray:
    return Runner(model, [name], onnxruntime=False)({"image": image})[name]


LAYERS = {
    "Conv": (node("Conv", ["image", "w", "b"], "y", pads=[1] * 4), {"w": numbers(4, 3, 3, 3), "b": numbers(4)}),
    "grouped Conv": (node("Conv", ["image", "w"], "y", group=3), {"w": numbers(6, 1, 3, 3)}),
    "ConvTranspose": (node("ConvTranspose", ["image", "w"], "y", strides=[2, 2]), {"w": numbers(3, 4, 2, 2)}),
    "grouped ConvTranspose": (node("ConvTranspose", ["image", "w"], "y", group=3), {"w": numbers(3, 2, 2, 2)}),
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("kind", ["BatchNormalization", "Add", "Sub", "Mul", "Div", "left Mul"])
def test_what_follows_a_layer_is_folded_into_it(layer: str, kind: str) -> None:
    made, weights = LAYERS[layer]
    channels = {"Conv": 4, "grouped Conv": 6, "ConvTranspose": 4, "grouped ConvTranspose": 6}[layer]
    if kind == "BatchNormalization":
        names = ["gamma", "beta", "mean", "variance"]
        weights = {**weights, **{name: numbers(channels) for name in names}}
        following = node(kind, ["y", *names], "z", epsilon=0.01)
    else:
        weights = {**weights, "c": numbers(channels, 1, 1)}
        following = node(kind.split()[-1], ["c", "y"] if kind.startswith("left") else ["y", "c"], "z")
    model = float_model([made, following], weights, outputs=["z"], image=(2, 3, 6, 6))
    graph = prepared(model)
    assert [each.op_type for each in graph.nodes] == [made.op_type]
    image = RNG.standard_normal((2, 3, 6, 6)).astype(np.float32)
    np.testing.assert_allclose(results(graph.to_model(), image, "z"), results(model, image, "z"), rtol=1e-4, atol=1e-5)


def test_a_published_batch_norm_has_the_factor_and_offset_that_it_stands_for() -> None:
    weights = {"w": np.ones((1, 3, 1, 1), np.float32)}
    weights |= {n: np.array([v], np.float32) for n, v in (("g", 0.5), ("b", 0), ("m", 1), ("v", 4))}
    nodes = [node("Conv", ["image", "w"], "y"), node("BatchNormalization", ["y", "g", "b", "m", "v"], "z", epsilon=0.0)]
    graph = prepared(float_model([*nodes, node("Relu", ["z"], "out")], weights, outputs=["out"]))
    conv, relu = graph.nodes
    assert relu.op_type == "Relu"
    assert graph.constants[conv.input[1]].reshape(-1).tolist() == [0.25] * 3
    assert graph.constants[conv.input[2]].tolist() == [-0.25]


def test_what_is_read_twice_or_goes_along_rows_stays() -> None:
    weights = {"w": numbers(8, 3, 3, 3), "rows": numbers(6, 1), "c": numbers(8, 1, 1)}
    conv = node("Conv", ["image", "w"], "y")
    along_rows = float_model([conv, node("Mul", ["y", "rows"], "z")], weights, outputs=["z"])
    assert [each.op_type for each in prepared(along_rows).nodes] == ["Conv", "Mul"]
    twice = float_model([conv, node("Mul", ["y", "c"], "z"), node("Add", ["z", "y"], "s")], weights, outputs=["s"])
    assert [each.op_type for each in prepared(twice).nodes] == ["Conv", "Mul", "Add"]
    other_way = float_model([conv, node("Sub", ["c", "y"], "z")], weights, outputs=["z"])
    assert [each.op_type for each in prepared(other_way).nodes] == ["Conv", "Sub"]


def test_a_product_of_two_dimensions_becomes_a_layer_with_a_bias() -> None:
    weights = {"w": numbers(3 * 64, 4), "b": numbers(4)}
    nodes = [node("Flatten", ["image"], "f"), node("MatMul", ["f", "w"], "y"), node("Add", ["y", "b"], "z")]
    model = float_model(nodes, weights, outputs=["z"], image=(2, 3, 8, 8))
    graph = prepared(model)
    assert [each.op_type for each in graph.nodes] == ["Flatten", "Gemm"]
    image = RNG.standard_normal((2, 3, 8, 8)).astype(np.float32)
    np.testing.assert_allclose(results(graph.to_model(), image, "z"), results(model, image, "z"), rtol=1e-5)
