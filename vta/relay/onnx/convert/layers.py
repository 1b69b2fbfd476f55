"""Layers with weights: convolutions and products of matrices. Tests: tests/vta/relay/onnx/test_backend_cases.py."""

from collections.abc import Mapping, Sequence

from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.convolution import Conv2dAttrs, Conv2dTransposeAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.rearrange import TransposeAttrs
from vta.relay.ir.nodes import Expr
from vta.relay.onnx.convert.converter import Converter
from vta.relay.onnx.convert.pads import conv_pads, transposed_pads
from vta.relay.onnx.node import Node

__all__ = ["CONVERTERS", "conv2d_attrs", "with_bias"]


def conv2d_attrs(node: Node, *, data: int = 0, weight: int = 1) -> Conv2dAttrs:
    """Return the attributes of a convolution of images, which inputs ``data`` and ``weight`` are."""
    shape, kernel = node.type(data).shape, node.type(weight).shape
    if len(shape) != 4 or len(kernel) != 4:
        node.refuse(f"its data have {len(shape)} dimensions, and convolutions of images, which have 4, are supported")
    size = node.pair("kernel_shape", (kernel[2], kernel[3]))
    if size != kernel[2:]:
        node.refuse(f"kernel_shape is {size}, and the weights are {kernel}")
    strides, dilation = node.pair("strides", (1, 1)), node.pair("dilations", (1, 1))
    pads = conv_pads(node, shape[2:], kernel=size, strides=strides, dilation=dilation)
    return Conv2dAttrs(strides, pads, dilation, node.whole("group", 1))


def with_bias(node: Node, result: Expr, index: int) -> Expr:
    """Return ``result`` plus input ``index``, one value a channel, if there is one."""
    bias = node.given(index)
    return result if bias is None else node.call(Op.BIAS_ADD, (result, bias), AxisAttrs(1))


def _conv(node: Node) -> Sequence[Expr]:
    attrs = conv2d_attrs(node)
    return [with_bias(node, node.call(Op.CONV2D, (node.input(0), node.input(1)), attrs), 2)]


def _conv_transpose(node: Node) -> Sequence[Expr]:
    shape, kernel = node.type(0).shape, node.type(1).shape
    if len(shape) != 4 or len(kernel) != 4:
        node.refuse(f"its data have {len(shape)} dimensions, and convolutions of images, which have 4, are supported")
    size = node.pair("kernel_shape", (kernel[2], kernel[3]))
    strides, dilation = node.pair("strides", (1, 1)), node.pair("dilations", (1, 1))
    pads, extra = transposed_pads(node, shape[2:], kernel=size, strides=strides, dilation=dilation)
    attrs = Conv2dTransposeAttrs(strides, pads, extra, dilation, node.whole("group", 1))
    return [with_bias(node, node.call(Op.CONV2D_TRANSPOSE, (node.input(0), node.input(1)), attrs), 2)]


def _gemm(node: Node) -> Sequence[Expr]:
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    a, b = node.input(0), node.input(1)
    if node.flag("transA"):
        a = node.call(Op.TRANSPOSE, (a,), TransposeAttrs((1, 0)))
    # dense takes weights as (outputs, inputs), which is what transB has
    weight = b if node.flag("transB") else node.call(Op.TRANSPOSE, (b,), TransposeAttrs((1, 0)))
    result: Expr = node.call(Op.DENSE, (a, weight))
    if alpha != 1:
        result = node.call(Op.MULTIPLY, (result, node.scalar(alpha)))
    added = node.given(2)
    if added is None or beta == 0:
        return [result]
    if beta != 1:
        added = node.call(Op.MULTIPLY, (added, node.scalar(beta)))
    return [node.call(Op.ADD, (result, added))]


def _matmul(node: Node) -> Sequence[Expr]:
    return [node.call(Op.MATMUL, (node.input(0), node.input(1)))]


CONVERTERS: Mapping[str, Converter] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "MatMul": _matmul,
}
