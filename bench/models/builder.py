"""Building float ONNX graphs layer by layer, with weights from a seed that keep activations at unit scale.

Tests: tests/integration/test_models.py.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["GraphBuilder"]

Array = npt.NDArray[np.generic]


@dataclass(slots=True)
class GraphBuilder:
    """Nodes and weights of a graph under construction; methods take and return names of tensors.

    ``opset`` is ONNX's. Convolutions come with the bias that a folded batch normalisation leaves.
    """

    rng: np.random.Generator
    opset: int = 13
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)
    channels: dict[str, int] = field(default_factory=dict)

    def conv(
        self, source: str, name: str, out: int, kernel: int, *, stride: int = 1, groups: int = 1, gain: float = 1.0
    ) -> str:
        """Append a convolution with "same" pads for odd kernels."""
        inp = self.channels[source] // groups
        scale = gain * np.sqrt(2 / (inp * kernel * kernel))
        self._weight(f"{name}.weight", self.rng.standard_normal((out, inp, kernel, kernel)) * scale)
        self._weight(f"{name}.bias", self.rng.standard_normal(out) * 0.1)
        pads = [(kernel - 1) // 2] * 4
        inputs = [source, f"{name}.weight", f"{name}.bias"]
        return self.node("Conv", inputs, name, out, pads=pads, strides=[stride] * 2, group=groups)

    def dense(self, source: str, name: str, out: int) -> str:
        """Append a fully connected layer on (n, c)."""
        inp = self.channels[source]
        self._weight(f"{name}.weight", self.rng.standard_normal((out, inp)) * np.sqrt(1 / inp))
        self._weight(f"{name}.bias", self.rng.standard_normal(out) * 0.1)
        return self.node("Gemm", [source, f"{name}.weight", f"{name}.bias"], name, out, transB=1)

    def node(self, kind: str, inputs: list[str], name: str, channels: int | None = None, **attributes: Any) -> str:
        """Append any node; it has as many channels as its first input unless told otherwise."""
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        self.channels[name] = self.channels[inputs[0]] if channels is None else channels
        return name

    def clip(self, source: str, name: str, low: float, high: float) -> str:
        """Append a clip with constant bounds."""
        for value, part in ((low, "low"), (high, "high")):
            self._weight(f"{name}.{part}", np.array(value))
        return self.node("Clip", [source, f"{name}.low", f"{name}.high"], name)

    def resized(self, source: str, name: str, factor: int) -> str:
        """Append a nearest resize of rows and columns by a whole factor."""
        self._weight(f"{name}.scales", np.array([1, 1, factor, factor]))
        return self.node(
            "Resize", [source, "", f"{name}.scales"], name, mode="nearest",
            coordinate_transformation_mode="asymmetric", nearest_mode="floor",
        )  # fmt: skip

    def model(self, name: str, *, image: tuple[int, int, int], output: str, classes: int) -> onnx.ModelProto:
        """Return the model: ``image`` (n, c, h, w) to ``output`` (n, classes)."""
        given = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", *image])
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, ["n", classes])
        graph = helper.make_graph(self.nodes, name, [given], [result], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        onnx.checker.check_model(model)
        return model

    def _weight(self, name: str, value: Array | npt.NDArray[np.float64]) -> None:
        self.weights.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
