"""Small float ONNX models for tests of quantisation, with weights from a seed. Used by tests/vta/quantize."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["float_model", "node", "small_network"]


def float_model(
    nodes: Sequence[onnx.NodeProto],
    weights: Mapping[str, np.ndarray],
    *,
    image: Sequence[int | str] = ("n", 3, 8, 8),
    outputs: Sequence[str],
    opset: int = 13,
    inputs: Sequence[str] = ("image",),
) -> onnx.ModelProto:
    """Return a model of nodes and weights; every input has the shape ``image``."""
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(image)) for name in inputs]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    constants = [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()]
    graph = helper.make_graph(list(nodes), "small", given, results, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)  # the shapes of the outputs


def node(kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> onnx.NodeProto:
    """Return a node that is called after what it makes."""
    return helper.make_node(kind, list(inputs), [output], name=output, **attributes)


def small_network(seed: int = 0) -> onnx.ModelProto:
    """Return convolution, batch norm, relu6, a residual, pooling, average and a dense layer: image to logits (n, 5)."""
    rng = np.random.default_rng(seed)

    def weight(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)

    weights: dict[str, np.ndarray] = {
        "w1": weight(8, 3, 3, 3), "w2": weight(8, 1, 3, 3), "w3": weight(8, 8, 1, 1), "b3": weight(8, 1)[:, 0],
        "wd": weight(5, 8), "bd": weight(5, 1)[:, 0],
        "gamma": rng.uniform(0.5, 2, 8).astype(np.float32), "beta": rng.standard_normal(8).astype(np.float32),
        "mean": rng.standard_normal(8).astype(np.float32), "variance": rng.uniform(0.5, 2, 8).astype(np.float32),
        "low": np.array(0, np.float32), "high": np.array(6, np.float32),
    }  # fmt: skip
    nodes = [
        node("Conv", ["image", "w1"], "conv1", pads=[1] * 4),
        node("BatchNormalization", ["conv1", "gamma", "beta", "mean", "variance"], "norm"),
        node("Clip", ["norm", "low", "high"], "relu6"),
        node("Conv", ["relu6", "w2"], "depthwise", pads=[1] * 4, group=8),
        node("Relu", ["depthwise"], "relu"),
        node("Conv", ["relu", "w3", "b3"], "project"),
        node("Add", ["project", "relu6"], "sum"),
        node("Relu", ["sum"], "relu3"),
        node("MaxPool", ["relu3"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", ["pool"], "average"),
        node("Flatten", ["average"], "features"),
        node("Gemm", ["features", "wd", "bd"], "logits", transB=1),
    ]
    return float_model(nodes, weights, outputs=["logits"])
