"""How examples/networks/fashion_mnist.int8.onnx was made: trained in numpy, exported, quantised by onnxruntime's tool.

    python examples/networks/train_fashion_mnist.py --data /usr/share/dataset-fashion-mnist

``--data`` is the folder of Fashion-MNIST's four files (Debian's package ``dataset-fashion-mnist``, Expat licence).
Training takes about ten minutes of one core. A network of residual blocks in the manner of ResNet-8: 77,000 parameters,
2.6 million multiply-accumulates for a picture of 28x28. Beside the network it writes the first 1,000 of the official
test pictures with their labels, so that ``make run`` needs no download.
"""

import argparse
import gzip
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

FOLDER = Path(__file__).resolve().parent
CLASSES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")

Array = npt.NDArray[np.float32]


def read_idx(path: Path) -> npt.NDArray[np.uint8]:
    """Return the array in a gzipped IDX file of bytes."""
    data = gzip.decompress(path.read_bytes())
    rank = data[3]
    shape = np.frombuffer(data, ">u4", count=rank, offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def normalised(pictures: npt.NDArray[np.uint8]) -> Array:
    """Return pictures (n, 28, 28) of bytes as the network's input (n, 1, 28, 28), zero mean and unit deviation."""
    return ((pictures[:, None].astype(np.float32) / 255) - 0.286) / 0.353  # type: ignore[return-value]  # stays float32


@dataclass
class Norm:
    """Batch normalisation of the last axis; ``forward`` in training keeps what ``backward`` needs."""

    scale: Array
    shift: Array
    mean: Array
    variance: Array
    grads: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def make(cls, channels: int, gain: float) -> "Norm":
        ones, zeros = np.ones(channels, np.float32), np.zeros(channels, np.float32)
        return cls(ones * np.float32(gain), zeros.copy(), zeros.copy(), ones.copy())

    def forward(self, x: Array, *, training: bool) -> Array:
        flat = x.reshape(-1, x.shape[-1])
        if training:
            mean, variance = flat.mean(0), flat.var(0)
            self.mean += 0.05 * (mean - self.mean)
            self.variance += 0.05 * (variance - self.variance)
        else:
            mean, variance = self.mean, self.variance
        self.inverse = 1 / np.sqrt(variance + 1e-5)
        self.normal = (flat - mean) * self.inverse
        return (self.normal * self.scale + self.shift).reshape(x.shape)

    def backward(self, grad: Array) -> Array:
        flat = grad.reshape(-1, grad.shape[-1])
        self.grads = {"scale": (flat * self.normal).sum(0), "shift": flat.sum(0)}
        n = len(flat)
        inner = flat - self.grads["shift"] / n - self.normal * (self.grads["scale"] / n)
        return (inner * (self.scale * self.inverse)).reshape(grad.shape)


@dataclass
class Conv:
    """A convolution (weights out, in, k, k) with bias, on NHWC arrays; ``forward`` keeps what ``backward`` needs."""

    weight: Array
    bias: Array
    stride: int
    norm: Norm | None
    grads: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def make(
        cls, rng: np.random.Generator, shape: tuple[int, int, int], *, stride: int = 1, gain: float | None = 1.0
    ) -> "Conv":
        """Return a convolution (out, in, k); ``gain`` is its normalisation's first scale, None for none."""
        out, inp, k = shape
        weight = rng.standard_normal((out, inp, k, k)) * np.sqrt(2 / (inp * k * k))
        norm = None if gain is None else Norm.make(out, gain)
        return cls(weight.astype(np.float32), np.zeros(out, np.float32), stride, norm)

    @property
    def pad(self) -> int:
        return self.weight.shape[2] // 2

    def folded(self) -> tuple[Array, Array]:
        """Return weights and bias with the normalisation in them."""
        if self.norm is None:
            return self.weight, self.bias
        factor = self.norm.scale / np.sqrt(self.norm.variance + 1e-5)
        bias = (self.bias - self.norm.mean) * factor + self.norm.shift
        return self.weight * factor[:, None, None, None], bias

    def forward(self, x: Array, *, training: bool = False) -> Array:
        k, s, p = self.weight.shape[2], self.stride, self.pad
        self.shape = x.shape
        padded = np.pad(x, ((0, 0), (p, p), (p, p), (0, 0)))
        windows = sliding_window_view(padded, (k, k), axis=(1, 2))[:, ::s, ::s]  # n h w c k k
        self.columns = np.ascontiguousarray(windows).reshape(-1, x.shape[3] * k * k)
        out = self.columns @ self.weight.reshape(len(self.weight), -1).T + self.bias
        out = out.reshape(*windows.shape[:3], -1)
        return out if self.norm is None else self.norm.forward(out, training=training)

    def backward(self, grad: Array) -> Array:
        if self.norm is not None:
            grad = self.norm.backward(grad)
        n, height, width, channels = self.shape
        k, s, p = self.weight.shape[2], self.stride, self.pad
        flat = grad.reshape(-1, grad.shape[3])
        self.grads = {
            "weight": (flat.T @ self.columns).reshape(self.weight.shape),
            "bias": flat.sum(0),
        }
        columns = (flat @ self.weight.reshape(len(self.weight), -1)).reshape(*grad.shape[:3], channels, k, k)
        padded = np.zeros((n, height + 2 * p, width + 2 * p, channels), np.float32)
        rows, cols = grad.shape[1] * s, grad.shape[2] * s
        for i in range(k):
            for j in range(k):
                padded[:, i : i + rows : s, j : j + cols : s][:, : grad.shape[1], : grad.shape[2]] += columns[..., i, j]
        return padded[:, p : p + height, p : p + width]


@dataclass
class Block:
    """relu(conv(relu(conv(x))) + shortcut(x)); the shortcut is a 1x1 convolution where sizes change."""

    first: Conv
    second: Conv
    shortcut: Conv | None

    def forward(self, x: Array, *, training: bool) -> Array:
        self.hidden = np.maximum(self.first.forward(x, training=training), 0)
        beside = x if self.shortcut is None else self.shortcut.forward(x, training=training)
        self.out = np.maximum(self.second.forward(self.hidden, training=training) + beside, 0)
        return self.out

    def backward(self, grad: Array) -> Array:
        grad = grad * (self.out > 0)
        through = self.first.backward(self.second.backward(grad) * (self.hidden > 0))
        return through + (grad if self.shortcut is None else self.shortcut.backward(grad))

    @property
    def convs(self) -> list[Conv]:
        return [self.first, self.second, *([self.shortcut] if self.shortcut else [])]


class Network:
    """Stem, pooling, three blocks, average, classes."""

    def __init__(self, rng: np.random.Generator) -> None:
        def block(inp: int, out: int, stride: int) -> Block:
            shortcut = Conv.make(rng, (out, inp, 1), stride=stride) if stride > 1 else None
            first = Conv.make(rng, (out, inp, 3), stride=stride)
            return Block(first, Conv.make(rng, (out, out, 3), gain=0.5), shortcut)

        self.stem = Conv.make(rng, (16, 1, 3))
        self.blocks = [block(16, 16, 1), block(16, 32, 2), block(32, 64, 2)]
        self.dense = Conv.make(rng, (10, 64, 1), gain=None)

    @property
    def layers(self) -> list[Conv | Norm]:
        convs = [self.stem, *(conv for block in self.blocks for conv in block.convs), self.dense]
        return [layer for conv in convs for layer in (conv, conv.norm) if layer is not None]

    def forward(self, x: Array, *, training: bool = False) -> Array:
        """Return the logits (n, 10) of pictures (n, 1, 28, 28)."""
        stem = np.maximum(self.stem.forward(np.moveaxis(x, 1, 3), training=training), 0)
        quads = stem.reshape(len(x), 14, 2, 14, 2, 16).transpose(0, 1, 3, 5, 2, 4).reshape(len(x), 14, 14, 16, 4)
        self.stem_out, self.best = stem, quads.argmax(-1)
        out = quads.max(-1)
        for block in self.blocks:
            out = block.forward(out, training=training)
        self.last = out
        return self.dense.forward(out.mean((1, 2), keepdims=True))[:, 0, 0]

    def backward(self, grad: Array) -> None:
        mean = self.dense.backward(grad[:, None, None])
        cells = self.last.shape[1] * self.last.shape[2]
        through = np.broadcast_to(mean / cells, self.last.shape)
        for block in reversed(self.blocks):
            through = block.backward(np.ascontiguousarray(through))
        quads = np.zeros((*through.shape, 4), np.float32)
        np.put_along_axis(quads, self.best[..., None], through[..., None], -1)
        n = len(through)
        stem = quads.reshape(n, 14, 14, 16, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(n, 28, 28, 16)
        self.stem.backward(stem * (self.stem_out > 0))


@dataclass
class Adam:
    """Adam with decoupled weight decay; one moment pair for each array."""

    decay: float = 2e-4
    step: int = 0
    moments: dict[tuple[int, str], tuple[Array, Array]] = field(default_factory=dict)

    def update(self, layers: list[Conv | Norm], rate: float) -> None:
        self.step += 1
        for index, layer in enumerate(layers):
            for name, grad in layer.grads.items():
                first, second = self.moments.get((index, name), (np.zeros_like(grad), np.zeros_like(grad)))
                first, second = 0.9 * first + 0.1 * grad, 0.999 * second + 0.001 * grad**2
                self.moments[index, name] = first, second
                value: Array = getattr(layer, name)
                unbiased = first / (1 - 0.9**self.step), second / (1 - 0.999**self.step)
                value -= rate * (unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8) + self.decay * value)


def batches(
    rng: np.random.Generator, x: Array, labels: npt.NDArray[np.uint8]
) -> Iterator[tuple[Array, npt.NDArray[np.uint8]]]:
    """Yield shuffled batches of 128, half of the pictures mirrored, each moved by up to a pixel."""
    order = rng.permutation(len(x))
    for start in range(0, len(x) - 127, 128):
        chosen = order[start : start + 128]
        batch = x[chosen].copy()
        mirrored = rng.random(128) < 0.5
        batch[mirrored] = batch[mirrored, :, :, ::-1]
        yield np.roll(batch, tuple(rng.integers(-1, 2, 2)), (2, 3)), labels[chosen]


def train(x: Array, labels: npt.NDArray[np.uint8], *, epochs: int, seed: int, report: Callable[[str], None]) -> Network:
    """Return the trained network."""
    rng = np.random.default_rng(seed)
    network, adam = Network(rng), Adam()
    steps = epochs * (len(x) // 128)
    for epoch in range(epochs):
        losses, hits = [], []
        for batch, answer in batches(rng, x, labels):
            logits = network.forward(batch, training=True)
            odds = np.exp(logits - logits.max(1, keepdims=True))
            odds /= odds.sum(1, keepdims=True)
            hits.append((odds.argmax(1) == answer).mean())
            losses.append(-np.log(odds[np.arange(128), answer] + 1e-9).mean())
            odds[np.arange(128), answer] -= 1
            network.backward(odds / 128)
            rate = 4e-3 * min(1.0, adam.step / 200) * 0.5 * (1 + np.cos(np.pi * adam.step / steps))
            adam.update(network.layers, float(rate))
        report(f"epoch {epoch + 1} of {epochs}: loss {np.mean(losses):.4f}, accuracy of a batch {np.mean(hits):.3f}")
    return network


def accuracy(network: Network, x: Array, labels: npt.NDArray[np.uint8]) -> float:
    """Return the share of pictures that get their label."""
    right = [network.forward(x[i : i + 500]).argmax(1) == labels[i : i + 500] for i in range(0, len(x), 500)]
    return float(np.concatenate(right).mean())


def to_onnx(network: Network) -> onnx.ModelProto:
    """Return the network as a float ONNX model with a free batch: ``image`` (n, 1, 28, 28) to ``logits`` (n, 10)."""
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []

    def conv(name: str, layer: Conv, source: str) -> str:
        for value, part in zip(layer.folded(), ("weight", "bias"), strict=True):
            weights.append(numpy_helper.from_array(value.astype(np.float32), f"{name}.{part}"))
        inputs = [source, f"{name}.weight", f"{name}.bias"]
        pads, strides = [layer.pad] * 4, [layer.stride] * 2
        nodes.append(helper.make_node("Conv", inputs, [name], name=name, pads=pads, strides=strides))
        return name

    def node(kind: str, inputs: list[str], name: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    out = node("Relu", [conv("stem", network.stem, "image")], "stem.relu")
    out = node("MaxPool", [out], "pool", kernel_shape=[2, 2], strides=[2, 2])
    for index, block in enumerate(network.blocks, 1):
        name = f"block{index}"
        hidden = node("Relu", [conv(f"{name}.conv1", block.first, out)], f"{name}.relu1")
        through = conv(f"{name}.conv2", block.second, hidden)
        beside = out if block.shortcut is None else conv(f"{name}.shortcut", block.shortcut, out)
        out = node("Relu", [node("Add", [through, beside], f"{name}.add")], f"{name}.relu2")
    out = node("ReduceMean", [out], "mean", axes=[2, 3], keepdims=1)
    weights.append(numpy_helper.from_array(np.array([0, -1], np.int64), "rows"))
    weights.append(numpy_helper.from_array(network.dense.weight.reshape(10, 64), "dense.weight"))
    weights.append(numpy_helper.from_array(network.dense.bias, "dense.bias"))
    nodes.append(helper.make_node("Reshape", [out, "rows"], ["features"], name="features"))
    nodes.append(
        helper.make_node("Gemm", ["features", "dense.weight", "dense.bias"], ["logits"], name="logits", transB=1)
    )
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 28, 28])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 10])
    graph = helper.make_graph(nodes, "fashion_mnist", [image], [logits], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


class Pictures(CalibrationDataReader):
    """Calibration data: batches of training pictures."""

    def __init__(self, x: Array) -> None:
        self.batches = iter([{"image": x[i : i + 100]} for i in range(0, len(x), 100)])

    def get_next(self) -> dict[str, Array] | None:
        return next(self.batches, None)


def quantise(model: onnx.ModelProto, x: Array, target: Path) -> None:
    """Write the model with int8 activations and per-channel int8 weights (QDQ, symmetric), calibrated on ``x``."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "float.onnx"
        onnx.save(model, source)
        quantize_static(
            source, target, Pictures(x), quant_format=QuantFormat.QDQ, activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8, per_channel=True,
            extra_options={"ActivationSymmetric": True, "WeightSymmetric": True},
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Train, export and quantise the Fashion-MNIST classifier.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the four IDX files")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--output", type=Path, default=FOLDER)
    options = parser.parse_args()
    images = {name: read_idx(options.data / f"{name}-images-idx3-ubyte.gz") for name in ("train", "t10k")}
    labels = {name: read_idx(options.data / f"{name}-labels-idx1-ubyte.gz") for name in ("train", "t10k")}
    x, test = normalised(images["train"]), normalised(images["t10k"])
    network = train(
        x, labels["train"], epochs=options.epochs, seed=options.seed, report=lambda line: print(line, flush=True)
    )
    print(f"float: {100 * accuracy(network, test, labels['t10k']):.2f} % of the 10,000 test pictures")
    model = to_onnx(network)
    onnx.save(model, options.output / "fashion_mnist.float.onnx")
    quantise(model, x[:1000], options.output / "fashion_mnist.int8.onnx")
    np.savez_compressed(
        options.output / "fashion_mnist_test_1000.npz",
        images=images["t10k"][:1000], labels=labels["t10k"][:1000],
    )  # fmt: skip


if __name__ == "__main__":
    main()
