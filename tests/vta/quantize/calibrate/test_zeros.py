"""Which tensors may have a zero point: those that no layer with pads, and no product with a tensor, reads."""

from typing import Any

import numpy as np
import onnx
import pytest

from tests.support.relay.float_models import float_model, node, small_network
from vta.quantize.calibrate.zeros import at_no_cost
from vta.quantize.graph import Graph
from vta.quantize.plan import plan
from vta.quantize.prepare import prepared

WEIGHTS = {"w": np.ones((3, 3, 3, 3), np.float32), "v": np.ones((3, 3, 1, 1), np.float32)}


def free(nodes: list[onnx.NodeProto]) -> frozenset[str]:
    graph = Graph(float_model([node("Conv", ["image", "v"], "x"), *nodes], WEIGHTS, outputs=["out"]))
    return at_no_cost(graph, plan(graph))


@pytest.mark.parametrize(
    ("attributes", "is_free"),
    [({}, True), ({"pads": [0] * 4}, True), ({"pads": [0, 0, 1, 0]}, False), ({"auto_pad": "VALID"}, True),
     ({"auto_pad": "SAME_UPPER"}, False), ({"auto_pad": "SAME_LOWER"}, False)],
)  # fmt: skip
def test_a_convolution_is_slower_for_a_zero_point_if_it_pads(attributes: dict[str, Any], is_free: bool) -> None:
    assert ("x" in free([node("Conv", ["x", "w"], "out", **attributes)])) == is_free


def test_of_several_readers_each_decides_and_what_is_moved_counts_with_what_it_was() -> None:
    padded = node("Conv", ["turned", "w"], "b", pads=[1] * 4)
    readers = [node("Transpose", ["x"], "turned", perm=[0, 1, 3, 2]), node("Conv", ["x", "v"], "a")]
    both = [*readers, padded, node("Add", ["a", "b"], "out")]
    assert free(both) == {"image", "a", "out"}
    assert "x" in free([*readers, node("Add", ["turned", "a"], "out")])


def test_a_product_of_two_tensors_is_slower_and_one_with_a_constant_is_not() -> None:
    other = node("Conv", ["image", "v"], "y")
    assert free([other, node("Mul", ["x", "y"], "out")]) == {"image", "out"}
    assert "r" in free([node("Relu", ["x"], "r"), node("Mul", ["r", "v"], "out")])


def test_of_a_whole_network_those_in_front_of_pads_keep_zero_in_the_middle() -> None:
    graph = prepared(small_network())
    assert at_no_cost(graph, plan(graph)) == {"relu", "relu3", "average", "logits"}
