"""Models as exporters write them become graphs of layers; what is quantised already is refused."""

import numpy as np
import pytest

from tests.support.relay.float_models import float_model, node, small_network
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.errors import QuantizeError
from vta.quantize.prepare import prepared


@pytest.mark.parametrize("opset", [7, 11, 13, 18])
def test_models_of_every_version_keep_their_meaning(opset: int) -> None:
    weights = {"w": np.ones((2, 3, 1, 1), np.float32)}
    nodes = [node("Conv", ["image", "w"], "y"), node("Identity", ["y"], "same"), node("Relu", ["same"], "z")]
    model = float_model(nodes, weights, outputs=["z"], opset=opset, image=(1, 3, 2, 2))
    graph = prepared(model)
    assert [each.op_type for each in graph.nodes] == ["Conv", "Relu"]
    image = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2) - 5
    found = Runner(graph.to_model(), ["z"], onnxruntime=False)({"image": image})["z"]
    np.testing.assert_array_equal(found, np.maximum(image.sum(1, keepdims=True).repeat(2, 1), 0))


def test_a_clip_of_an_old_version_keeps_its_limits() -> None:
    weights = {"w": np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1)}
    nodes = [node("Conv", ["image", "w"], "y"), node("Clip", ["y"], "z", min=0.0, max=6.0)]
    graph = prepared(float_model(nodes, weights, outputs=["z"], opset=6 + 1, image=(1, 3, 1, 2)))
    image = np.array([-3, -1, 0, 5, 7, 9], np.float32).reshape(1, 3, 1, 2)
    found = Runner(graph.to_model(), ["z"], onnxruntime=False)({"image": image})["z"]
    assert found.reshape(-1).tolist() == [0, 0, 0, 5, 6, 6]


def test_a_model_that_is_quantised_already_is_refused() -> None:
    weights = {"s": np.array(0.1, np.float32), "z": np.array(0, np.int8)}
    model = float_model([node("QuantizeLinear", ["image", "s", "z"], "q")], weights, outputs=["q"])
    with pytest.raises(QuantizeError) as caught:
        prepared(model)
    assert str(caught.value) == "node 'q' (QuantizeLinear): the model is quantised already; give the float model"


def test_batch_norms_leave_no_trace_in_a_network() -> None:
    kinds = [each.op_type for each in prepared(small_network()).nodes]
    assert kinds.count("Conv") == 3
    assert "BatchNormalization" not in kinds
