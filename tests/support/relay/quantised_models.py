"""Small quantised ONNX models, as exporters write them, and what onnxruntime makes of them without optimisations."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from tests.support.relay.onnx_models import model_of, node

__all__ = ["Quantised", "expected", "small_model"]

Array = npt.NDArray[np.generic]


class Quantised:
    """Collects the nodes and weights of a quantised graph; methods return names of tensors."""

    def __init__(self, seed: int = 1) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, Array] = {}
        self._count = 0

    def name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def constant(self, value: object, dtype: str) -> str:
        name = self.name("c")
        self.weights[name] = np.asarray(value, dtype)
        return name

    def op(self, kind: str, inputs: Sequence[str], **attributes: object) -> str:
        name = self.name(kind.lower())
        self.nodes.append(node(kind, inputs, name, **attributes))
        return name

    def parts(self, kind: str, inputs: Sequence[str], count: int, **attributes: object) -> list[str]:
        """Append a node with several results."""
        names = [self.name(kind.lower()) for _ in range(count)]
        self.nodes.append(onnx.helper.make_node(kind, inputs, names, name=names[0], **attributes))
        return names

    def quantize(self, source: str, scale: float, zero: int = 0, dtype: str = "int8") -> str:
        pair = self.constant(scale, "float32"), self.constant(zero, dtype)
        return self.op("QuantizeLinear", [source, *pair])

    def dequantize(self, source: str, scale: float, zero: int = 0, dtype: str = "int8") -> str:
        pair = self.constant(scale, "float32"), self.constant(zero, dtype)
        return self.op("DequantizeLinear", [source, *pair])

    def both(self, source: str, scale: float, zero: int = 0, dtype: str = "int8") -> str:
        """Return ``source`` quantised and made real again."""
        return self.dequantize(self.quantize(source, scale, zero, dtype), scale, zero, dtype)

    def weight(self, shape: Sequence[int], *, per_channel: bool = True, clipped: bool = False) -> tuple[str, Array]:
        """Return the real weights of random int8 numbers, and their scales."""
        scales = self.rng.uniform(0.002, 0.02, shape[0] if per_channel else ()).astype(np.float32)
        numbers = self.constant(self.rng.integers(-127, 128, shape), "int8")
        if clipped:
            numbers = self.op("Clip", [numbers, self.constant(-127, "int8"), self.constant(127, "int8")])
        zeros = self.constant(np.zeros(scales.shape), "int8")
        real = self.op("DequantizeLinear", [numbers, self.constant(scales, "float32"), zeros], axis=0)
        return real, scales

    def bias(self, scales: Array, count: int) -> str:
        """Return the real bias of random int32 numbers of these scales."""
        numbers = self.constant(self.rng.integers(-3000, 3000, count), "int32")
        wide = np.broadcast_to(scales, (count,)) if np.ndim(scales) else scales
        zeros = self.constant(np.zeros(np.shape(wide)), "int32")
        return self.op("DequantizeLinear", [numbers, self.constant(wide, "float32"), zeros], axis=0)


def small_model(file: Path) -> Path:
    """Write a convolution of 4x4 points, quantised: a network that a board simulated in RTL has done in a moment."""
    q = Quantised(9)
    weights, scales = q.weight((4, 4, 3, 3))
    conv = q.op("Conv", [q.both("image", 0.05), weights, q.bias(scales * np.float32(0.05), 4)], pads=[1] * 4)
    q.op("Identity", [q.both(q.op("Relu", [conv]), 0.1)])
    model = model_of(q.nodes, {"image": ("float32", (1, 4, 4, 4))}, weights=q.weights)
    model.graph.node[-1].output[0] = model.graph.output[0].name = "features"
    onnx.save(model, file)
    return file


def expected(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """Return onnxruntime's outputs, computed node by node."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return [np.asarray(each) for each in session.run(None, dict(inputs))]
