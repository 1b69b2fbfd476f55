"""Batch norms, factors and offsets of channels that follow a layer become part of its weights and bias.

    before                                   after
    y = Conv(x, w)                           y = Conv(x, w * f, o)
    z = BatchNormalization(y, ...)

Also ``Mul``, ``Div``, ``Add`` and ``Sub`` with a constant for each channel or for all, and ``MatMul`` of two
dimensions becomes ``Gemm``, so that a bias has a place. Tests: tests/vta/quantize/prepare/test_fold_affine.py.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, shape_inference

from runtime.executor.operators.types import Array
from vta.quantize.graph import Graph, attribute, whole

__all__ = ["fold_affine"]

Reals = npt.NDArray[np.float64]
_LAYERS = {"Conv", "ConvTranspose", "Gemm"}


@dataclass(frozen=True, slots=True)
class _Affine:
    """``y * factor + offset``, a number for each channel."""

    factor: Reals
    offset: Reals


def fold_affine(graph: Graph) -> None:
    """Fold what follows layers into them, in ``graph`` itself, as long as nothing else reads what is in between."""
    _matmuls_to_gemm(graph)
    following = True
    while following:
        following = _fold_once(graph)


def _fold_once(graph: Graph) -> bool:
    readers, producers = graph.readers(), graph.producers()
    for node in graph.nodes:
        layer = next(
            (producers[name] for name in node.input if name in producers and _is_layer(producers[name], graph)), None
        )
        if layer is None or layer.output[0] in graph.outputs or len(readers[layer.output[0]]) != 1:
            continue
        affine = _affine_of(node, layer, graph)
        if affine is None:
            continue
        _apply(layer, affine, graph)
        layer.output[0] = node.output[0]
        graph.remove([node])
        return True
    return False


def _is_layer(node: onnx.NodeProto, graph: Graph) -> bool:
    """Return whether a node's channels can be scaled: a layer of constant weights, and a Gemm as layers use it."""
    if node.op_type not in _LAYERS or any(name and name not in graph.constants for name in node.input[1:]):
        return False
    if node.op_type != "Gemm":
        return True
    plain = all(attribute(node, name, 1.0) == 1.0 for name in ("alpha", "beta")) and not attribute(node, "transA", 0)
    bias = graph.constants[node.input[2]] if len(node.input) > 2 and node.input[2] else None
    return plain and (bias is None or bias.size in (1, _channels(node, graph)))


def _channels(layer: onnx.NodeProto, graph: Graph) -> int:
    shape: tuple[int, ...] = graph.constants[layer.input[1]].shape
    match layer.op_type:
        case "Conv":
            return shape[0]
        case "ConvTranspose":
            return shape[1] * whole(layer, "group", 1)
        case _:
            return shape[0] if attribute(layer, "transB", 0) else shape[1]


def _affine_of(node: onnx.NodeProto, layer: onnx.NodeProto, graph: Graph) -> _Affine | None:
    """Return what a node does to a layer's channels; None where it is something else."""
    channels, source = _channels(layer, graph), layer.output[0]
    if node.op_type == "BatchNormalization" and node.input[0] == source and not attribute(node, "training_mode", 0):
        if any(name not in graph.constants for name in node.input[1:]):
            return None
        scale, bias, mean, variance = (graph.constants[name].astype(np.float64) for name in node.input[1:5])
        factor = scale / np.sqrt(variance + float(attribute(node, "epsilon", 1e-5)))  # type: ignore[arg-type]
        return _Affine(factor, bias - mean * factor)
    if node.op_type not in ("Add", "Sub", "Mul", "Div"):
        return None
    other = node.input[1] if node.input[0] == source else node.input[0]
    value = None if other not in graph.constants else _by_channel(graph.constants[other], channels, layer.op_type)
    first = node.input[0] == source
    if value is None or node.input[0] == node.input[1] or (node.op_type in ("Sub", "Div") and not first):
        return None
    one, nothing = np.ones(channels), np.zeros(channels)
    match node.op_type:
        case "Add":
            return _Affine(one, value)
        case "Sub":
            return _Affine(one, -value)
        case "Mul":
            return _Affine(value, nothing)
        case _:
            return _Affine(1 / value, nothing) if value.all() else None


def _by_channel(value: Array, channels: int, kind: str) -> Reals | None:
    """Return a constant that broadcasts as a number for each channel; None if it goes along something else."""
    if value.dtype.kind != "f":
        return None
    if value.size == 1:
        return np.full(channels, float(value.reshape(())))
    trailing = 0 if kind == "Gemm" else 2
    if value.size != channels or value.ndim <= trailing or value.shape[value.ndim - 1 - trailing] != channels:
        return None
    return value.astype(np.float64).reshape(-1)


def _apply(layer: onnx.NodeProto, affine: _Affine, graph: Graph) -> None:
    """Put factor and offset into a layer's weights and bias; other readers of its constants keep theirs."""
    weight = graph.constants[layer.input[1]]
    factor = affine.factor
    match layer.op_type:
        case "Conv":
            scaled = weight * factor.reshape(-1, *[1] * (weight.ndim - 1))
        case "ConvTranspose":
            groups = whole(layer, "group", 1)
            split = weight.reshape(groups, -1, *weight.shape[1:])
            along = factor.reshape(groups, 1, weight.shape[1], *[1] * (weight.ndim - 2))
            scaled = (split * along).reshape(weight.shape)
        case _:
            scaled = weight * (factor[:, None] if attribute(layer, "transB", 0) else factor)
    old = np.zeros(len(factor))
    if len(layer.input) > 2 and layer.input[2]:
        old = np.broadcast_to(graph.constants[layer.input[2]].astype(np.float64).reshape(-1), (len(factor),))
    bias = old * factor + affine.offset
    inputs = [
        layer.input[0],
        graph.constant(f"{layer.output[0]}.weight", scaled.astype(np.float32)),
        graph.constant(f"{layer.output[0]}.bias", bias.astype(np.float32)),
    ]
    del layer.input[:]
    layer.input.extend(inputs)


def _matmuls_to_gemm(graph: Graph) -> None:
    """Make ``Gemm`` of products of two dimensions with constant weights."""
    candidates = [
        node for node in graph.nodes
        if node.op_type == "MatMul" and node.input[1] in graph.constants and graph.constants[node.input[1]].ndim == 2
    ]  # fmt: skip
    if not candidates:
        return
    ranks = _ranks(graph)
    for node in candidates:
        if ranks.get(node.input[0]) == 2:
            made = helper.make_node("Gemm", list(node.input), list(node.output), name=node.name)
            graph.nodes[next(at for at, each in enumerate(graph.nodes) if each is node)] = made


def _ranks(graph: Graph) -> dict[str, int]:
    try:
        inferred = shape_inference.infer_shapes(graph.to_model())
    except (RuntimeError, ValueError):
        return {}
    known = (*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output)
    return {v.name: len(v.type.tensor_type.shape.dim) for v in known if v.type.tensor_type.HasField("shape")}
