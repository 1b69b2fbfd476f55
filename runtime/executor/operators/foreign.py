"""A node of an ONNX model that the toolchain has no operator for: onnxruntime runs it, as one opaque call.

The node stands in a model of its own, as its attribute, so that a compiled network's file brings it along. That model
is checked before onnxruntime sees it: one node, no loop, and no numbers in other files. onnxruntime is an extra; where
it is missing, that is said when the network is loaded. Tests: tests/runtime/executor/operators/test_foreign.py,
tests/runtime/executor/operators/test_attribute_defaults.py.
"""

import base64
import binascii
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.operator import Pattern, Results, Rows, Types, define
from runtime.executor.operators.types import Array, RelayError, Shape, TensorType, TupleType, Type

__all__ = ["ROWS", "OnnxNodeAttrs", "foreign_session", "model_text"]

_MISSING = "onnxruntime runs it, and is not installed: pip install 'vta-toolchain[onnxruntime]'"


@dataclass(frozen=True, slots=True)
class OnnxNodeAttrs(Attrs):
    """``onnx.node(*data)``: what a node of ONNX gives.

    ``model`` is the node in a model of its own (``model_text``), whose inputs are the data in their order; ``gives``
    has shape and element type of every output. ``why`` says why no other operator does it.
    """

    model: str
    gives: tuple[tuple[Shape, str], ...]
    why: str = ""


def model_text(data: bytes) -> str:
    """Return a serialised model as an attribute has it."""
    return base64.b64encode(data).decode("ascii")


@functools.lru_cache(maxsize=256)
def foreign_session(model: str) -> Any:  # what onnxruntime has no types for
    """Return onnxruntime's session for a node's model; raises ``RelayError``, also where onnxruntime is missing."""
    try:
        import onnx
        import onnxruntime
        from google.protobuf.message import DecodeError
    except ImportError:
        raise RelayError(_MISSING) from None
    try:
        data = base64.b64decode(model, validate=True)
        found = onnx.ModelProto.FromString(data)
    except (binascii.Error, ValueError, DecodeError):
        raise RelayError("its model is damaged") from None
    if len(found.graph.node) != 1 or found.functions:
        raise RelayError(f"its model has {len(found.graph.node)} nodes, and it is to be one")
    if any(each.op_type == "Loop" for each in _nodes(found.graph)):
        raise RelayError("its model has a loop, and nobody knows how long that takes")
    if any(tensor.data_location or tensor.external_data for tensor in _tensors(found.graph)):
        raise RelayError("its model has numbers in other files")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # a session has threads of its own, and a network many nodes
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # classes of their own, which are no public names
        raise RelayError(f"onnxruntime cannot run it: {_first_line(error)}") from None


def _tensors(graph: Any) -> Iterator[Any]:
    """Yield all tensors of a graph and of those within it, which protobuf does not read beyond a depth."""
    yield from graph.initializer
    sparse = [*graph.sparse_initializer]
    for node in graph.node:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            sparse += [attribute.sparse_tensor, *attribute.sparse_tensors]
            for inner in _graphs(attribute):
                yield from _tensors(inner)
    for tensor in sparse:
        yield from (tensor.values, tensor.indices)


def _nodes(graph: Any) -> Iterator[Any]:
    """Yield all nodes of a graph and of those within it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in _graphs(attribute):
                yield from _nodes(inner)


def _graphs(attribute: Any) -> Iterator[Any]:
    if attribute.HasField("g"):
        yield attribute.g
    yield from attribute.graphs


def _first_line(error: Exception) -> str:
    """Return what onnxruntime says, without its own file names and line breaks."""
    text = " ".join(str(error).split())
    return text.removeprefix("[ONNXRuntimeError] : ")[:300]


def _type(_: Types, attrs: OnnxNodeAttrs) -> Type:
    kinds = tuple(TensorType(shape, dtype) for shape, dtype in attrs.gives)
    if not kinds:
        raise RelayError("it gives nothing")
    return kinds[0] if len(kinds) == 1 else TupleType(kinds)


def _run(arrays: Sequence[Array], attrs: OnnxNodeAttrs) -> Results:
    session = foreign_session(attrs.model)
    names = [value.name for value in session.get_inputs()]
    if len(names) != len(arrays):
        raise RelayError(f"its model takes {len(names)} inputs, not {len(arrays)}")
    try:
        found = session.run(None, dict(zip(names, arrays, strict=True)))
    except Exception as error:
        raise RelayError(f"onnxruntime stopped: {_first_line(error)}") from None
    made = tuple(np.asarray(each) for each in found)
    kinds = [(each.shape, each.dtype.name) for each in made]
    if kinds != [(tuple(shape), str(dtype)) for shape, dtype in attrs.gives]:
        raise RelayError(f"onnxruntime gave {kinds}, not {list(attrs.gives)}: what it gives depends on numbers")
    return made[0] if len(made) == 1 else made


ROWS: Rows = {Op.ONNX_NODE: define(("*data",), OnnxNodeAttrs, _type, _run, Pattern.OPAQUE)}
"""The row of the table of operators."""
