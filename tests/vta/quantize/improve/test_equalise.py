"""Weights that move between layers leave the network's function as it is, and ranges come together."""

import numpy as np

from tests.support.relay.float_models import float_model, node
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.graph import Graph
from vta.quantize.improve.equalise import equalised

RNG = np.random.default_rng(6)


def test_the_function_stays_and_ranges_come_together() -> None:
    spread = np.geomspace(0.01, 10, 8).reshape(8, 1, 1, 1)
    weights = {
        "w": (RNG.standard_normal((8, 3, 1, 1)) * spread).astype(np.float32), "b": np.ones(8, np.float32),
        "d": RNG.standard_normal((8, 1, 3, 3)).astype(np.float32),
        "v": RNG.standard_normal((4, 8, 1, 1)).astype(np.float32),
    }  # fmt: skip
    nodes = [
        node("Conv", ["image", "w", "b"], "first"), node("Relu", ["first"], "relu"),
        node("Conv", ["relu", "d"], "depthwise", group=8), node("Conv", ["depthwise", "v"], "out"),
    ]  # fmt: skip
    model = float_model(nodes, weights, outputs=["out"])
    graph = Graph(model)
    other = equalised(graph)
    assert other is not None
    image = RNG.standard_normal((2, 3, 8, 8)).astype(np.float32)
    before, after = (Runner(m, ["out"], onnxruntime=False)({"image": image})["out"] for m in (model, other.to_model()))
    np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-4)

    def ranges(g: Graph, at: int) -> np.ndarray:
        return np.abs(g.constants[g.nodes[at].input[1]]).reshape(8, -1).max(1)

    assert ranges(graph, 0).max() / ranges(graph, 0).min() > 100
    assert ranges(other, 0).max() / ranges(other, 0).min() < 30
    np.testing.assert_array_equal(graph.constants["w"], weights["w"])  # the graph itself is as it was


def test_a_limit_that_is_no_relu_or_a_second_reader_keeps_layers_apart() -> None:
    weights = {
        "w": np.ones((3, 3, 1, 1), np.float32), "v": np.ones((3, 3, 1, 1), np.float32),
        "low": np.array(0, np.float32), "high": np.array(6, np.float32),
    }  # fmt: skip
    first, second = node("Conv", ["image", "w"], "first"), node("Conv", ["between", "v"], "second")
    clipped = [first, node("Clip", ["first", "low", "high"], "between"), second]
    assert equalised(Graph(float_model(clipped, weights, outputs=["second"]))) is None
    twice = [first, node("Relu", ["first"], "between"), second, node("Add", ["second", "between"], "out")]
    assert equalised(Graph(float_model(twice, weights, outputs=["out"]))) is None
