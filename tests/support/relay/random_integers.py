"""Random quantised networks: branches, residuals, joins, unequal scales, odd shapes; each from its seed alone.

    network = random_network(7)
    run(network.function, network.inputs(seed))

Every value is 8-bit integers with a scale and a zero point. ``KINDS`` has what a network may consist of: a test of an
engine that lacks some names the others.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from vta.relay.integer.build import (
    Quantised,
    Target,
    add,
    add_sums,
    average_pool,
    concatenate,
    hard_sigmoid,
    hard_swish,
    leaky_relu,
    lookup,
    multiply,
    prelu,
    rescale,
)
from vta.relay.ir.names import Op
from vta.relay.ir.nodes import Constant, Expr, Function, Tuple, Var, constant, tensor_type
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import users
from vta.relay.ir.types import TensorType
from vta.relay.ops.call import call
from vta.relay.ops.padding import PadAttrs, PadMode
from vta.relay.ops.pooling import AvgPool2dAttrs, Pool2dAttrs
from vta.relay.ops.qnn.products import QnnConv2dAttrs, QnnConv2dTransposeAttrs, QnnDenseAttrs
from vta.relay.ops.resize import UpsamplingAttrs
from vta.relay.ops.selection import StridedSliceAttrs

Ints = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class RandomNetwork:
    """A network and its seed; ``str(network.function)`` shows it."""

    function: Function
    seed: int

    def inputs(self, seed: int = 0) -> list[Ints]:
        """Return random inputs, extremes among them."""
        rng = np.random.default_rng([self.seed, seed])
        return [_drawn(rng, param.type) for param in self.function.params]


def _drawn(rng: np.random.Generator, kind: object) -> Ints:
    assert isinstance(kind, TensorType)
    limits = np.iinfo(kind.dtype)
    numbers = rng.integers(limits.min, limits.max + 1, kind.shape).astype(kind.dtype)
    extremes = rng.random(kind.shape) < 0.1
    return np.where(extremes, rng.choice([limits.min, limits.max, 0, 1], kind.shape), numbers).astype(kind.dtype)


@dataclass(slots=True)
class Maker:
    """Makes nodes: the random numbers, what values there are, how many nodes were made."""

    rng: np.random.Generator
    dtype: str
    params: list[Var] = field(default_factory=list)
    values: list[Quantised] = field(default_factory=list)
    count: int = 0

    def origin(self, operator: str) -> tuple[Origin, ...]:
        """Return a name for the next node."""
        self.count += 1
        return (Origin(f"{operator.lower()}_{self.count}", operator),)

    def integer(self, low: int, high: int) -> int:
        """Return a number from ``low`` to ``high``."""
        return int(self.rng.integers(low, high + 1))

    def one(self, *choices: object) -> object:
        """Return one of ``choices``."""
        return choices[self.integer(0, len(choices) - 1)]

    def flag(self) -> bool:
        """Return a truth."""
        return bool(self.integer(0, 1))

    def scale(self) -> float:
        """Return a scale; every fourth is a power of two."""
        exponent = self.rng.uniform(-7, -3)
        return float(np.float32(2.0 ** (round(exponent) if self.integer(0, 3) == 0 else exponent)))

    def zero_point(self) -> int:
        """Return a zero point: none, at the end of the range, or anywhere."""
        limits = np.iinfo(self.dtype)
        return int(self.one(0, int(limits.min), self.integer(int(limits.min), int(limits.max))))

    def target(self) -> Target:
        """Return a random scale for a result; sometimes with a ReLU."""
        zero, limits = self.zero_point(), np.iinfo(self.dtype)
        low = zero if self.integer(0, 2) == 0 else None
        high = self.integer(zero, int(limits.max)) if self.integer(0, 4) == 0 else None
        return Target(self.scale(), zero, self.dtype, low, high)

    def image(self) -> Quantised:
        """Return one of the images that there are, rather one of the last."""
        images = [value for value in self.values if tensor_type(value.value).rank == 4]
        return images[-1 - int(min(self.rng.geometric(0.5) - 1, len(images) - 1))]

    def add(self, value: Expr, target: Target) -> None:
        """Note a result."""
        self.values.append(Quantised(value, target.scale, target.zero_point))

    def like(self, value: Quantised) -> Quantised | None:
        """Return another image of the shape of ``value``, if there is one."""
        shape = tensor_type(value.value).shape
        others = [v for v in self.values if v is not value and tensor_type(v.value).shape == shape]
        return others[self.integer(0, len(others) - 1)] if others else None


def _shape(value: Quantised) -> tuple[int, ...]:
    return tensor_type(value.value).shape


def _weight(maker: Maker, shape: tuple[int, ...]) -> Constant:
    return Constant(maker.rng.integers(-128, 128, shape).astype(np.int8), f"weight_{maker.count}")


def _with_bias(maker: Maker, sums: Expr, channels: int, rank: int) -> Expr:
    if maker.flag():
        return sums
    bias = maker.rng.integers(-(2**13), 2**13, (channels, *(1,) * (rank - 2)))
    return call(Op.ADD, [sums, constant(bias, "int32")], origins=maker.origin("Add"))


def _rescaled(maker: Maker, sums: Expr, summands: int, channels: int, rank: int) -> None:
    """Bring sums of products to 8 bits; the weights' scales are such that results use their range."""
    target = maker.target()
    wanted = target.scale * 2.0 ** maker.rng.uniform(-9, -6) / np.sqrt(summands)
    scales = np.float32(wanted * 2.0 ** maker.rng.uniform(-2, 2, (channels, *(1,) * (rank - 2))))
    chosen = scales if maker.flag() else np.float32(wanted)
    maker.add(rescale(sums, chosen, target, origins=maker.origin("QuantizeLinear")), target)


