"""Quantised operators: between real numbers and integers, and ONNX's and onnxruntime's operators on integers.

An operator on integers becomes what it means: its inputs as real numbers, the float operator, and integers again. The
pass that makes integer graphs treats both ways to write a network alike.
Tests: tests/vta/relay/onnx/test_backend_cases.py, tests/vta/relay/onnx/test_quantised.py.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.elementwise import CastAttrs, SlopeAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.normalise import SoftmaxAttrs
from runtime.executor.operators.pooling import AvgPool2dAttrs, GlobalPoolAttrs
from runtime.executor.operators.qnn.products import QnnConv2dAttrs
from runtime.executor.operators.qnn.quantize import DequantizeAttrs, QuantizeAttrs
from runtime.executor.operators.rearrange import ReshapeAttrs, TransposeAttrs
from runtime.executor.operators.selection import ConcatenateAttrs
from vta.relay.ir.nodes import Constant, Expr, tensor_type
from vta.relay.onnx.convert.converter import Converter
from vta.relay.onnx.convert.layers import conv2d_attrs
from vta.relay.onnx.convert.pads import conv_pads
from vta.relay.onnx.node import Node

__all__ = ["CONVERTERS"]


def _settled(node: Node, data: Expr, scale: Expr, zero: Expr | None, dtype: str, axis: int) -> tuple[Expr, Expr, int]:
    """Return scale, zero point and axis as relay's operators take them."""
    shape = tensor_type(scale).shape
    if len(shape) > 1:
        node.refuse("scales for blocks of numbers are not supported; quantise per tensor or per channel")
    if isinstance(scale, Constant) and not np.isfinite(scale.value).all():
        node.refuse("its scale is infinite or no number, where a positive number is expected; quantise the model again")
    zeros = Constant(np.zeros(shape, np.dtype(dtype))) if zero is None else zero
    if shape == (1,):  # one number is one for the whole tensor, whatever the axis has
        scale, zeros = (node.call(Op.RESHAPE, (each,), ReshapeAttrs(())) for each in (scale, zeros))
        return scale, zeros, 0
    rank = tensor_type(data).rank
    if shape and not -rank <= axis < rank:
        node.refuse(f"axis {axis} is none of its {rank} dimensions")
    return scale, zeros, axis % rank if shape else 0


def _quantised(node: Node, data: Expr, scale: Expr, zero: Expr | None, *, dtype: str = "uint8", axis: int = 1) -> Expr:
    kind = dtype if zero is None else tensor_type(zero).dtype
    scale, zeros, settled = _settled(node, data, scale, zero, kind, axis)
    return node.call(Op.QUANTIZE, (data, scale, zeros), QuantizeAttrs(kind, settled))


def _real(node: Node, data: Expr, scale: Expr, zero: Expr | None, *, axis: int = 1) -> Expr:
    scale, zeros, settled = _settled(node, data, scale, zero, tensor_type(data).dtype, axis)
    return node.call(Op.DEQUANTIZE, (data, scale, zeros), DequantizeAttrs(settled))


def _quantize_linear(node: Node) -> Sequence[Expr]:
    node.ignore("saturate", "precision")
    if node.whole("block_size", 0):
        node.refuse("scales for blocks of numbers are not supported; quantise per tensor or per channel")
    dtype = node.element_type("output_dtype") if node.whole("output_dtype", 0) else "uint8"
    axis = node.whole("axis", 1)
    return [_quantised(node, node.input(0), node.input(1), node.given(2), dtype=dtype, axis=axis)]


def _dequantize_linear(node: Node) -> Sequence[Expr]:
    if node.whole("block_size", 0):
        node.refuse("scales for blocks of numbers are not supported; quantise per tensor or per channel")
    node.ignore("output_dtype")
    return [_real(node, node.input(0), node.input(1), node.given(2), axis=node.whole("axis", 1))]


def _bias_scale(node: Node, alpha: float = 1.0) -> Constant:
    """Return the scale of an integer bias: the product of those of data (input 1) and weights (input 4)."""
    data, weights = (node.value_of(node.input(index), f"input {index}") for index in (1, 4))
    return Constant(np.asarray(alpha * data.reshape(()) * weights.reshape(-1), np.float32))


