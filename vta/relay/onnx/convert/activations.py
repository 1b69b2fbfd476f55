"""Activation functions. Tests: tests/vta/relay/onnx/test_backend_cases.py."""

from collections.abc import Mapping, Sequence
from math import inf

from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.elementwise import ClipAttrs, HardSigmoidAttrs, SlopeAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.rearrange import ReshapeAttrs
from vta.relay.ir.nodes import Expr, tensor_type
from vta.relay.onnx.convert.converter import Converter
from vta.relay.onnx.node import Node

__all__ = ["CONVERTERS"]


def _is_one_number(node: Node, index: int) -> bool:
    return node.is_known(index) and tensor_type(node.input(index)).size == 1


def _clip(node: Node) -> Sequence[Expr]:
    # Bounds are attributes up to version 10, inputs from 11 on; either may be left out.
    if node.opset < 11:
        low, high = node.number("min", -inf), node.number("max", inf)
        return [node.call(Op.CLIP, (node.input(0),), ClipAttrs(low, high))]
    bounds = [node.given(1), node.given(2)]
    if all(bound is None or _is_one_number(node, index) for index, bound in enumerate(bounds, 1)):
        values = [None if v is None else v.reshape(-1)[0] for v in (node.known(1), node.known(2))]  # [6] for 6, too
        low, high = (default if v is None else float(v) for v, default in zip(values, (-inf, inf), strict=True))
        if low <= high:
            return [node.call(Op.CLIP, (node.input(0),), ClipAttrs(low, high))]
    result = node.input(0)
    for op, bound in ((Op.MAXIMUM, bounds[0]), (Op.MINIMUM, bounds[1])):  # in this order: the upper bound wins
        result = result if bound is None else node.call(op, (result, bound))
    return [result]


def _leaky_relu(node: Node) -> Sequence[Expr]:
    return [node.call(Op.LEAKY_RELU, (node.input(0),), SlopeAttrs(node.number("alpha", 0.01)))]


def _elu(node: Node) -> Sequence[Expr]:
    return [node.call(Op.ELU, (node.input(0),), SlopeAttrs(node.number("alpha", 1.0)))]


def _hard_sigmoid(node: Node) -> Sequence[Expr]:
    attrs = HardSigmoidAttrs(node.number("alpha", 0.2), node.number("beta", 0.5))
    return [node.call(Op.HARD_SIGMOID, (node.input(0),), attrs)]


def _hard_swish(node: Node) -> Sequence[Expr]:
    return [node.call(Op.HARD_SWISH, (node.input(0),))]


def _prelu(node: Node) -> Sequence[Expr]:
    # The slope broadcasts to the data, one way: one for each channel, or in general max(x, 0) + slope * min(x, 0).
    data, slope = node.input(0), node.input(1)
    shape, own = tensor_type(data).shape, tensor_type(slope).shape
    channels = (1, *shape[1:2], *[1] * (len(shape) - 2))
    if shape[1:2] > (1,) and (1,) * (len(shape) - len(own)) + own == channels:
        by_channel = node.call(Op.RESHAPE, (slope,), ReshapeAttrs((shape[1],)))
        return [node.call(Op.PRELU, (data, by_channel), AxisAttrs(1))]
    zero = node.scalar(0)
    positive = node.call(Op.MAXIMUM, (data, zero))
    negative = node.call(Op.MULTIPLY, (slope, node.call(Op.MINIMUM, (data, zero))))
    return [node.call(Op.ADD, (positive, negative))]


def _selu(node: Node) -> Sequence[Expr]:
    alpha, gamma = node.number("alpha", 1.6732632), node.number("gamma", 1.050701)
    inner = node.call(Op.ELU, (node.input(0),), SlopeAttrs(alpha))
    return [node.call(Op.MULTIPLY, (inner, node.scalar(gamma)))]


