"""From a model as it was exported to the graph that is quantised. Tests: tests/vta/quantize/prepare/test_prepare.py."""

import onnx
from onnx import version_converter

from vta.quantize.errors import QuantizeError
from vta.quantize.graph import Graph, name_of
from vta.quantize.prepare.fold_affine import fold_affine
from vta.quantize.prepare.fold_constants import fold_constants
from vta.relay.onnx.loading import opset_of
from vta.relay.onnx.old_versions import in_known_version

__all__ = ["prepared"]

_OPSET = 13
"""The first version whose DequantizeLinear has a scale for each channel."""

_QUANTISED = {"QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger"}
_NOTHING = {"Identity", "Dropout"}


def prepared(model: onnx.ModelProto) -> Graph:
    """Return the graph of a float model, ready to be quantised; raises ``QuantizeError`` for one that is quantised."""
    for node in model.graph.node:
        if node.op_type in _QUANTISED or node.domain not in ("", "ai.onnx"):
            reason = "is quantised already" if node.op_type in _QUANTISED else f"has an operator of {node.domain!r}"
            raise QuantizeError(f"node {name_of(node)!r} ({node.op_type}): the model {reason}; give the float model")
    model = in_known_version(model)
    if opset_of(model) < _OPSET:
        try:
            model = version_converter.convert_version(model, _OPSET)
        except (RuntimeError, ValueError) as error:
            raise QuantizeError(
                f"the model's operators cannot be converted to version {_OPSET} ({error}); export it with that version"
            ) from None
    graph = Graph(model)
    fold_constants(graph)
    _drop_nothing(graph)
    _limits_as_scalars(graph)
    fold_affine(graph)
    return graph


def _drop_nothing(graph: Graph) -> None:
    """Take out nodes that hand on what they read, but where an output would lose its name."""
    for node in list(graph.nodes):
        read_mask = len(node.output) > 1 and bool(node.output[1])
        if node.op_type in _NOTHING and not read_mask and node.output[0] not in graph.outputs:
            graph.rename_reads(node.output[0], node.input[0])
            graph.remove([node])


def _limits_as_scalars(graph: Graph) -> None:
    """Make scalars of limits that the version converter writes as arrays of one number."""
    for node in graph.nodes:
        for name in node.input[1:] if node.op_type == "Clip" else ():
            if name in graph.constants and graph.constants[name].size == 1:
                graph.constants[name] = graph.constants[name].reshape(())
