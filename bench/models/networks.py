"""ResNet-18, ResNet-50 and EfficientNet-Lite0 in their published shapes, and a small pyramid, with seeded weights.

Tests: tests/integration/test_models.py.
"""

import math

import numpy as np
import onnx

from bench.models.builder import GraphBuilder

__all__ = ["NETWORKS", "efficientnet_lite0", "pyramid", "resnet18", "resnet50"]


def resnet18(*, size: int = 224, classes: int = 1000, seed: int = 18) -> onnx.ModelProto:
    """Return ResNet-18: a stem of 7x7/2, four stages of two basic blocks."""
    net = _stem(seed)
    out = net.node("MaxPool", ["stem.relu"], "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, width in enumerate((64, 128, 256, 512), 1):
        for block in range(2):
            stride = 2 if stage > 1 and block == 0 else 1
            out = _basic_block(net, out, f"layer{stage}.{block}", width, stride)
    return _classifier(net, out, "resnet18", size, classes)


def resnet50(*, size: int = 224, classes: int = 1000, seed: int = 50) -> onnx.ModelProto:
    """Return ResNet-50: bottlenecks of 1x1, 3x3 (which has the stride) and 1x1."""
    net = _stem(seed)
    out = net.node("MaxPool", ["stem.relu"], "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, (width, count) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 1):
        for block in range(count):
            stride = 2 if stage > 1 and block == 0 else 1
            out = _bottleneck(net, out, f"layer{stage}.{block}", width, stride)
    return _classifier(net, out, "resnet50", size, classes)


def efficientnet_lite0(*, size: int = 224, classes: int = 1000, seed: int = 0) -> onnx.ModelProto:
    """Return EfficientNet-Lite0: inverted bottlenecks with depthwise kernels of 3 and 5, relu6, no squeezing."""
    net = GraphBuilder(np.random.default_rng(seed))
    net.channels["image"] = 3
    out = net.clip(net.conv("image", "stem", 32, 3, stride=2), "stem.relu6", 0, 6)
    stages = (
        (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3),
    )  # fmt: skip
    for stage, (expand, width, count, first_stride, kernel) in enumerate(stages, 1):
        for block in range(count):
            stride = first_stride if block == 0 else 1
            name = f"block{stage}.{block}"
            out = _inverted_bottleneck(net, out, name, expand=expand, width=width, stride=stride, kernel=kernel)
    out = net.clip(net.conv(out, "head", 1280, 1), "head.relu6", 0, 6)
    return _classifier(net, out, "efficientnet_lite0", size, classes)


def pyramid(*, size: int = 224, classes: int = 1000, seed: int = 9) -> onnx.ModelProto:
    """Return a small feature pyramid: hard swishes, residual sums, nearest resizes, concatenations of odd widths.

    Its branches have ranges of their own, so sums and concatenations join different scales.
    """
    net = GraphBuilder(np.random.default_rng(seed), opset=14)
    net.channels["image"] = 3
    fine = _swished(net, "image", "stem", 24, stride=2)
    middle = _swished(net, fine, "down1", 40, stride=2)
    coarse = _swished(net, middle, "down2", 72, stride=2)
    coarse = net.node("Add", [coarse, net.conv(coarse, "residual", 72, 3, gain=0.3)], "sum")
    out = coarse
    for number, beside in enumerate((middle, fine)):
        larger = net.resized(out, f"up{number}", 2)
        joined = net.channels[larger] + net.channels[beside]
        both = net.node("Concat", [larger, beside], f"join{number}", joined, axis=1)
        out = _swished(net, both, f"merge{number}", 32)
    return _classifier(net, out, "pyramid", size, classes)


def _swished(net: GraphBuilder, source: str, name: str, width: int, *, stride: int = 1) -> str:
    return net.node("HardSwish", [net.conv(source, name, width, 3, stride=stride)], f"{name}.swish")


NETWORKS = {"pyramid": pyramid, "resnet18": resnet18, "resnet50": resnet50, "efficientnet-lite0": efficientnet_lite0}
"""Name on a command line -> what builds the model."""


def _stem(seed: int) -> GraphBuilder:
    net = GraphBuilder(np.random.default_rng(seed))
    net.channels["image"] = 3
    net.node("Relu", [net.conv("image", "stem", 64, 7, stride=2)], "stem.relu")
    return net


def _basic_block(net: GraphBuilder, source: str, name: str, width: int, stride: int) -> str:
    hidden = net.node("Relu", [net.conv(source, f"{name}.conv1", width, 3, stride=stride)], f"{name}.relu1")
    through = net.conv(hidden, f"{name}.conv2", width, 3, gain=0.5)
    beside = source
    if stride > 1 or net.channels[source] != width:
        beside = net.conv(source, f"{name}.downsample", width, 1, stride=stride, gain=math.sqrt(0.5))
    return net.node("Relu", [net.node("Add", [through, beside], f"{name}.add")], f"{name}.relu2")


def _bottleneck(net: GraphBuilder, source: str, name: str, width: int, stride: int) -> str:
    first = net.node("Relu", [net.conv(source, f"{name}.conv1", width, 1)], f"{name}.relu1")
    second = net.node("Relu", [net.conv(first, f"{name}.conv2", width, 3, stride=stride)], f"{name}.relu2")
    through = net.conv(second, f"{name}.conv3", 4 * width, 1, gain=0.5)
    beside = source
    if stride > 1 or net.channels[source] != 4 * width:
        beside = net.conv(source, f"{name}.downsample", 4 * width, 1, stride=stride, gain=math.sqrt(0.5))
    return net.node("Relu", [net.node("Add", [through, beside], f"{name}.add")], f"{name}.relu3")


def _inverted_bottleneck(
    net: GraphBuilder, source: str, name: str, *, expand: int, width: int, stride: int, kernel: int
) -> str:
    inp = net.channels[source]
    out = source
    if expand > 1:
        out = net.clip(net.conv(out, f"{name}.expand", inp * expand, 1), f"{name}.relu6a", 0, 6)
    depthwise = net.conv(out, f"{name}.depthwise", inp * expand, kernel, stride=stride, groups=inp * expand)
    out = net.clip(depthwise, f"{name}.relu6b", 0, 6)
    out = net.conv(out, f"{name}.project", width, 1, gain=0.7)
    if stride == 1 and inp == width:
        out = net.node("Add", [out, source], f"{name}.add")
    return out


def _classifier(net: GraphBuilder, source: str, name: str, size: int, classes: int) -> onnx.ModelProto:
    pooled = net.node("GlobalAveragePool", [source], "mean")
    flat = net.node("Flatten", [pooled], "features", axis=1)
    logits = net.dense(flat, "logits", classes)
    return net.model(name, image=(3, size, size), output=logits, classes=classes)
