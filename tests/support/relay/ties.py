"""Quantised operators whose scales are powers of two, with data that brings every tie."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import onnx

from tests.support.relay.onnx_models import model_of
from tests.support.relay.quantised_models import Quantised

__all__ = ["TIED", "Tied", "tied"]

Reals = npt.NDArray[np.float32]
Tied = Callable[["Scales", str, str], str]
"""From a graph under construction and its two real inputs, all pairs of cells, to its last real tensor."""

_SHAPE = (1, 16, 64, 64)
"""All pairs of int8 numbers: 16 channels of 64 x 64."""


class Scales(Quantised):
    """A quantised graph whose scales are drawn powers of two, and whose zero points are drawn as well."""

    def power(self, low: int, high: int) -> float:
        return float(2.0 ** self.rng.integers(low, high + 1))

    def zero(self) -> int:
        return int(self.rng.choice([0, 0, -128, self.rng.integers(-128, 128)]))

    def again(self, real: str) -> str:
        """Return a real tensor quantised and made real again."""
        return self.both(real, self.power(-4, -2), self.zero())

    def whole_weight(self, shape: tuple[int, ...], source: float) -> tuple[str, str]:
        """Return weights and a bias of whole sums for data at scale ``source``; each channel has its scale."""
        scales = (2.0 ** self.rng.integers(-7, -4, shape[0])).astype(np.float32)
        zeros = self.constant(np.zeros(shape[0]), "int8")
        cells = self.constant(self.rng.integers(-127, 128, shape), "int8")
        weight = self.op("DequantizeLinear", [cells, self.constant(scales, "float32"), zeros], axis=0)
        return weight, self.bias(scales * np.float32(source), shape[0])


def one_tensor(q: Scales, a: str, _: str) -> str:
    return q.op("Relu", [a]) if q.rng.random() < 0.5 else q.op("Identity", [a])


def added(q: Scales, a: str, b: str) -> str:
    return q.op("Add", [a, b])


def added_and_limited(q: Scales, a: str, b: str) -> str:
    return q.op("Relu", [q.op("Add", [b, a])])


def multiplied(q: Scales, a: str, b: str) -> str:
    return q.op("Mul", [a, b])


def multiplied_and_added(q: Scales, a: str, b: str) -> str:
    return q.op("Add", [q.op("Mul", [a, b]), a])


def joined(q: Scales, a: str, b: str) -> str:
    return q.op("Concat", [a, b], axis=1)


def average(q: Scales, a: str, _: str) -> str:
    return q.op("AveragePool", [a], kernel_shape=[4, 2], strides=[2, 2])


def average_of_all(q: Scales, a: str, b: str) -> str:
    small = q.op("Reshape", [q.again(q.op("Mul", [a, b])), q.constant([1, 4096, 4, 4], "int64")])
    return q.op("GlobalAveragePool", [small])


def convolution(q: Scales, a: str, _: str) -> str:
    return q.op("Conv", [q.both(a, 2.0**-4), *q.whole_weight((24, 16, 1, 1), 2.0**-4)], strides=[2, 3])


def convolution_with_residual(q: Scales, a: str, b: str) -> str:
    made = q.op("Conv", [q.both(a, 2.0**-4), *q.whole_weight((16, 1, 3, 3), 2.0**-4)], group=16, pads=[1] * 4)
    return q.op("Relu", [q.op("Add", [made, b])])


def product_with_weights(q: Scales, a: str, _: str) -> str:
    rows = q.op("Reshape", [q.both(a, 2.0**-4), q.constant([256, 256], "int64")])
    return q.op("Gemm", [rows, *q.whole_weight((20, 256), 2.0**-4)], transB=1)


def hard_swish(q: Scales, a: str, _: str) -> str:
    return q.op("HardSwish", [a])


def hard_swish_of_its_parts(q: Scales, a: str, _: str) -> str:
    limits = q.constant(0, "float32"), q.constant(6, "float32")
    gate = q.op("Clip", [q.op("Add", [a, q.constant(3, "float32")]), *limits])
    return q.op("Div", [q.op("Mul", [a, gate]), q.constant(6, "float32")])


def hard_sigmoid(q: Scales, a: str, _: str) -> str:
    return q.op("HardSigmoid", [a], alpha=0.125, beta=0.5)


def leaky_relu(q: Scales, a: str, _: str) -> str:
    return q.op("LeakyRelu", [a], alpha=0.25)


def prelu(q: Scales, a: str, _: str) -> str:
    slopes = q.constant((2.0 ** q.rng.integers(-3, 1, 16)).reshape(-1, 1, 1), "float32")
    return q.op("PRelu", [a, slopes])


def leaky_relu_of_sums(q: Scales, a: str, b: str) -> str:
    return q.op("LeakyRelu", [convolution(q, a, b)], alpha=0.5)


def resized(q: Scales, a: str, _: str) -> str:
    scales = q.constant([1, 1, 2, 2], "float32")
    return q.op("Resize", [a, "", scales], mode="linear", coordinate_transformation_mode="half_pixel")


TIED: tuple[Tied, ...] = (
    one_tensor, added, added_and_limited, multiplied, multiplied_and_added, joined, average, average_of_all,
    convolution, convolution_with_residual, product_with_weights, hard_swish, hard_swish_of_its_parts, hard_sigmoid,
    leaky_relu, prelu, leaky_relu_of_sums, resized,
)  # fmt: skip


def tied(pattern: Tied, seed: int, *, at_zero: bool = False) -> tuple[onnx.ModelProto, Mapping[str, Reals]]:
    """Return a pattern's model, and its inputs: all pairs of cells; with ``at_zero``, their zero points are 0."""
    q = Scales(seed)
    scales, zeros = [q.power(-5, -3) for _ in "ab"], [0 if at_zero else q.zero() for _ in "ab"]
    reals = [q.both(name, scale, zero) for name, scale, zero in zip("ab", scales, zeros, strict=True)]
    last = pattern(q, *reals)
    q.quantize(last, q.power(-3, 0), q.zero())
    cells = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
    inputs = {
        name: ((numbers - zero) * scale).astype(np.float32).reshape(_SHAPE)
        for name, numbers, scale, zero in zip("ab", cells, scales, zeros, strict=True)
    }
    used = {name for node in q.nodes for name in node.input}
    model = model_of(q.nodes, {name: ("float32", _SHAPE) for name in "ab" if name in used}, weights=q.weights)
    return model, {name: inputs[name] for name in "ab" if name in used}
