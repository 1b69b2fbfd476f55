"""Random quantised networks: branches, residuals, joins, unequal scales, odd shapes; each from its seed alone.

    network = random_network(7)
    run(network.function, network.inputs())      # integers, what engines must equal bit for bit
    run(network.model, network.inputs())         # the same as exporters write it: quantise and dequantise around floats

Every value is 8-bit integers with a scale and a zero point. ``KINDS`` has what a network may consist of: a test of an
engine that lacks some names the others.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.convolution import Conv2dAttrs, Conv2dTransposeAttrs
from runtime.executor.operators.elementwise import ClipAttrs, HardSigmoidAttrs, SlopeAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.normalise import BatchNormAttrs
from runtime.executor.operators.padding import PadAttrs, PadMode
from runtime.executor.operators.pooling import AvgPool2dAttrs, Pool2dAttrs
from runtime.executor.operators.qnn.quantize import DequantizeAttrs, QuantizeAttrs
from runtime.executor.operators.resize import UpsamplingAttrs
from runtime.executor.operators.selection import ConcatenateAttrs, StridedSliceAttrs
from runtime.executor.operators.types import TensorType
from vta.relay.integer import integer_network
from vta.relay.ir.nodes import Constant, Expr, Function, Tuple, Var, constant, tensor_type
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import users
from vta.relay.ops.call import call

Ints = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class RandomNetwork:
    """A network of integers, the model that it was made of, and its seed; ``str(network.function)`` shows it."""

    function: Function
    model: Function
    seed: int

    def inputs(self, seed: int = 0) -> list[Ints]:
        """Return random inputs, extremes among them."""
        rng = np.random.default_rng([self.seed, seed])
        return [_drawn(rng, tensor_type(param)) for param in self.function.params]


def _drawn(rng: np.random.Generator, kind: TensorType) -> Ints:
    limits = np.iinfo(kind.dtype)
    numbers = rng.integers(limits.min, limits.max + 1, kind.shape).astype(kind.dtype)
    extremes = rng.random(kind.shape) < 0.1
    return np.where(extremes, rng.choice([limits.min, limits.max, 0, 1], kind.shape), numbers).astype(kind.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """Integers that stand for ``(value - zero) * scale``."""

    value: Expr
    scale: float
    zero: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the integers."""
        return tensor_type(self.value).shape


