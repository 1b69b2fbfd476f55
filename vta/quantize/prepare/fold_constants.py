"""Arithmetic on constants alone is done once, by ONNX's own reference.

Tests: tests/vta/quantize/prepare/test_fold_constants.py.
"""

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from runtime.executor.operators.types import Array
from vta.quantize.graph import Graph
from vta.relay.onnx.loading import opset_of

__all__ = ["fold_constants"]

_RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"}
_MOST_BYTES = 1 << 28
"""A constant that would be larger stays a computation."""


def fold_constants(graph: Graph) -> None:
    """Replace nodes whose operands are all constant by their results, in ``graph`` itself."""
    opset = opset_of(graph.to_model())
    done = []
    for node in graph.nodes:
        operands = [name for name in node.input if name]
        within = any(each.g.node or each.graphs for each in node.attribute)
        if not operands or within or node.op_type in _RANDOM or any(name not in graph.constants for name in operands):
            continue
        results = _evaluated(node, {name: graph.constants[name] for name in operands}, opset)
        if results is None or any(name in graph.outputs for name in node.output):
            continue
        graph.constants.update({name: value for name, value in zip(node.output, results, strict=True) if name})
        done.append(node)
    graph.remove(done)


def _evaluated(node: onnx.NodeProto, operands: dict[str, Array], opset: int) -> list[Array] | None:
    """Return what a node makes of constants; None where the reference has no such operator, or much comes out."""
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in operands.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([node], "constant", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    try:
        made = [np.asarray(value) for value in ReferenceEvaluator(model).run(None, operands)]
    except (NotImplementedError, RuntimeError, ValueError, TypeError):
        return None
    return None if sum(value.nbytes for value in made) > _MOST_BYTES else made
