"""A graph that is changed knows who reads what, gives fresh names, and becomes a model again."""

import numpy as np
import onnx

from tests.support.relay.float_models import float_model, node, small_network
from vta.quantize.graph import Graph, attribute, name_of, whole, wholes


def test_a_graph_becomes_the_same_model_again() -> None:
    model = small_network()
    again = Graph(model).to_model()
    assert [n.name for n in again.graph.node] == [n.name for n in model.graph.node]
    assert {t.name for t in again.graph.initializer} == {t.name for t in model.graph.initializer}
    onnx.checker.check_model(again)


def test_readers_of_a_tensor_twice_count_twice() -> None:
    graph = Graph(float_model([node("Add", ["image", "image"], "y")], {}, outputs=["y"]))
    assert len(graph.readers()["image"]) == 2
    assert graph.producers()["y"] is graph.nodes[0]


def test_names_are_fresh_and_copies_apart() -> None:
    graph = Graph(small_network())
    assert graph.fresh("conv1") == "conv1_1"
    assert graph.fresh("conv1") == "conv1_2"
    other = graph.copy()
    other.rename_reads("conv1", "image")
    assert graph.nodes[1].input[0] == "conv1"
    assert other.nodes[1].input[0] == "image"


def test_constant_nodes_are_constants_and_unread_ones_go() -> None:
    constant = onnx.helper.make_node("Constant", [], ["c"], value_float=2.0)
    graph = Graph(float_model([constant, node("Mul", ["image", "c"], "y")], {"unread": np.ones(3)}, outputs=["y"]))
    assert graph.constants["c"] == 2
    assert [t.name for t in graph.to_model().graph.initializer] == ["c"]


def test_attributes_have_defaults() -> None:
    conv = node("Conv", ["x", "w"], "y", group=2, pads=[1, 2, 3, 4])
    assert (whole(conv, "group", 1), wholes(conv, "pads", [0]), wholes(conv, "strides", [1, 1])) == (
        2, [1, 2, 3, 4], [1, 1],
    )  # fmt: skip
    assert attribute(conv, "auto_pad") is None
    assert name_of(onnx.helper.make_node("Relu", ["x"], ["y"])) == "y"
