"""What depends on constants alone is computed once; what is random or given is not."""

import numpy as np

from tests.support.relay.float_models import float_model, node
from vta.quantize.graph import Graph
from vta.quantize.prepare.fold_constants import fold_constants


def test_arithmetic_on_constants_is_done_once() -> None:
    weights = {"a": np.arange(6, dtype=np.float32), "shape": np.array([3, 2], np.int64), "two": np.array(2, np.float32)}
    nodes = [
        node("Reshape", ["a", "shape"], "b"), node("Mul", ["b", "two"], "c"), node("Transpose", ["c"], "d"),
        node("MatMul", ["image", "d"], "y"),
    ]  # fmt: skip
    graph = Graph(float_model(nodes, weights, outputs=["y"], image=(4, 2)))
    fold_constants(graph)
    assert [each.op_type for each in graph.nodes] == ["MatMul"]
    np.testing.assert_array_equal(graph.constants["d"], np.arange(6).reshape(3, 2).T * 2)


def test_an_output_keeps_its_node_and_random_numbers_are_not_drawn() -> None:
    nodes = [node("Neg", ["a"], "y"), node("RandomNormalLike", ["a"], "r"), node("Add", ["image", "r"], "z")]
    graph = Graph(float_model(nodes, {"a": np.ones(2, np.float32)}, outputs=["y", "z"], image=(4, 2)))
    fold_constants(graph)
    assert [each.op_type for each in graph.nodes] == ["Neg", "RandomNormalLike", "Add"]