@dataclass(slots=True)
class Maker:
    """Makes nodes: the random numbers, what values there are, how many nodes were made."""

    rng: np.random.Generator
    dtype: str
    values: list[Value] = field(default_factory=list)
    count: int = 0

    def integer(self, low: int, high: int) -> int:
        """Return a number from ``low`` to ``high``."""
        return int(self.rng.integers(low, high + 1))

    def flag(self, chances: int = 2) -> bool:
        """Return true once in ``chances`` times."""
        return self.integer(1, chances) == 1

    def scale(self) -> float:
        """Return a scale; every fourth is a power of two."""
        exponent = self.rng.uniform(-7, -3)
        return float(np.float32(2.0 ** (round(exponent) if self.flag(4) else exponent)))

    def zero(self) -> int:
        """Return a zero point: none, at the end of the range, or anywhere."""
        limits = np.iinfo(self.dtype)
        return int(self.rng.choice([0, int(limits.min), self.integer(int(limits.min), int(limits.max))]))

    def image(self) -> Value:
        """Return one of the images that there are, rather one of the last."""
        images = [value for value in self.values if len(value.shape) == 4]
        return images[-1 - int(min(self.rng.geometric(0.5) - 1, len(images) - 1))]

    def like(self, shape: tuple[int, ...], but: Value | None = None) -> Value | None:
        """Return a value of ``shape``, if there is another one than ``but``."""
        same = [value for value in self.values if value is not but and value.shape == shape]
        return same[self.integer(0, len(same) - 1)] if same else None

    # --- nodes -------------------------------------------------------------------------------------------------------

    def node(self, op: Op, args: list[Expr], attrs: Attrs | None = None) -> Expr:
        """Return a call with an origin of its own."""
        self.count += 1
        return call(op, args, attrs, (Origin(f"{op.value.rsplit('.')[-1]}_{self.count}", op.value),))

    def real(self, value: Value) -> Expr:
        """Return a value dequantised."""
        numbers = [constant(value.scale, "float32"), constant(value.zero, tensor_type(value.value).dtype)]
        return self.node(Op.DEQUANTIZE, [value.value, *numbers], DequantizeAttrs(0))

    def note(self, real: Expr, like: Value | None = None) -> None:
        """Quantise a result, at the scale of ``like`` or a new one, sometimes behind an activation, and note it."""
        scale, zero = (like.scale, like.zero) if like is not None else (self.scale(), self.zero())
        if like is None and self.flag(3):
            top = float(self.rng.uniform(0.5, 6))
            real = self.node(Op.RELU, [real]) if self.flag() else self.node(Op.CLIP, [real], ClipAttrs(0.0, top))
        numbers = [constant(scale, "float32"), constant(zero, self.dtype)]
        self.values.append(Value(self.node(Op.QUANTIZE, [real, *numbers], QuantizeAttrs(self.dtype, 0)), scale, zero))

    def weights(self, data: Value, shape: tuple[int, ...], axis: int) -> tuple[Expr, npt.NDArray[np.float32]]:
        """Return weights and their scales, one or one a channel; results of layers use the range of a new value."""
        wanted = 2.0 ** self.rng.uniform(-7, -4) / (64 * data.scale * np.sqrt(np.prod(shape) / shape[axis]))
        count = shape[axis] if self.flag() else 1
        scales = (wanted * 2.0 ** self.rng.uniform(-1, 1, count)).astype(np.float32)
        numbers = Constant(self.rng.integers(-128, 128, shape).astype(np.int8), f"weight_{self.count}")
        flat = scales if count > 1 else scales[0]
        zeros = np.zeros(np.shape(flat), np.int8)
        real = self.node(Op.DEQUANTIZE, [numbers, Constant(np.asarray(flat)), Constant(zeros)], DequantizeAttrs(axis))
        return real, scales

    def biased(self, sums: Expr, data: Value, scales: npt.NDArray[np.float32]) -> Expr:
        """Return a layer with a bias: integers at the scale of its sums, or real numbers, or none."""
        channels = tensor_type(sums).shape[1]
        wide = np.broadcast_to(scales * np.float32(data.scale), (channels,)).astype(np.float32)
        numbers = self.rng.integers(-(2**12), 2**12, channels).astype(np.int32)
        kind = self.integer(0, 2)
        if kind == 0:
            return sums
        if kind == 1:
            bias: Expr = Constant((numbers * wide).astype(np.float32))
        else:
            zeros = Constant(np.zeros(channels, np.int32))
            bias = self.node(Op.DEQUANTIZE, [Constant(numbers), Constant(wide), zeros], DequantizeAttrs(0))
        return self.node(Op.BIAS_ADD, [sums, bias], AxisAttrs(1))

    def normalised(self, sums: Expr) -> Expr:
        """Return a layer with a batch norm, once in three times."""
        channels = tensor_type(sums).shape[1]
        if not self.flag(3):
            return sums
        parts = [self.rng.uniform(low, high, channels) for low, high in ((0.5, 2), (-1, 1), (-0.5, 0.5), (0.25, 2))]
        constants: list[Expr] = [Constant(part.astype(np.float32)) for part in parts]
        return self.node(Op.BATCH_NORM, [sums, *constants], BatchNormAttrs(epsilon=0.001))


# --- kinds of layers -------------------------------------------------------------------------------------------------


