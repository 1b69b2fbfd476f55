"""The walk over an ONNX graph: every node in turn becomes calls of relay operators.

Tests: tests/vta/relay/onnx/test_importer.py.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import onnx

from runtime.executor.operators.types import (
    AnyDim,
    Array,
    Dim,
    RelayError,
    TensorType,
    TupleType,
    bind_dims,
    unknown_dims,
)
from vta.relay.ir.nodes import Constant, Expr, Function, FunctionAttrs, Tuple, Var, tensor_type
from vta.relay.ir.origin import Origin
from vta.relay.onnx.convert.table import converter
from vta.relay.onnx.errors import OnnxError
from vta.relay.onnx.foreign import declared_type, foreign_call, has_onnxruntime
from vta.relay.onnx.functions import function_of
from vta.relay.onnx.loading import load_model, opset_of, tensor_value
from vta.relay.onnx.local_functions import MOST_NODES, written_out
from vta.relay.onnx.node import Node
from vta.relay.onnx.old_versions import in_known_version
from vta.relay.onnx.one_node import captured_names

__all__ = ["Shapes", "from_onnx"]

Shapes: TypeAlias = Mapping[str, int | Sequence[int]]
"""Sizes for what a model leaves open: by the dimension's name (``{"n": 1}``), or a whole shape by the input's."""


def from_onnx(
    model: str | os.PathLike[str] | onnx.ModelProto,
    shapes: Shapes | None = None,
    *,
    constants: Mapping[str, Array] | None = None,
) -> Function:
    """Return the function of a model, given as a file or in memory; its parameters are the model's inputs, in order.

    ``shapes`` settles what the model leaves open; inputs that ``constants`` has are no parameters but these numbers,
    for models that take shapes or axes as inputs. The body is a tensor, or a tuple where there are several outputs.
    Raises ``OnnxError`` for what is no sound model, and naming the node that cannot be imported.
    """
    if isinstance(model, onnx.ModelProto):
        return _imported(model, shapes or {}, constants or {})
    loaded = load_model(model)
    try:
        return _imported(loaded, shapes or {}, constants or {})
    except OnnxError as error:
        raise OnnxError(f"{os.fspath(model)}: {error}") from None


def _imported(model: onnx.ModelProto, shapes: Shapes, constants: Mapping[str, Array]) -> Function:
    model = written_out(in_known_version(model))
    graph = model.graph
    opsets = {entry.domain: entry.version for entry in model.opset_import} | {"": opset_of(model)}
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    unknown = sorted(set(shapes) - {value.name for value in inputs} - _dim_names(inputs))
    if unknown:
        raise OnnxError(f"a size was given for {unknown[0]!r}, which is neither an input nor one of their dimensions")
    strange = sorted(set(constants) - {value.name for value in inputs})
    if strange:
        raise OnnxError(f"a constant was given for {strange[0]!r}, which is no input")
    params = tuple(Var(v.name, _input_type(v, shapes)) for v in inputs if v.name not in constants)
    values: dict[str, Expr] = {param.name: param for param in params}
    values |= {name: Constant(np.asarray(value), name) for name, value in constants.items()}
    results = _Walk(opsets, _declared(graph)).graph(graph, values)
    body = results[0] if len(results) == 1 else Tuple(tuple(results))
    return Function(params, body, FunctionAttrs(name=graph.name))


def _dim_names(inputs: Sequence[onnx.ValueInfoProto]) -> set[str]:
    return {d.dim_param for value in inputs for d in value.type.tensor_type.shape.dim if d.dim_param}


def _input_type(value: onnx.ValueInfoProto, shapes: Shapes) -> TensorType:
    """Return the type of an input with every size known; raises ``OnnxError``."""
    where = f"input {value.name!r}"
    if not value.type.HasField("tensor_type"):
        raise OnnxError(f"{where} is not a tensor")
    tensor = value.type.tensor_type
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
    except (KeyError, ValueError, TypeError):
        raise OnnxError(f"{where}: its element type, number {tensor.elem_type}, is not known") from None
    sizes = {name: size for name, size in shapes.items() if isinstance(size, int)}
    whole = shapes.get(value.name)
    if whole is not None and not isinstance(whole, int):
        dims: list[Dim] = [int(size) for size in whole]
        _require_agreement(where, tensor, dims)
    elif not tensor.HasField("shape"):
        raise OnnxError(f"{where} has no shape; give one, as shapes={{{value.name!r}: (1, 3, 224, 224)}}")
    else:
        dims = [_dim(d) for d in tensor.shape.dim]
    try:
        found = bind_dims(TensorType(tuple(dims), dtype), sizes)
    except RelayError as error:
        raise OnnxError(f"{where}: {error}") from None
    open_dims = unknown_dims(found)
    if open_dims:
        name = open_dims[0].name
        key = repr(name) if name != "?" else repr(value.name)
        size = "1" if name != "?" else f"({', '.join(str(d) if isinstance(d, int) else '1' for d in dims)})"
        option = f" (vta's option: --shape {name}=1)" if name != "?" else ""
        raise OnnxError(f"{where}: dimension {name} is not known; give it a size, as shapes={{{key}: {size}}}{option}")
    assert isinstance(found, TensorType)
    return found


def _dim(dim: onnx.TensorShapeProto.Dimension) -> Dim:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return int(dim.dim_value)
    return AnyDim(dim.dim_param or "?")


def _require_agreement(where: str, tensor: onnx.TypeProto.Tensor, dims: Sequence[Dim]) -> None:
    """Refuse a given shape that contradicts the model's."""
    if not tensor.HasField("shape"):
        return
    said = [_dim(d) for d in tensor.shape.dim]
    if len(said) != len(dims) or any(isinstance(s, int) and s != d for s, d in zip(said, dims, strict=True)):
        raise OnnxError(f"{where}: the model says ({', '.join(map(str, said))}), and shape {tuple(dims)} was given")


