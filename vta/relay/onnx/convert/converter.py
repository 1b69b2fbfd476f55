"""What a converter is, and those that are one call. Tests: tests/vta/relay/onnx."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from runtime.executor.operators.names import Op
from vta.relay.ir.nodes import Expr
from vta.relay.onnx.node import Node

__all__ = ["Converter", "all_inputs", "direct"]

Converter: TypeAlias = Callable[[Node], Sequence[Expr]]
"""From a node to the values of its outputs; fewer than the node has where the others are not supported."""


def direct(op: Op) -> Converter:
    """Return the converter of an operator that takes the same inputs, has no attributes, and one output."""

    def convert(node: Node) -> Sequence[Expr]:
        return [node.call(op, all_inputs(node))]

    return convert


def all_inputs(node: Node) -> list[Expr]:
    """Return the inputs, none of which may be left out."""
    return [node.input(index) for index in range(len(node.inputs))]
