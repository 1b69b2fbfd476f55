"""Which tensors may have a zero point, and what it costs the accelerator.

A zero point in the inputs of a layer adds the same to all sums of a channel, and becomes part of the bias. Where pads
are read, which are loaded as cells of 0, it adds something else at the edges: a tensor of that is then loaded as well.
Products of two tensors are made of cells as they are, so that those have none.
Tests: tests/vta/quantize/calibrate/test_zeros.py.
"""

from collections.abc import Callable

import onnx

from vta.quantize.graph import Graph, attribute, wholes
from vta.quantize.plan import Plan

__all__ = ["at_no_cost", "on_the_accelerator"]


def at_no_cost(graph: Graph, plan: Plan) -> frozenset[str]:
    """Return the points with a scale of their own of which no reader is slower for a zero point."""
    return _without(graph, plan, lambda node: _multiplies(node, graph) or _pads(node))


def on_the_accelerator(graph: Graph, plan: Plan) -> frozenset[str]:
    """Return the points with a scale of their own of which no reader has to be left to the host for a zero point."""
    return _without(graph, plan, lambda node: _multiplies(node, graph))


def _without(graph: Graph, plan: Plan, minds: Callable[[onnx.NodeProto], bool]) -> frozenset[str]:
    """Return the points of which no reader minds a zero point; those that share a scale are read together."""
    readers = graph.readers()
    minded = {point.root for name, point in plan.points.items() if any(map(minds, readers.get(name, ())))}
    return frozenset(plan.roots) - minded


def _multiplies(node: onnx.NodeProto, graph: Graph) -> bool:
    return node.op_type in ("Mul", "MatMul") and not any(name in graph.constants for name in node.input)


def _pads(node: onnx.NodeProto) -> bool:
    match node.op_type:
        case "Conv" | "AveragePool":
            same = attribute(node, "auto_pad", b"NOTSET") in (b"SAME_UPPER", b"SAME_LOWER")
            return same or any(wholes(node, "pads", ()))
        case "ConvTranspose" | "Pad":
            return True
        case _:
            return False