def _declared(graph: onnx.GraphProto) -> dict[str, TensorType]:
    """Return the types that a graph gives its tensors, where it says all of them."""
    found = {value.name: declared_type(value) for value in [*graph.value_info, *graph.output]}
    return {name: kind for name, kind in found.items() if kind is not None}


class _Walk:
    """One import: the versions of the operators, and the walk over graphs, which may lie within one another.

    ``within`` is the node that the graphs write out; ``foreign`` says whether onnxruntime may run a node.
    """

    def __init__(
        self,
        opsets: Mapping[str, int],
        declared: Mapping[str, TensorType],
        *,
        within: Origin | None = None,
        foreign: bool = True,
        rest: list[int] | None = None,
    ) -> None:
        self._opsets = opsets
        self._declared = declared
        self._within = within
        self._foreign = foreign
        self._rest = [MOST_NODES] if rest is None else rest
        """How many nodes of graphs within nodes may still be written out, which inner walks share."""

    def graph(self, graph: onnx.GraphProto, values: dict[str, Expr]) -> list[Expr]:
        """Add what a graph computes to ``values``; return its outputs."""
        where = f"graph {graph.name!r}"
        if graph.sparse_initializer:
            raise OnnxError(f"{where}: sparse tensors are not supported; convert them to dense ones")
        for tensor in graph.initializer:
            values[tensor.name] = Constant(tensor_value(tensor, where), tensor.name)
        for proto in graph.node:
            self._node(proto, values)
        missing = [value.name for value in graph.output if value.name not in values]
        if missing:
            raise OnnxError(f"{where}: output {missing[0]!r} is made by no node")
        if not graph.output:
            raise OnnxError(f"{where} has no outputs")
        names = [value.name for value in graph.output]
        if len(set(names)) < len(names):
            raise OnnxError(f"{where} has two outputs of one name")
        return [values[value.name] for value in graph.output]

    def _node(self, proto: onnx.NodeProto, values: dict[str, Expr]) -> None:
        inputs = tuple(values.get(name) if name else None for name in proto.input)
        domain = "" if proto.domain == "ai.onnx" else proto.domain

        def run_graph(graph: onnx.GraphProto, given: Sequence[Expr]) -> list[Expr]:
            return self._inner(node, graph, given, values)

        node = Node(proto, inputs, self._opsets.get(domain, 1), run_graph, self._within)
        unmade = [name for name in proto.input if name and name not in values]
        if unmade:
            node.refuse(f"it reads {unmade[0]!r}, which nothing before it makes; the graph may have a cycle")
        results = self._results(node, values)
        for name, result in zip(node.outputs, results, strict=False):
            if name in values:
                node.refuse(f"it makes {name!r}, which was made before")
            if name and result is not None:
                values[name] = result

    def _inner(
        self, node: Node, graph: onnx.GraphProto, given: Sequence[Expr], outer: Mapping[str, Expr]
    ) -> list[Expr]:
        """Return the outputs of a graph within ``node``, which sees the values around it."""
        if len(given) != len(graph.input):
            node.refuse(f"its graph takes {len(graph.input)} inputs, not {len(given)}")
        self._rest[0] -= len(graph.node) + 1
        if self._rest[0] < 0:
            node.refuse(f"its graphs stand for more than {MOST_NODES:,} nodes, which are not written out")
        names = [value.name for value in graph.input]
        return self.graph(graph, {**outer, **dict(zip(names, given, strict=True))})

    def _results(self, node: Node, values: Mapping[str, Expr]) -> Sequence[Expr | None]:
        """Return the outputs of a node: by its converter, as ONNX's own definition, or as a call of onnxruntime."""
        try:
            return self._converted(node)
        except OnnxError as refusal:
            names = [*_read_names(node.proto), *captured_names(node.proto)]
            reads = {name: values[name] for name in names if name in values}
            if any(isinstance(expr.type, TupleType) for expr in reads.values()):
                raise
            found = self._written_out(node, reads) or self._by_onnxruntime(node, reads, refusal)
            if found is None:
                raise
            return found

    def _written_out(self, node: Node, reads: Mapping[str, Expr]) -> Sequence[Expr | None] | None:
        """Return the outputs of a node that ONNX defines by other nodes, if all of them have converters."""
        types = {name: tensor_type(expr) for name, expr in reads.items()}
        model = function_of(node.proto, types, self._opsets)
        if model is None:
            return None
        opsets = {**self._opsets, **{entry.domain: entry.version for entry in model.opset_import}}
        try:
            found = _Walk(opsets, {}, within=node.origin, foreign=False, rest=self._rest).graph(
                model.graph, dict(reads)
            )
        except OnnxError:
            return None
        given = iter(found)
        return [next(given) if name else None for name in node.outputs]

    def _by_onnxruntime(
        self, node: Node, reads: Mapping[str, Expr], refusal: OnnxError
    ) -> Sequence[Expr | None] | None:
        """Return the outputs of a node as an opaque call, if onnxruntime can run it."""
        if not self._foreign:
            return None
        why = str(refusal).partition(": ")[2] or str(refusal)
        if not has_onnxruntime():
            raise OnnxError(f"{refusal}; the host may run it by onnxruntime: pip install 'vta-toolchain[onnxruntime]'")
        try:
            return foreign_call(
                node.proto, reads, self._opsets, self._declared, origin=node.origin, why=f"onnxruntime runs it: {why}"
            )
        except RelayError:
            return None

    def _converted(self, node: Node) -> Sequence[Expr]:
        """Return the outputs of a node by its converter."""
        convert: Callable[[Node], Sequence[Expr]] = converter(node)
        try:
            results = convert(node)
        except RelayError as error:
            node.refuse(str(error))
        node.require_all_read()
        if len(results) < len(node.outputs) and any(node.outputs[len(results) :]):
            node.refuse(f"output {len(results)} is not supported; export the model without it")
        return results


def _read_names(proto: onnx.NodeProto) -> list[str]:
    """Return the names of what a node reads, without those of inputs that are left out."""
    return [name for name in proto.input if name]
