"""Random quantised networks as exporters write them.

They have branches, residuals, concatenations, resizes, pools, functions, unequal scales, odd sizes, several outputs.
"""

from dataclasses import dataclass

import numpy as np
import onnx

from tests.support.relay.onnx_models import model_of
from tests.support.relay.quantised_models import Quantised

__all__ = ["random_network"]


@dataclass(frozen=True, slots=True)
class _Real:
    """A tensor of real numbers that was quantised: its name, shape, scale and zero point."""

    name: str
    shape: tuple[int, int, int, int]
    scale: float
    zero: int


class _Builder:
    """Grows a network step by step; every step quantises what it makes."""

    def __init__(self, seed: int) -> None:
        self.q = Quantised(seed)
        self.rng = np.random.default_rng([seed, 1])
        self.there: list[_Real] = []

    def quantised(self, name: str, shape: tuple[int, int, int, int], reach: float) -> None:
        """Quantise a tensor whose numbers are mostly below ``reach``, with a scale and zero point of its own."""
        scale = float(np.float32(reach / 127 * self.rng.uniform(0.6, 1.4)))
        zero = int(self.rng.choice([0, 0, -128, self.rng.integers(-60, 60)]))
        self.there.append(_Real(self.q.both(name, scale, zero), shape, scale, zero))

    def any(self) -> _Real:
        """Return a tensor, mostly one of the latest."""
        latest = self.there[-3:]
        return latest[self.rng.integers(len(latest))]

    def conv(self) -> None:
        x = self.any()
        _, channels, height, width = x.shape
        groups = channels if self.rng.random() < 0.25 else 1
        outputs = channels if groups > 1 else int(self.rng.integers(1, 40))
        kernel = (int(self.rng.integers(1, min(4, height + 1))), int(self.rng.integers(1, min(4, width + 1))))
        stride = int(self.rng.integers(1, 3))
        pads = [int(self.rng.integers(0, size)) for size in kernel]
        weights, scales = self.q.weight((outputs, channels // groups, *kernel), per_channel=self.rng.random() < 0.7)
        bias = self.q.bias(scales * np.float32(x.scale), outputs)
        made = self.q.op("Conv", [x.name, weights, bias], pads=[*pads, *pads], strides=[stride, stride], group=groups)
        if self.rng.random() < 0.5:
            made = self.q.op("Relu", [made])
        rows, columns = (
            (extent + 2 * pad - size) // stride + 1
            for extent, pad, size in zip((height, width), pads, kernel, strict=True)
        )
        self.quantised(
            made, (1, outputs, rows, columns), x.scale * 127 * 0.01 * 40 * np.sqrt(channels * np.prod(kernel))
        )

    def add(self) -> None:
        x = self.any()
        same = [other for other in self.there if other.shape == x.shape]
        other = same[self.rng.integers(len(same))]
        made = self.q.op("Add", [x.name, other.name])
        if self.rng.random() < 0.5:
            made = self.q.op("Relu", [made])
        self.quantised(made, x.shape, 127 * (x.scale + other.scale))

    def concat(self) -> None:
        x = self.any()
        beside = [other for other in self.there if other.shape[2:] == x.shape[2:]]
        other = beside[self.rng.integers(len(beside))]
        shape = (1, x.shape[1] + other.shape[1], *x.shape[2:])
        self.quantised(self.q.op("Concat", [x.name, other.name], axis=1), shape, 127 * max(x.scale, other.scale))

    def pool(self) -> None:
        x = self.any()
        kind = "MaxPool" if self.rng.random() < 0.5 else "AveragePool"
        size = [int(self.rng.integers(1, min(extent, 3) + 1)) for extent in x.shape[2:]]
        stride = [int(self.rng.integers(1, 3)) for _ in size]
        pads = [int(self.rng.integers(0, extent)) for extent in (*size, *size)]
        more: dict[str, object] = {}
        if kind == "AveragePool":
            more["count_include_pad"] = int(self.rng.integers(0, 2))
        made = self.q.op(kind, [x.name], kernel_shape=size, strides=stride, pads=pads, ceil_mode=0, **more)
        rows, columns = (
            (extent + pads[axis] + pads[axis + 2] - size[axis]) // stride[axis] + 1
            for axis, extent in enumerate(x.shape[2:])
        )
        self.quantised(made, (*x.shape[:2], rows, columns), 127 * x.scale)

    def last_windows_that_are_not_whole(self) -> None:
        """A pool with ``ceil_mode``, without pads: where ONNX's shape rule and onnxruntime agree."""
        x = self.any()
        kind = "MaxPool" if self.rng.random() < 0.5 else "AveragePool"
        size = [int(self.rng.integers(1, min(extent, 3) + 1)) for extent in x.shape[2:]]
        made = self.q.op(kind, [x.name], kernel_shape=size, strides=size, ceil_mode=1)
        rows, columns = (-(-extent // side) for extent, side in zip(x.shape[2:], size, strict=True))
        self.quantised(made, (*x.shape[:2], rows, columns), 127 * x.scale)

    def resize(self) -> None:
        x = self.any()
        if max(x.shape[2:]) > 16:
            return
        factors = [int(self.rng.integers(1, 3)) for _ in range(2)]
        scales = self.q.constant([1, 1, *factors], "float32")
        rule = [("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")][self.rng.integers(2)]
        made = self.q.op(
            "Resize", [x.name, "", scales], mode="nearest", coordinate_transformation_mode=rule[0], nearest_mode=rule[1]
        )
        shape = (*x.shape[:2], *(extent * factor for extent, factor in zip(x.shape[2:], factors, strict=True)))
        if self.rng.random() < 0.5:  # as exporters do, at one scale
            self.there.append(_Real(self.q.both(made, x.scale, x.zero), shape, x.scale, x.zero))
        else:
            self.quantised(made, shape, 127 * x.scale)

    def activation(self) -> None:
        x = self.any()
        kind = str(self.rng.choice(["Sigmoid", "HardSwish", "HardSigmoid", "LeakyRelu", "PRelu", "Tanh", "Elu"]))
        inputs = [x.name]
        if kind == "PRelu":
            inputs.append(self.q.constant(self.rng.uniform(-0.3, 1.5, (x.shape[1], 1, 1)), "float32"))
        made = self.q.op(kind, inputs)
        self.quantised(made, x.shape, 1.0 if kind in ("Sigmoid", "Tanh", "HardSigmoid") else 127 * x.scale)

    def grow(self) -> None:
        """Append one random step."""
        steps = (
            self.conv, self.conv, self.conv, self.add, self.add, self.concat, self.concat, self.pool, self.activation,
            self.activation, self.resize, self.last_windows_that_are_not_whole,
        )  # fmt: skip
        steps[self.rng.integers(len(steps))]()

    def outputs(self) -> list[str]:
        """Return the quantised tensors that nothing reads, the last one among them."""
        read = {name for node in self.q.nodes for name in node.input}
        unread = [real.name for real in self.there if real.name not in read]
        made = {node.output[0]: node.input[0] for node in self.q.nodes if node.op_type == "DequantizeLinear"}
        return [made[name] for name in unread if name in made]


def random_network(seed: int, *, steps: int = 8) -> tuple[onnx.ModelProto, np.ndarray]:
    """Return a network of ``steps`` layers from a seed, and an input for it."""
    builder = _Builder(seed)
    channels, height, width = (int(builder.rng.integers(1, high)) for high in (21, 12, 12))
    shape = (1, channels, height, width)
    builder.quantised("x", shape, 3.0)
    for _ in range(steps):
        builder.grow()
    last = builder.there[-1]
    end = builder.q.quantize(builder.q.op("Relu", [last.name]), last.scale, last.zero)
    outputs = [end, *(name for name in builder.outputs() if name != end)]
    model = model_of(builder.q.nodes, {"x": ("float32", shape)}, weights=builder.q.weights, outputs=outputs)
    return model, builder.rng.standard_normal(shape).astype(np.float32)
