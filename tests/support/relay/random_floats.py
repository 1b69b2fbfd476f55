"""Random graphs of floating point operators: shared nodes, tuples, lets, constants to fold, dead ends; from a seed.

Numbers stay small and nothing divides by what may be zero, so results before and after a pass may be compared.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.convolution import Conv2dAttrs, Conv2dTransposeAttrs
from runtime.executor.operators.elementwise import ClipAttrs, SlopeAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.normalise import BatchNormAttrs, SoftmaxAttrs
from runtime.executor.operators.pooling import AvgPool2dAttrs, Pool2dAttrs
from runtime.executor.operators.rearrange import ExpandDimsAttrs, ReshapeAttrs, TransposeAttrs
from runtime.executor.operators.reduction import ReduceAttrs
from runtime.executor.operators.selection import ConcatenateAttrs, SplitAttrs, StridedSliceAttrs
from runtime.executor.operators.types import TensorType
from vta.relay.ir.nodes import Constant, Expr, Function, Let, Tuple, TupleGetItem, Var, constant, tensor_type
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import free_vars
from vta.relay.ops.call import call

Array = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RandomGraph:
    """A function and its seed."""

    function: Function
    seed: int

    def inputs(self, seed: int = 0) -> list[Array]:
        """Return random inputs."""
        rng = np.random.default_rng([self.seed, seed])
        return [rng.uniform(-1, 1, tensor_type(param).shape).astype(np.float32) for param in self.function.params]


@dataclass(slots=True)
class _Maker:
    rng: np.random.Generator
    values: list[Expr] = field(default_factory=list)
    count: int = 0

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def numbers(self, *shape: int) -> Constant:
        self.count += 1
        return Constant(self.rng.uniform(-1, 1, shape).astype(np.float32), f"c{self.count}")

    def value(self) -> Expr:
        """Return one of the values, rather one of the last."""
        return self.values[-1 - int(min(self.rng.geometric(0.4) - 1, len(self.values) - 1))]

    def image(self) -> Expr:
        images = [each for each in self.values if tensor_type(each).rank == 4]
        return images[-1 - int(min(self.rng.geometric(0.4) - 1, len(images) - 1))]

    def like(self, value: Expr) -> Expr:
        """Return a value of the same shape, perhaps itself."""
        same = [each for each in self.values if tensor_type(each) == tensor_type(value)]
        return same[self.integer(0, len(same) - 1)]

    def origins(self) -> tuple[Origin, ...]:
        self.count += 1
        return (Origin(f"node {self.count}", "Node"),) if self.integer(0, 3) else ()


def _unary(maker: _Maker) -> Expr:
    op = (Op.RELU, Op.TANH, Op.SIGMOID, Op.COPY, Op.ABS, Op.DROPOUT)[maker.integer(0, 5)]
    return call(op, [maker.value()], origins=maker.origins())


def _limited(maker: _Maker) -> Expr:
    if maker.integer(0, 1):
        return call(Op.CLIP, [maker.value()], ClipAttrs(-0.5, maker.integer(0, 6)), maker.origins())
    return call(Op.LEAKY_RELU, [maker.value()], SlopeAttrs(0.25), maker.origins())


def _binary(maker: _Maker) -> Expr:
    lhs = maker.value()
    op = (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.MAXIMUM)[maker.integer(0, 3)]
    shape = tensor_type(lhs).shape
    others = [maker.like(lhs), constant(0.5, "float32"), constant(1.0, "float32"), constant(0.0, "float32")]
    if len(shape) == 4:
        others += [maker.numbers(shape[1], 1, 1), maker.numbers(1, shape[1], 1, 1)]
    return call(op, [lhs, others[maker.integer(0, len(others) - 1)]], origins=maker.origins())


def _folded(maker: _Maker) -> Expr:
    """A sum with what is known before the graph runs."""
    data = maker.value()
    known = call(Op.EXP, [call(Op.MULTIPLY, [maker.numbers(), constant(0.5, "float32")])])
    return call(Op.ADD, [data, known], origins=maker.origins())


def _conv(maker: _Maker) -> Expr:
    data = maker.image()
    channels = tensor_type(data).shape[1]
    groups = (1, channels)[maker.integer(0, 1)]
    out = groups * maker.integer(1, 3)
    scale = constant(1 / np.sqrt(9 * channels / groups), "float32")
    kernel = Constant((maker.numbers(out, channels // groups, 3, 3).value * scale.value).astype(np.float32))
    conv = call(Op.CONV2D, [data, kernel], Conv2dAttrs((1, 1), (1, 1, 1, 1), groups=groups), maker.origins())
    if maker.integer(0, 1):
        conv = call(Op.BIAS_ADD, [conv, maker.numbers(out)], AxisAttrs(1), maker.origins())
    return _normalised(maker, conv) if maker.integer(0, 1) else conv


def _normalised(maker: _Maker, data: Expr) -> Expr:
    channels = tensor_type(data).shape[1]
    variance = Constant(maker.rng.uniform(0.5, 1.5, channels).astype(np.float32))
    parts = [maker.numbers(channels), maker.numbers(channels), maker.numbers(channels), variance]
    return call(Op.BATCH_NORM, [data, *parts], BatchNormAttrs(epsilon=0.01), maker.origins())


def _conv_transpose(maker: _Maker) -> Expr:
    data = maker.image()
    channels = tensor_type(data).shape[1]
    kernel = Constant(maker.numbers(channels, 2, 3, 3).value / np.float32(3 * np.sqrt(channels)))
    return call(Op.CONV2D_TRANSPOSE, [data, kernel], Conv2dTransposeAttrs((1, 1), (1, 1, 1, 1)), maker.origins())


def _pool(maker: _Maker) -> Expr:
    data = maker.image()
    if maker.integer(0, 1):
        return call(Op.MAX_POOL2D, [data], Pool2dAttrs((3, 3), (1, 1), (1, 1, 1, 1)), maker.origins())
    return call(Op.AVG_POOL2D, [data], AvgPool2dAttrs((3, 3), (1, 1), (1, 1, 1, 1)), maker.origins())


def _join(maker: _Maker) -> Expr:
    data = maker.image()
    return call(Op.CONCATENATE, [data, maker.like(data)], ConcatenateAttrs(1), maker.origins())


def _split(maker: _Maker) -> Expr:
    data = maker.image()
    channels = tensor_type(data).shape[1]
    first = maker.integer(0, channels - 1)
    parts = call(Op.SPLIT, [data], SplitAttrs((first, channels - first), 1), maker.origins())
    return TupleGetItem(parts, 1)


def _slice(maker: _Maker) -> Expr:
    data = maker.image()
    channels = tensor_type(data).shape[1]
    return call(Op.STRIDED_SLICE, [data], StridedSliceAttrs((0,), (max(1, channels - 1),), axes=(1,)), maker.origins())


def _moved(maker: _Maker) -> Expr:
    data = maker.image()
    order = (0, 1, 3, 2) if maker.integer(0, 1) else (0, 1, 2, 3)
    return call(Op.TRANSPOSE, [data], TransposeAttrs(order), maker.origins())


def _reshaped(maker: _Maker) -> Expr:
    data = maker.value()
    there = call(Op.RESHAPE, [data], ReshapeAttrs((-1,)), maker.origins())
    return call(Op.RESHAPE, [there], ReshapeAttrs(tensor_type(data).shape), maker.origins())


def _reduced(maker: _Maker) -> Expr:
    return call(Op.MEAN, [maker.image()], ReduceAttrs((2, 3), keepdims=True), maker.origins())


def _softmax(maker: _Maker) -> Expr:
    data = maker.value()
    if tensor_type(data).rank == 0:  # a squeeze took every axis
        return data
    return call(Op.SOFTMAX, [data], SoftmaxAttrs(-1), maker.origins())


def _expanded(maker: _Maker) -> Expr:
    data = maker.value()
    if tensor_type(data).rank > 4:
        return data
    return call(Op.SQUEEZE, [call(Op.EXPAND_DIMS, [data], ExpandDimsAttrs(0))], None, maker.origins())


def _paired(maker: _Maker) -> Expr:
    """A value that went through a tuple."""
    pair = Tuple((maker.value(), maker.value()))
    return TupleGetItem(pair, maker.integer(0, 1))


def _again(maker: _Maker) -> Expr:
    """The same computation once more, as another node."""
    data = maker.value()
    return call(Op.ADD, [call(Op.TANH, [data]), call(Op.TANH, [data])], origins=maker.origins())


_MAKERS: tuple[Callable[[_Maker], Expr], ...] = (
    _unary, _unary, _limited, _binary, _binary, _binary, _folded, _conv, _conv, _conv_transpose, _pool, _join, _split,
    _slice, _moved, _reshaped, _reduced, _softmax, _expanded, _paired, _again,
)  # fmt: skip


def random_graph(seed: int, *, nodes: int = 10, with_lets: bool = False) -> RandomGraph:
    """Return a graph of about ``nodes`` nodes whose result is a value or a tuple of several; others may be dead."""
    maker = _Maker(np.random.default_rng(seed))
    shape = (maker.integer(1, 2), maker.integer(1, 4), maker.integer(3, 6), maker.integer(3, 6))
    params = [Var(name, TensorType(shape, "float32")) for name in ("x", "x", "the other")[: maker.integer(1, 3)]]
    maker.values.extend(params)
    lets: list[tuple[Var, Expr]] = []
    for _ in range(nodes):
        made = _MAKERS[maker.integer(0, len(_MAKERS) - 1)](maker)
        if tensor_type(made).size > 4000:
            continue
        if with_lets and maker.integer(0, 2) == 0:
            bound = Var(f"v{len(lets)}", made.type)
            lets.append((bound, made))
            made = bound
        maker.values.append(made)
    results = maker.values[-maker.integer(1, 3) :]
    body: Expr = results[0] if len(results) == 1 else Tuple(tuple(results))
    for var, value in reversed(lets):
        body = Let(var, value, body)
    read = set(free_vars(body))
    return RandomGraph(Function(tuple(param for param in params if param in read), body), seed)
