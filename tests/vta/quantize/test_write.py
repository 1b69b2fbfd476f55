"""The int8 model: standard ONNX that means what was decided."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.support.relay.float_models import float_model, node, small_network
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.decide import decided
from vta.quantize.encoding import Encoding
from vta.quantize.options import Options
from vta.quantize.plan import plan
from vta.quantize.prepare import prepared
from vta.quantize.write import written


def test_one_layer_computes_what_its_integers_say() -> None:
    rng = np.random.default_rng(1)
    weights = {
        "w": rng.standard_normal((4, 3, 1, 1)).astype(np.float32),
        "b": rng.standard_normal(4).astype(np.float32),
    }
    nodes = [node("Conv", ["image", "w", "b"], "y"), node("Relu", ["y"], "out")]
    graph = prepared(float_model(nodes, weights, outputs=["out"], image=(1, 3, 4, 4)))
    found = plan(graph)
    encodings = {"image": Encoding(0.02, 0), "out": Encoding(0.03, -128)}
    model = written(graph, found, decided(graph, found, encodings, Options()))
    onnx.checker.check_model(model, full_check=True)
    image = rng.standard_normal((1, 3, 4, 4)).astype(np.float32)
    cells = np.clip(np.rint(image / np.float32(0.02)), -128, 127)
    scales = np.abs(weights["w"]).max((1, 2, 3)) / 127
    sums = np.einsum("nchw,oc->nohw", cells, np.rint(weights["w"][..., 0, 0] / scales[:, None]))
    sums += np.rint(weights["b"] / (0.02 * scales)).reshape(1, 4, 1, 1)
    real = np.maximum(sums * (0.02 * scales).reshape(1, 4, 1, 1), 0)
    expected = np.clip(np.rint(real / 0.03), 0, 255) * 0.03
    for onnxruntime in (False, True):
        got = Runner(model, ["out"], exact=True, onnxruntime=onnxruntime)({"image": image})["out"]
        assert np.abs(got - expected).max() < 0.031
        assert (np.abs(got - expected) < 1e-5).mean() > 0.97


@pytest.mark.parametrize("per_channel", [True, False])
def test_scales_stand_along_the_axis_of_channels(per_channel: bool) -> None:
    graph = prepared(small_network())
    found = plan(graph)
    encodings = {name: Encoding(0.05, 0) for name in found.roots}
    model = written(graph, found, decided(graph, found, encodings, Options(per_channel=per_channel)))
    onnx.checker.check_model(model, full_check=True)
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for each in model.graph.node:
        if each.op_type == "DequantizeLinear" and each.input[0] in constants:
            cells, scale = constants[each.input[0]], constants[each.input[1]]
            axis = next((a.i for a in each.attribute if a.name == "axis"), None)
            assert (scale.shape == (cells.shape[axis],)) if axis is not None else scale.ndim == 0
            assert cells.dtype == (np.int32 if cells.ndim == 1 else np.int8)
    assert [v.name for v in model.graph.output] == ["logits"]


def test_one_layer_alone_can_be_written() -> None:
    graph = prepared(small_network())
    found = plan(graph)
    encodings = {name: Encoding(0.05, 0) for name in found.roots}
    model = written(graph, found, decided(graph, found, encodings, Options()), only={"relu", "depthwise"})
    assert sum(each.op_type == "QuantizeLinear" for each in model.graph.node) == 1
    assert sum(each.op_type == "DequantizeLinear" for each in model.graph.node) == 2
