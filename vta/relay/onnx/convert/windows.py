"""Pooling. Tests: tests/vta/relay/onnx/test_backend_cases.py."""

from collections.abc import Mapping, Sequence

from runtime.executor.operators.names import Op
from runtime.executor.operators.pooling import AvgPool2dAttrs, GlobalPoolAttrs, Pool2dAttrs
from runtime.executor.operators.windows import Pads, Pair
from vta.relay.ir.nodes import Expr
from vta.relay.onnx.convert.converter import Converter
from vta.relay.onnx.convert.pads import conv_pads
from vta.relay.onnx.node import Node

__all__ = ["CONVERTERS"]


def _window(node: Node) -> tuple[Pair, Pair, Pads, Pair, bool]:
    shape = node.type(0).shape
    if len(shape) != 4:
        node.refuse(f"its data have {len(shape)} dimensions, and pooling of images, which have 4, is supported")
    kernel, strides = node.pair("kernel_shape"), node.pair("strides", (1, 1))
    dilation = node.pair("dilations", (1, 1))
    pads = conv_pads(node, shape[2:], kernel=kernel, strides=strides, dilation=dilation)
    return kernel, strides, pads, dilation, node.flag("ceil_mode")


def _max_pool(node: Node) -> Sequence[Expr]:
    node.ignore("storage_order")  # decides the numbers of the second output, which is not made
    return [node.call(Op.MAX_POOL2D, (node.input(0),), Pool2dAttrs(*_window(node)))]


def _average_pool(node: Node) -> Sequence[Expr]:
    kernel, strides, pads, dilation, ceil_mode = _window(node)
    include = node.flag("count_include_pad")
    attrs = AvgPool2dAttrs(kernel, strides, pads, dilation, ceil_mode, count_include_pad=include)
    return [node.call(Op.AVG_POOL2D, (node.input(0),), attrs)]


def _global_pool(op: Op) -> Converter:
    def convert(node: Node) -> Sequence[Expr]:
        if node.rank() != 4:
            node.refuse(f"its data have {node.rank()} dimensions, and pooling of images, which have 4, is supported")
        return [node.call(op, (node.input(0),), GlobalPoolAttrs())]

    return convert


CONVERTERS: Mapping[str, Converter] = {
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_pool(Op.GLOBAL_AVG_POOL2D),
    "GlobalMaxPool": _global_pool(Op.GLOBAL_MAX_POOL2D),
    "MaxPool": _max_pool,
}
