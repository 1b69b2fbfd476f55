"""Normalisation and softmax. Tests: tests/vta/relay/onnx/test_backend_cases.py."""

from collections.abc import Mapping, Sequence

import numpy as np

from runtime.executor.operators.names import Op
from runtime.executor.operators.normalise import (
    BatchNormAttrs,
    InstanceNormAttrs,
    LayerNormAttrs,
    LrnAttrs,
    SoftmaxAttrs,
)
from runtime.executor.operators.rearrange import ReshapeAttrs
from vta.relay.ir.nodes import Expr
from vta.relay.onnx.convert.converter import Converter
from vta.relay.onnx.node import Node

__all__ = ["CONVERTERS"]


def _batch_norm(node: Node) -> Sequence[Expr]:
    node.ignore("momentum", "spatial")
    if node.flag("training_mode"):
        node.refuse("it is in training mode; export the model for inference")
    args = [node.input(index) for index in range(5)]
    return [node.call(Op.BATCH_NORM, args, BatchNormAttrs(1, node.number("epsilon", 1e-5)))]


def _instance_norm(node: Node) -> Sequence[Expr]:
    args = [node.input(index) for index in range(3)]
    return [node.call(Op.INSTANCE_NORM, args, InstanceNormAttrs(node.number("epsilon", 1e-5)))]


def _layer_norm(node: Node) -> Sequence[Expr]:
    node.ignore("stash_type")
    axis = node.whole("axis", -1)
    args = [node.input(0), node.input(1), node.given(2) or node.zeros_like(1)]
    return [node.call(Op.LAYER_NORM, args, LayerNormAttrs(axis, node.number("epsilon", 1e-5)))]


def _lrn(node: Node) -> Sequence[Expr]:
    attrs = LrnAttrs(
        node.whole("size"), 1, node.number("alpha", 1e-4), node.number("beta", 0.75), node.number("bias", 1.0)
    )
    return [node.call(Op.LRN, (node.input(0),), attrs)]


def _softmax(op: Op) -> Converter:
    def convert(node: Node) -> Sequence[Expr]:
        if node.opset >= 13:
            return [node.call(op, (node.input(0),), SoftmaxAttrs(node.whole("axis", -1)))]
        # Older models mean all axes from this one on, taken together.
        shape, axis = node.type(0).shape, node.whole("axis", 1) % max(node.rank(), 1)
        rows = int(np.prod(shape[:axis], dtype=np.int64))
        flat = node.call(Op.RESHAPE, (node.input(0),), ReshapeAttrs((rows, -1)))
        result = node.call(op, (flat,), SoftmaxAttrs(1))
        return [node.call(Op.RESHAPE, (result,), ReshapeAttrs(shape))]

    return convert


CONVERTERS: Mapping[str, Converter] = {
    "BatchNormalization": _batch_norm,
    "InstanceNormalization": _instance_norm,
    "LRN": _lrn,
    "LayerNormalization": _layer_norm,
    "LogSoftmax": _softmax(Op.LOG_SOFTMAX),
    "Softmax": _softmax(Op.SOFTMAX),
}
