"""A node of a model as a model of its own, with what it reads as inputs or as constants.

Tests: tests/vta/relay/onnx/test_foreign.py, tests/vta/relay/onnx/test_functions.py.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from runtime.executor.operators.types import Array, TensorType

__all__ = ["captured_names", "model_of_node", "nodes_within"]


def captured_names(node: onnx.NodeProto) -> list[str]:
    """Return what the graphs within a node read of the values around it, each once, in order."""
    return list(dict.fromkeys(name for graph in _graphs(node) for name in _unmade(graph)))


def _graphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def nodes_within(node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    """Yield the nodes of the graphs within a node, however deep."""
    for graph in _graphs(node):
        for inner in graph.node:
            yield inner
            yield from nodes_within(inner)


def _unmade(graph: onnx.GraphProto) -> Iterator[str]:
    made = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        inner = [name for each in _graphs(node) for name in _unmade(each)]
        yield from (name for name in [*node.input, *inner] if name and name not in made)
        made |= set(node.output)
    yield from (value.name for value in graph.output if value.name not in made)


def model_of_node(
    node: onnx.NodeProto,
    inputs: Mapping[str, TensorType],
    constants: Mapping[str, Array],
    opsets: Mapping[str, int],
) -> onnx.ModelProto:
    """Return the model of ``node`` alone; what it reads is among ``inputs`` or ``constants``."""
    given = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(np.dtype(str(kind.dtype))), list(kind.shape)
        )
        for name, kind in inputs.items()
    ]
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    made = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([node], "node", given, made, tensors)
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=_ir_version(imports))


def _ir_version(imports: Sequence[onnx.OperatorSetIdProto]) -> int:
    """Return the oldest version of the format that has these operators, as older readers know it."""
    known = [each for each in imports if each.domain in ("", "ai.onnx.ml")]
    return int(helper.find_min_ir_version_for(known, ignore_unknown=True)) if known else 8