def _softplus(node: Node) -> Sequence[Expr]:
    # log(1 + exp(x)) without overflow: max(x, 0) + log(1 + exp(-|x|))
    data = node.input(0)
    small = node.call(Op.EXP, (node.call(Op.NEGATIVE, (node.call(Op.ABS, (data,)),)),))
    log = node.call(Op.LOG, (node.call(Op.ADD, (small, node.scalar(1))),))
    return [node.call(Op.ADD, (node.call(Op.RELU, (data,)), log))]


def _softsign(node: Node) -> Sequence[Expr]:
    data = node.input(0)
    below = node.call(Op.ADD, (node.call(Op.ABS, (data,)), node.scalar(1)))
    return [node.call(Op.DIVIDE, (data, below))]


def _mish(node: Node) -> Sequence[Expr]:
    [softplus] = _softplus(node)
    return [node.call(Op.MULTIPLY, (node.input(0), node.call(Op.TANH, (softplus,))))]


def _gelu(node: Node) -> Sequence[Expr]:
    data = node.input(0)
    if node.text("approximate", "none", choices=("none", "tanh")) == "none":
        inner = node.call(Op.ERF, (node.call(Op.MULTIPLY, (data, node.scalar(2**-0.5))),))
    else:
        cube = node.call(Op.MULTIPLY, (data, node.call(Op.MULTIPLY, (data, data))))
        cubed = node.call(Op.ADD, (data, node.call(Op.MULTIPLY, (cube, node.scalar(0.044715)))))
        inner = node.call(Op.TANH, (node.call(Op.MULTIPLY, (cubed, node.scalar(0.7978845608028654))),))
    half = node.call(Op.MULTIPLY, (data, node.scalar(0.5)))
    return [node.call(Op.MULTIPLY, (half, node.call(Op.ADD, (inner, node.scalar(1)))))]


def _thresholded_relu(node: Node) -> Sequence[Expr]:
    data = node.input(0)
    above = node.call(Op.GREATER, (data, node.scalar(node.number("alpha", 1.0))))
    return [node.call(Op.WHERE, (above, data, node.scalar(0)))]


def _shrink(node: Node) -> Sequence[Expr]:
    data, bias, edge = node.input(0), node.number("bias", 0.0), node.number("lambd", 0.5)
    upper = node.call(Op.SUBTRACT, (data, node.scalar(bias)))
    lower = node.call(Op.ADD, (data, node.scalar(bias)))
    below = node.call(Op.WHERE, (node.call(Op.LESS, (data, node.scalar(-edge))), lower, node.scalar(0)))
    return [node.call(Op.WHERE, (node.call(Op.GREATER, (data, node.scalar(edge))), upper, below))]


def _celu(node: Node) -> Sequence[Expr]:
    # max(x, 0) + min(0, alpha * (exp(x / alpha) - 1)) is elu(x / alpha) * alpha
    data, alpha = node.input(0), node.scalar(node.number("alpha", 1.0))
    inner = node.call(Op.ELU, (node.call(Op.DIVIDE, (data, alpha)),), SlopeAttrs(1.0))
    return [node.call(Op.MULTIPLY, (inner, alpha))]


def _swish(node: Node) -> Sequence[Expr]:
    data = node.input(0)
    scaled = node.call(Op.MULTIPLY, (data, node.scalar(node.number("alpha", 1.0))))
    return [node.call(Op.MULTIPLY, (data, node.call(Op.SIGMOID, (scaled,))))]


CONVERTERS: Mapping[str, Converter] = {
    "Celu": _celu,
    "Clip": _clip,
    "Elu": _elu,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "LeakyRelu": _leaky_relu,
    "Mish": _mish,
    "PRelu": _prelu,
    "Selu": _selu,
    "Shrink": _shrink,
    "Softplus": _softplus,
    "Softsign": _softsign,
    "Swish": _swish,
    "ThresholdedRelu": _thresholded_relu,
}
