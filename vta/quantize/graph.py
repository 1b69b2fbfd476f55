"""An ONNX graph while it is being changed: nodes in order, constants as arrays, and who reads what.

Tests: tests/vta/quantize/test_graph.py.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from runtime.executor.operators.types import Array
from vta.quantize.errors import QuantizeError
from vta.relay.onnx.loading import tensor_value

__all__ = ["Graph", "attribute", "name_of", "whole", "wholes"]


def attribute(node: onnx.NodeProto, name: str, default: object = None) -> object:
    """Return an attribute's value, as ``onnx.helper`` gives it."""
    for each in node.attribute:
        if each.name == name:
            return helper.get_attribute_value(each)
    return default


def whole(node: onnx.NodeProto, name: str, default: int) -> int:
    """Return an attribute that is a whole number."""
    value = attribute(node, name, default)
    assert isinstance(value, int)
    return value


def wholes(node: onnx.NodeProto, name: str, default: Sequence[int]) -> list[int]:
    """Return an attribute that is several of them."""
    value = attribute(node, name, default)
    assert isinstance(value, Sequence)
    return [int(each) for each in value]


def name_of(node: onnx.NodeProto) -> str:
    """Return what a node is called: its name, or what it makes."""
    return str(node.name or node.output[0])


class Graph:
    """The main graph of a model.

    Attributes
    ----------
    nodes : list[onnx.NodeProto]
        In an order in which everything is made before it is read.
    constants : dict[str, Array]
        What initialisers and ``Constant`` nodes hold, by name.
    inputs, outputs : tuple[str, ...]
        Names of what is given, without constants, and of what comes out.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model
        graph = model.graph
        self.nodes: list[onnx.NodeProto] = []
        where = f"graph {graph.name!r}"
        self.constants: dict[str, Array] = {t.name: tensor_value(t, where) for t in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and (value := _constant(node)) is not None:
                self.constants[node.output[0]] = value
            else:
                copied = onnx.NodeProto()
                copied.CopyFrom(node)
                self.nodes.append(copied)
        self.inputs = tuple(value.name for value in graph.input if value.name not in self.constants)
        self.outputs = tuple(value.name for value in graph.output)
        self._names = {name for node in self.nodes for name in (*node.input, *node.output)} | set(self.constants)
        self._names |= set(self.inputs)

    def copy(self) -> "Graph":
        """Return a graph that can be changed without changing this one; constants are shared until replaced."""
        made = Graph.__new__(Graph)
        made._model, made.inputs, made.outputs = self._model, self.inputs, self.outputs
        made._names, made.constants = set(self._names), dict(self.constants)
        made.nodes = []
        for node in self.nodes:
            copied = onnx.NodeProto()
            copied.CopyFrom(node)
            made.nodes.append(copied)
        return made

    def producers(self) -> dict[str, onnx.NodeProto]:
        """Return which node makes a tensor."""
        return {name: node for node in self.nodes for name in node.output if name}

    def readers(self) -> dict[str, list[onnx.NodeProto]]:
        """Return which nodes read a tensor, those in graphs within a node included; a reader twice counts twice."""
        found: dict[str, list[onnx.NodeProto]] = {}
        for node in self.nodes:
            for name in (*node.input, *_read_within(node)):
                if name:
                    found.setdefault(name, []).append(node)
        return found

    def fresh(self, wish: str) -> str:
        """Return a name that nothing has, like ``wish``."""
        name, number = wish, 1
        while name in self._names:
            name, number = f"{wish}_{number}", number + 1
        self._names.add(name)
        return name

    def constant(self, wish: str, value: Array) -> str:
        """Add a constant; return its name."""
        name = self.fresh(wish)
        self.constants[name] = value
        return name

    def rename_reads(self, old: str, new: str) -> None:
        """Let every node that reads ``old`` read ``new``."""
        for node in self.nodes:
            for at, name in enumerate(node.input):
                if name == old:
                    node.input[at] = new

    def remove(self, unwanted: Iterable[onnx.NodeProto]) -> None:
        """Take nodes out; they are known by identity."""
        gone = {id(node) for node in unwanted}
        self.nodes = [node for node in self.nodes if id(node) not in gone]

    def to_model(self, nodes: Sequence[onnx.NodeProto] | None = None) -> onnx.ModelProto:
        """Return the model, with the constants that are read and nothing else."""
        made = onnx.ModelProto()
        made.CopyFrom(self._model)
        graph = made.graph
        del graph.node[:], graph.initializer[:], graph.value_info[:]
        kept = list(self.nodes if nodes is None else nodes)
        graph.node.extend(kept)
        read = {name for node in kept for name in (*node.input, *_read_within(node))} | set(self.outputs)
        given = [value for value in graph.input if value.name not in self.constants]
        del graph.input[:]
        graph.input.extend(given)
        graph.initializer.extend(
            numpy_helper.from_array(np.asarray(value, order="C"), name)
            for name, value in self.constants.items()
            if name in read
        )
        return made


def _constant(node: onnx.NodeProto) -> Array | None:
    """Return the value of a ``Constant`` node; None for kinds that are no arrays of numbers."""
    [attr] = node.attribute
    value = helper.get_attribute_value(attr)
    match attr.name:
        case "value":
            return tensor_value(value, f"node {name_of(node)!r}")
        case "value_float" | "value_floats":
            return np.asarray(value, np.float32)
        case "value_int" | "value_ints":
            return np.asarray(value, np.int64)
        case _:
            return None


def _read_within(node: onnx.NodeProto, depth: int = 0) -> list[str]:
    """Return what graphs within a node read."""
    if depth > 32:
        raise QuantizeError("the model has graphs within graphs, more than 32 deep")
    found: list[str] = []
    for each in node.attribute:
        for graph in (each.g, *each.graphs):
            found += [value.name for value in graph.output]
            for inner in graph.node:
                found += [*inner.input, *_read_within(inner, depth + 1)]
    return found