def make_conv(maker: Maker) -> None:
    """A convolution: dense, in groups, or depthwise; odd kernels, strides, dilation and pads."""
    data = maker.image()
    _, channels, height, width = _shape(data)
    groups = int(maker.one(1, 1, channels, *[g for g in (2, 3) if channels % g == 0]))
    out = groups * maker.integer(1, max(1, 12 // groups))
    kernel = (maker.integer(1, 3), maker.integer(1, 3))
    dilation = (maker.integer(1, 2), maker.integer(1, 2))
    pads = tuple(maker.integer(0, 2) for _ in range(4))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    if reach[0] > height + pads[0] + pads[2] or reach[1] > width + pads[1] + pads[3]:
        kernel = (1, 1)
    attrs = QnnConv2dAttrs(
        (maker.integer(1, 2), maker.integer(1, 2)), pads, dilation, groups, input_zero_point=data.zero_point
    )
    weight = _weight(maker, (out, channels // groups, *kernel))
    sums: Expr = call(Op.QNN_CONV2D, [data.value, weight], attrs, maker.origin("Conv"))
    other = maker.like(Quantised(sums, 1.0))
    sums = _with_bias(maker, sums, out, 4)
    summands = channels // groups * kernel[0] * kernel[1]
    if other is not None and maker.flag():
        target = maker.target()
        scale = target.scale * 2.0 ** maker.rng.uniform(-9, -6) / np.sqrt(summands)
        maker.add(add_sums(sums, scale, other, target, origins=maker.origin("Add")), target)
    else:
        _rescaled(maker, sums, summands, out, 4)


def make_conv_transpose(maker: Maker) -> None:
    """A transposed convolution."""
    data = maker.image()
    _, channels, height, width = _shape(data)
    if max(height, width) > 12:
        return
    kernel, strides = (maker.integer(1, 3), maker.integer(1, 3)), (maker.integer(1, 2), maker.integer(1, 2))
    extra = tuple(maker.integer(0, stride - 1) for stride in strides)
    pads = tuple(maker.integer(0, min(1, (k - 1) // 2)) for k in kernel) * 2
    attrs = QnnConv2dTransposeAttrs(strides, pads, extra, input_zero_point=data.zero_point)
    weight = _weight(maker, (channels, maker.integer(1, 6), *kernel))
    sums = call(Op.QNN_CONV2D_TRANSPOSE, [data.value, weight], attrs, maker.origin("ConvTranspose"))
    out = weight.type.shape[1]
    _rescaled(maker, _with_bias(maker, sums, out, 4), channels * kernel[0] * kernel[1], out, 4)


def make_add(maker: Maker) -> None:
    """A sum or difference of two values of scales of their own, or of one with itself."""
    lhs = maker.image()
    rhs, target = maker.like(lhs) or lhs, maker.target()
    origins = maker.origin("Add")
    maker.add(add(lhs, rhs, target, is_minus=maker.integer(0, 3) == 0, origins=origins), target)


def make_multiply(maker: Maker) -> None:
    """A product of two values."""
    lhs = maker.image()
    rhs, target = maker.like(lhs) or lhs, maker.target()
    maker.add(multiply(lhs, rhs, target, origins=maker.origin("Mul")), target)


def make_concatenate(maker: Maker) -> None:
    """Two or three values joined along their channels, each with a scale of its own."""
    first, target = maker.image(), maker.target()
    parts = [first]
    for value in reversed(maker.values):
        shape = _shape(value)
        if len(parts) < 3 and len(shape) == 4 and (shape[0], *shape[2:]) == (_shape(first)[0], *_shape(first)[2:]):
            parts.append(value)
    maker.add(concatenate(parts, target, 1, origins=maker.origin("Concat")), target)


def _pool(maker: Maker, data: Quantised) -> dict[str, object]:
    _, _, height, width = _shape(data)
    size = (maker.integer(1, min(3, height)), maker.integer(1, min(3, width)))
    pads = tuple(maker.integer(0, size[axis % 2] - 1) for axis in range(4))
    strides = (maker.integer(1, 2), maker.integer(1, 2))
    return {"pool_size": size, "strides": strides, "padding": pads, "ceil_mode": maker.flag()}


def make_max_pool(maker: Maker) -> None:
    """A max pool."""
    data = maker.image()
    value = call(Op.MAX_POOL2D, [data.value], Pool2dAttrs(**_pool(maker, data)), maker.origin("MaxPool"))
    maker.values.append(Quantised(value, data.scale, data.zero_point))


def make_average_pool(maker: Maker) -> None:
    """An average pool, or a global one."""
    data, target = maker.image(), maker.target()
    if maker.flag():
        attrs = AvgPool2dAttrs(**_pool(maker, data), count_include_pad=maker.flag())
    else:
        attrs = AvgPool2dAttrs(_shape(data)[2:])
    maker.add(average_pool(data, attrs, target, origins=maker.origin("AveragePool")), target)


def make_activation(maker: Maker) -> None:
    """A function of one value."""
    data, target = maker.image(), maker.target()
    origins = maker.origin("Activation")
    channels = _shape(data)[1]
    slopes = maker.rng.uniform(-0.5, 1.5, (channels, 1, 1))
    made = maker.one(
        lambda: leaky_relu(data, 0.1, target, origins=origins),
        lambda: prelu(data, slopes, target, origins=origins),
        lambda: hard_sigmoid(data, target, origins=origins),
        lambda: hard_swish(data, target, origins=origins),
    )
    assert callable(made)
    maker.add(made(), target)


def make_lookup(maker: Maker) -> None:
    """A function by its table."""
    data, target = maker.image(), Target(maker.scale(), maker.zero_point(), maker.dtype)
    maker.add(lookup(np.tanh, data, target, origins=maker.origin("Tanh")), target)


def make_movement(maker: Maker) -> None:
    """Pads, larger images, parts of images: the same numbers elsewhere."""
    data = maker.image()
    _, channels, height, width = _shape(data)
    pads = ((0, 0), (0, 0), (maker.integer(0, 2), maker.integer(0, 1)), (maker.integer(0, 1), maker.integer(0, 2)))
    kind = maker.integer(0, 3)
    attrs: PadAttrs | UpsamplingAttrs | StridedSliceAttrs
    if kind == 0:
        attrs, op, name = PadAttrs(pads, data.zero_point), Op.PAD, "Pad"
    elif kind == 1 and min(height, width) > 2:
        attrs, op, name = PadAttrs(pads, 0, PadMode.REFLECT), Op.PAD, "Pad"
    elif kind == 2 and max(height, width) < 10:
        attrs, op, name = UpsamplingAttrs(maker.integer(1, 2), maker.integer(1, 2)), Op.UPSAMPLING, "Resize"
    else:
        begin = (maker.integer(0, channels - 1), maker.integer(0, (height - 1) // 2))
        attrs = StridedSliceAttrs(begin, (channels, height), (1, maker.integer(1, 2)), (1, 2))
        op, name = Op.STRIDED_SLICE, "Slice"
    maker.values.append(Quantised(call(op, [data.value], attrs, maker.origin(name)), data.scale, data.zero_point))


def make_dense(maker: Maker) -> None:
    """A dense layer on a flattened image."""
    data = maker.image()
    flat = call(Op.BATCH_FLATTEN, [data.value], origins=maker.origin("Flatten"))
    features, units = tensor_type(flat).shape[1], maker.integer(1, 20)
    attrs = QnnDenseAttrs(data.zero_point)
    sums = call(Op.QNN_DENSE, [flat, _weight(maker, (units, features))], attrs, maker.origin("Gemm"))
    _rescaled(maker, _with_bias(maker, sums, units, 2), features, units, 2)


KINDS: Mapping[str, Callable[[Maker], None]] = {
    "conv": make_conv,
    "conv_transpose": make_conv_transpose,
    "add": make_add,
    "multiply": make_multiply,
    "concatenate": make_concatenate,
    "max_pool": make_max_pool,
    "average_pool": make_average_pool,
    "activation": make_activation,
    "lookup": make_lookup,
    "movement": make_movement,
    "dense": make_dense,
}
"""What a network may consist of."""

_WEIGHTS = {"conv": 4, "add": 2, "concatenate": 2}


def random_network(
    seed: int, *, nodes: int = 8, kinds: Collection[str] = tuple(KINDS), dtypes: Collection[str] = ("int8", "uint8")
) -> RandomNetwork:
    """Return a network of about ``nodes`` layers; its results are all values that nothing else reads."""
    rng = np.random.default_rng(seed)
    maker = Maker(rng, str(rng.choice(sorted(dtypes))))
    shape = (maker.integer(1, 2), maker.integer(1, 9), maker.integer(3, 11), maker.integer(3, 11))
    for index in range(maker.integer(1, 2)):
        var = Var(f"input_{index}", TensorType(shape, maker.dtype))
        maker.params.append(var)
        maker.values.append(Quantised(var, maker.scale(), maker.zero_point()))
    chances = np.array([_WEIGHTS.get(kind, 1) for kind in sorted(kinds)], np.float64)
    for _ in range(nodes):
        KINDS[str(rng.choice(sorted(kinds), p=chances / chances.sum()))](maker)
    everything = [value.value for value in maker.values]
    read = users(everything)
    results = [value for value in dict.fromkeys(everything) if not read[value] and value not in maker.params]
    body = results[0] if len(results) == 1 else Tuple(tuple(results))
    used = [param for param in maker.params if read[param]]
    return RandomNetwork(Function(tuple(used), body), seed)