def make_conv(maker: Maker) -> None:
    """A convolution: in groups or not, or depthwise; odd kernels, strides, dilation, pads; sometimes a residual."""
    data = maker.image()
    _, channels, height, width = data.shape
    groups = int(maker.rng.choice([1, 1, channels, *[g for g in (2, 3) if channels % g == 0]]))
    out = groups * maker.integer(1, max(1, 12 // groups))
    kernel = (maker.integer(1, 3), maker.integer(1, 3))
    dilation = (maker.integer(1, 2), maker.integer(1, 2))
    top, left, bottom, right = (maker.integer(0, 2) for _ in range(4))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    if reach[0] > height + top + bottom or reach[1] > width + left + right:
        kernel = (1, 1)
    strides = (maker.integer(1, 2), maker.integer(1, 2))
    attrs = Conv2dAttrs(strides, (top, left, bottom, right), dilation, groups)
    weight, scales = maker.weights(data, (out, channels // groups, *kernel), 0)
    real = maker.normalised(maker.biased(maker.node(Op.CONV2D, [maker.real(data), weight], attrs), data, scales))
    other = maker.like(tensor_type(real).shape)
    if other is not None and maker.flag():
        real = maker.node(Op.ADD, [real, maker.real(other)])
    maker.note(real)


def make_conv_transpose(maker: Maker) -> None:
    """A transposed convolution."""
    data = maker.image()
    _, channels, height, width = data.shape
    if max(height, width) > 12:
        return
    kernel, strides = (maker.integer(1, 3), maker.integer(1, 3)), (maker.integer(1, 2), maker.integer(1, 2))
    extra = (maker.integer(0, strides[0] - 1), maker.integer(0, strides[1] - 1))
    rows, columns = (maker.integer(0, min(1, (k - 1) // 2)) for k in kernel)
    attrs = Conv2dTransposeAttrs(strides, (rows, columns, rows, columns), extra)
    weight, scales = maker.weights(data, (channels, maker.integer(1, 6), *kernel), 1)
    maker.note(maker.biased(maker.node(Op.CONV2D_TRANSPOSE, [maker.real(data), weight], attrs), data, scales))


def make_dense(maker: Maker) -> None:
    """A dense layer on a flattened image."""
    data = maker.image()
    flat = maker.node(Op.BATCH_FLATTEN, [maker.real(data)])
    weight, scales = maker.weights(data, (maker.integer(1, 20), tensor_type(flat).shape[1]), 0)
    maker.note(maker.biased(maker.node(Op.DENSE, [flat, weight]), data, scales))


def make_add(maker: Maker) -> None:
    """A sum of two values of scales of their own, or of one with itself."""
    lhs = maker.image()
    rhs = maker.like(lhs.shape, lhs) or lhs
    maker.note(maker.node(Op.ADD, [maker.real(lhs), maker.real(rhs)]))


def make_multiply(maker: Maker) -> None:
    """A product of two values."""
    lhs = maker.image()
    rhs = maker.like(lhs.shape, lhs) or lhs
    maker.note(maker.node(Op.MULTIPLY, [maker.real(lhs), maker.real(rhs)]))


def make_concatenate(maker: Maker) -> None:
    """Up to three values joined along their channels, each with a scale of its own."""
    first = maker.image()
    parts = [first]
    for value in reversed(maker.values):
        shape = value.shape
        if len(parts) < 3 and len(shape) == 4 and (shape[0], shape[2:]) == (first.shape[0], first.shape[2:]):
            parts.append(value)
    maker.note(maker.node(Op.CONCATENATE, [maker.real(part) for part in parts], ConcatenateAttrs(1)))


def _window(maker: Maker, data: Value) -> dict[str, tuple[int, ...]]:
    _, _, height, width = data.shape
    size = (maker.integer(1, min(3, height)), maker.integer(1, min(3, width)))
    pads = tuple(maker.integer(0, size[axis % 2] - 1) for axis in range(4))
    return {"pool_size": size, "strides": (maker.integer(1, 2), maker.integer(1, 2)), "padding": pads}


def make_max_pool(maker: Maker) -> None:
    """A max pool, at one scale."""
    data = maker.image()
    attrs = Pool2dAttrs(**_window(maker, data), ceil_mode=maker.flag())  # type: ignore[arg-type]
    maker.note(maker.node(Op.MAX_POOL2D, [maker.real(data)], attrs), data)


def make_average_pool(maker: Maker) -> None:
    """An average pool, or a global one."""
    data = maker.image()
    if maker.flag():
        maker.note(maker.node(Op.GLOBAL_AVG_POOL2D, [maker.real(data)]))
        return
    include, ceil = maker.flag(), maker.flag()
    attrs = AvgPool2dAttrs(**_window(maker, data), ceil_mode=ceil, count_include_pad=include)  # type: ignore[arg-type]
    maker.note(maker.node(Op.AVG_POOL2D, [maker.real(data)], attrs))


def make_activation(maker: Maker) -> None:
    """A function of one value."""
    data = maker.image()
    real = maker.real(data)
    slopes = Constant(maker.rng.uniform(-0.5, 1.5, data.shape[1]).astype(np.float32))
    choices: tuple[Callable[[], Expr], ...] = (
        lambda: maker.node(Op.LEAKY_RELU, [real], SlopeAttrs(0.1)),
        lambda: maker.node(Op.PRELU, [real, slopes], AxisAttrs(1)),
        lambda: maker.node(Op.HARD_SIGMOID, [real], HardSigmoidAttrs()),
        lambda: maker.node(Op.HARD_SWISH, [real]),
        lambda: maker.node(Op.TANH, [real]),
        lambda: maker.node(Op.MULTIPLY, [real, maker.node(Op.SIGMOID, [maker.real(data)])]),
    )
    maker.note(choices[maker.integer(0, len(choices) - 1)]())


def make_movement(maker: Maker) -> None:
    """Pads, larger images, parts of images: the same numbers elsewhere."""
    data = maker.image()
    _, channels, height, width = data.shape
    pads = ((0, 0), (0, 0), (maker.integer(0, 2), maker.integer(0, 1)), (maker.integer(0, 1), maker.integer(0, 2)))
    kind = maker.integer(0, 3)
    if kind == 0:
        op, attrs = Op.PAD, PadAttrs(pads)
    elif kind == 1 and min(height, width) > 2:
        op, attrs = Op.PAD, PadAttrs(pads, 0, PadMode.REFLECT)
    elif kind == 2 and max(height, width) < 10:
        op, attrs = Op.UPSAMPLING, UpsamplingAttrs(maker.integer(1, 2), maker.integer(1, 2))
    else:
        begin = (maker.integer(0, channels - 1), maker.integer(0, (height - 1) // 2))
        op, attrs = Op.STRIDED_SLICE, StridedSliceAttrs(begin, (channels, height), (1, maker.integer(1, 2)), (1, 2))
    maker.note(maker.node(op, [maker.real(data)], attrs), data)


KINDS: Mapping[str, Callable[[Maker], None]] = {
    "activation": make_activation,
    "add": make_add,
    "average_pool": make_average_pool,
    "concatenate": make_concatenate,
    "conv": make_conv,
    "conv_transpose": make_conv_transpose,
    "dense": make_dense,
    "max_pool": make_max_pool,
    "movement": make_movement,
    "multiply": make_multiply,
}
"""What a network may consist of."""

_WEIGHTS = {"conv": 4, "add": 2, "concatenate": 2}
"""How often a kind comes, where it is not once."""


def random_network(
    seed: int, *, nodes: int = 8, kinds: Collection[str] = tuple(KINDS), dtypes: Collection[str] = ("int8", "uint8")
) -> RandomNetwork:
    """Return a network of about ``nodes`` layers; its results are all values that nothing else reads."""
    rng = np.random.default_rng(seed)
    maker = Maker(rng, str(rng.choice(sorted(dtypes))))
    shape = (maker.integer(1, 2), maker.integer(1, 9), maker.integer(3, 11), maker.integer(3, 11))
    params = [Var(f"input_{index}", TensorType(shape, maker.dtype)) for index in range(maker.integer(1, 2))]
    maker.values.extend(Value(param, maker.scale(), maker.zero()) for param in params)
    chances = np.array([_WEIGHTS.get(kind, 1) for kind in sorted(kinds)], np.float64)
    for _ in range(nodes):
        KINDS[str(rng.choice(sorted(kinds), p=chances / chances.sum()))](maker)
    everything = [value.value for value in maker.values]
    read = users(everything)
    results = [value for value in everything if not read[value] and value not in params] or [params[0]]
    body = results[0] if len(results) == 1 else Tuple(tuple(results))
    model = Function(tuple(param for param in params if read[param] or param is body), body)
    return RandomNetwork(integer_network(model), model, seed)
