"""Weights moved between layers, so that the channels in between have equal ranges.

    y = relu(w1 x + b1);  z = w2 y        the same as        y' = relu((w1 x + b1) / s);  z = (w2 s) y'

with ``s`` for each channel, since ``relu(y / s) = relu(y) / s`` for positive ``s``. The best one is the square root of
the ratio of the two layers' largest weights (Nagel et al. 2019, section 4.1). Tests:
tests/vta/quantize/improve/test_equalise.py.
"""

import numpy as np
import numpy.typing as npt
import onnx

from runtime.executor.operators.types import Array
from vta.quantize.graph import Graph, whole

__all__ = ["equalised"]

Reals = npt.NDArray[np.float64]
_ROUNDS = 10
_MOST = 100.0
"""The largest factor: a channel that is almost dead shall not make the next layer's range explode."""


def equalised(graph: Graph) -> Graph | None:
    """Return ``graph`` with its layers equalised, pair after pair until nothing moves; None if there is no pair."""
    pairs = _pairs(graph)
    if not pairs:
        return None
    made = graph.copy()
    by_output = {node.output[0]: node for node in made.nodes}
    own = {node.output[0] for pair in pairs for node in pair}
    for name in own:
        _own_constants(made, by_output[name])
    for _ in range(_ROUNDS):
        moved = [_equalise(made, by_output[first.output[0]], by_output[second.output[0]]) for first, second in pairs]
        if max(moved) < 1e-3:
            break
    return made


def _pairs(graph: Graph) -> list[tuple[onnx.NodeProto, onnx.NodeProto]]:
    """Return layers that alone read another's result, a ReLU between them at most."""
    readers, found = graph.readers(), []
    for node in graph.nodes:
        if not _is_conv(node, graph):
            continue
        name, reader = node.output[0], None
        for _ in range(2):
            alone = len(readers.get(name, ())) == 1 and name not in graph.outputs
            reader = readers[name][0] if alone else None
            if reader is None or reader.op_type != "Relu":
                break
            name = reader.output[0]
        if reader is not None and _is_conv(reader, graph) and reader.input[0] == name:
            found.append((node, reader))
    return found


def _is_conv(node: onnx.NodeProto, graph: Graph) -> bool:
    return node.op_type == "Conv" and all(name in graph.constants for name in node.input[1:] if name)


def _own_constants(graph: Graph, node: onnx.NodeProto) -> None:
    """Give a layer constants that nothing else reads."""
    for at in range(1, len(node.input)):
        if node.input[at]:
            node.input[at] = graph.constant(f"{node.output[0]}.own{at}", graph.constants[node.input[at]])


def _equalise(graph: Graph, first: onnx.NodeProto, second: onnx.NodeProto) -> float:
    """Move weights between two layers; return how far the factors were from one."""
    w1, w2 = graph.constants[first.input[1]], graph.constants[second.input[1]]
    groups = whole(second, "group", 1)
    r1, r2 = np.abs(w1).reshape(len(w1), -1).max(1).astype(np.float64), _input_ranges(w2, groups)
    there = (r1 > 0) & (r2 > 0)
    factor = np.ones(len(r1))
    factor[there] = np.clip(np.sqrt(r1[there] / r2[there]), 1 / _MOST, _MOST)
    graph.constants[first.input[1]] = (w1 / factor.reshape(-1, *[1] * (w1.ndim - 1))).astype(np.float32)
    if len(first.input) > 2 and first.input[2]:
        graph.constants[first.input[2]] = (graph.constants[first.input[2]] / factor).astype(np.float32)
    split = w2.reshape(groups, -1, *w2.shape[1:])
    wide = factor.reshape(groups, 1, -1, *[1] * (w2.ndim - 2))
    graph.constants[second.input[1]] = (split * wide).reshape(w2.shape).astype(np.float32)
    return float(np.abs(np.log(factor)).max())


def _input_ranges(weight: Array, groups: int) -> Reals:
    """Return the largest weight that reads each input channel."""
    split = np.abs(weight).reshape(groups, -1, weight.shape[1], int(np.prod(weight.shape[2:])))
    found: Reals = split.max(axis=(1, 3)).reshape(-1).astype(np.float64)
    return found