def _qlinear_conv(node: Node) -> Sequence[Expr]:
    # x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias of scale x_scale * w_scale
    data = _real(node, node.input(0), node.input(1), node.given(2))
    weight = _real(node, node.input(3), node.input(4), node.given(5), axis=0)
    result: Expr = node.call(Op.CONV2D, (data, weight), conv2d_attrs(node, data=0, weight=3))
    if node.given(8) is not None:
        bias = _real(node, node.input(8), _bias_scale(node), None, axis=0)
        result = node.call(Op.BIAS_ADD, (result, bias), AxisAttrs(1))
    return [_quantised(node, result, node.input(6), node.given(7))]


def _conv_integer(node: Node) -> Sequence[Expr]:
    zeros = [node.known(index) for index in (2, 3)]
    plain = conv2d_attrs(node)
    attrs = QnnConv2dAttrs(
        plain.strides, plain.padding, plain.dilation, plain.groups,
        input_zero_point=0 if zeros[0] is None else int(zeros[0].reshape(())),
        kernel_zero_point=(0,) if zeros[1] is None else tuple(int(z) for z in zeros[1].reshape(-1)),
    )  # fmt: skip
    return [node.call(Op.QNN_CONV2D, (node.input(0), node.input(1)), attrs)]


def _matmul_integer(node: Node) -> Sequence[Expr]:
    operands = []
    for index, zero in ((0, 2), (1, 3)):
        wide: Expr = node.call(Op.CAST, (node.input(index),), CastAttrs("int32"))
        point = node.given(zero)
        if point is not None:
            if tensor_type(point).size != 1:
                node.refuse("zero points for rows or columns are not supported; quantise per tensor")
            scalar = node.call(Op.RESHAPE, (point,), ReshapeAttrs(()))
            wide = node.call(Op.SUBTRACT, (wide, node.call(Op.CAST, (scalar,), CastAttrs("int32"))))
        operands.append(wide)
    return [node.call(Op.MATMUL, operands)]


def _qlinear_matmul(node: Node) -> Sequence[Expr]:
    a = _real(node, node.input(0), node.input(1), node.given(2), axis=-2)
    b = _real(node, node.input(3), node.input(4), node.given(5), axis=-1)
    return [_quantised(node, node.call(Op.MATMUL, (a, b)), node.input(6), node.given(7), axis=-1)]


def _dynamic_quantize(node: Node) -> Sequence[Expr]:
    node.refuse("its scale depends on the data; quantise statically, with calibration data")


def _qgemm(node: Node) -> Sequence[Expr]:
    # a, a_scale, a_zero, b, b_scale, b_zero, c of scale alpha * a_scale * b_scale, y_scale, y_zero
    alpha, transposed = node.number("alpha", 1.0), node.flag("transB")
    a = _real(node, node.input(0), node.input(1), node.given(2))
    b = _real(node, node.input(3), node.input(4), node.given(5), axis=0 if transposed else 1)
    if node.flag("transA"):
        a = node.call(Op.TRANSPOSE, (a,), TransposeAttrs((1, 0)))
    weight = b if transposed else node.call(Op.TRANSPOSE, (b,), TransposeAttrs((1, 0)))
    result: Expr = node.call(Op.DENSE, (a, weight))
    if alpha != 1:
        result = node.call(Op.MULTIPLY, (result, Constant(np.array(alpha, np.float32))))
    if node.given(6) is not None:
        flat = node.call(Op.RESHAPE, (node.input(6),), ReshapeAttrs((-1,)))
        result = node.call(Op.ADD, (result, _real(node, flat, _bias_scale(node, alpha), None, axis=0)))
    if node.given(7) is None:
        return [result]
    return [_quantised(node, result, node.input(7), node.given(8))]


def _qlinear_binary(op: Op) -> Converter:
    def convert(node: Node) -> Sequence[Expr]:
        a = _real(node, node.input(0), node.input(1), node.given(2))
        b = _real(node, node.input(3), node.input(4), node.given(5))
        return [_quantised(node, node.call(op, (a, b)), node.input(6), node.given(7))]

    return convert


def _qlinear_concat(node: Node) -> Sequence[Expr]:
    # y_scale, y_zero, then triples of data, scale and zero point
    if len(node.inputs) < 5 or (len(node.inputs) - 2) % 3:
        node.refuse(f"it has {len(node.inputs)} inputs, and it takes two and three for each part")
    parts = [
        _real(node, node.input(at), node.input(at + 1), node.given(at + 2)) for at in range(2, len(node.inputs), 3)
    ]
    whole = node.call(Op.CONCATENATE, parts, ConcatenateAttrs(node.whole("axis")))
    return [_quantised(node, whole, node.input(0), node.given(1))]


def _require_channels_first(node: Node) -> None:
    if node.flag("channels_last"):
        node.refuse("channels_last is not supported; export the model with channels first")


def _qlinear_average_pool(node: Node) -> Sequence[Expr]:
    _require_channels_first(node)
    shape = node.type(0).shape
    if len(shape) != 4:
        node.refuse(f"its data have {len(shape)} dimensions, and pooling of images, which have 4, is supported")
    kernel, strides = node.pair("kernel_shape"), node.pair("strides", (1, 1))
    pads = conv_pads(node, shape[2:], kernel=kernel, strides=strides, dilation=(1, 1))
    attrs = AvgPool2dAttrs(
        kernel, strides, pads, (1, 1), node.flag("ceil_mode"), count_include_pad=node.flag("count_include_pad")
    )
    data = _real(node, node.input(0), node.input(1), node.given(2))
    return [_quantised(node, node.call(Op.AVG_POOL2D, (data,), attrs), node.input(3), node.given(4))]


def _qlinear_global_average_pool(node: Node) -> Sequence[Expr]:
    _require_channels_first(node)
    data = _real(node, node.input(0), node.input(1), node.given(2))
    pooled = node.call(Op.GLOBAL_AVG_POOL2D, (data,), GlobalPoolAttrs())
    return [_quantised(node, pooled, node.input(3), node.given(4))]


def _qlinear_sigmoid(node: Node) -> Sequence[Expr]:
    data = _real(node, node.input(0), node.input(1), node.given(2))
    return [_quantised(node, node.call(Op.SIGMOID, (data,)), node.input(3), node.given(4))]


def _qlinear_leaky_relu(node: Node) -> Sequence[Expr]:
    data = _real(node, node.input(0), node.input(1), node.given(2))
    result = node.call(Op.LEAKY_RELU, (data,), SlopeAttrs(node.number("alpha", 0.01)))
    return [_quantised(node, result, node.input(3), node.given(4))]


def _qlinear_softmax(node: Node) -> Sequence[Expr]:
    node.ignore("opset")
    data = _real(node, node.input(0), node.input(1), node.given(2))
    result = node.call(Op.SOFTMAX, (data,), SoftmaxAttrs(node.whole("axis", -1)))
    return [_quantised(node, result, node.input(3), node.given(4))]


CONVERTERS: Mapping[str, Converter] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize_linear,
    "DynamicQuantizeLinear": _dynamic_quantize,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": _quantize_linear,
    "com.microsoft.DequantizeLinear": _dequantize_linear,
    "com.microsoft.QGemm": _qgemm,
    "com.microsoft.QLinearAdd": _qlinear_binary(Op.ADD),
    "com.microsoft.QLinearAveragePool": _qlinear_average_pool,
    "com.microsoft.QLinearConcat": _qlinear_concat,
    "com.microsoft.QLinearGlobalAveragePool": _qlinear_global_average_pool,
    "com.microsoft.QLinearLeakyRelu": _qlinear_leaky_relu,
    "com.microsoft.QLinearMul": _qlinear_binary(Op.MULTIPLY),
    "com.microsoft.QLinearSigmoid": _qlinear_sigmoid,
    "com.microsoft.QLinearSoftmax": _qlinear_softmax,
    "com.microsoft.QuantizeLinear": _quantize_linear,
}
