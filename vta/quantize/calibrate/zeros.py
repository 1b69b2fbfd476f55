"""Which tensors may have a zero point at no cost on the accelerator.

A zero point in the inputs of a product adds the same to all sums of a channel, and becomes part of the bias. Where
pads are read, which are loaded as cells of 0, it adds something else at the edges, and a tensor of that is loaded as
well; products of two tensors are made of cells as they are. Tests: tests/vta/quantize/calibrate/test_zeros.py.
"""

import onnx

from vta.quantize.graph import Graph, attribute, wholes
from vta.quantize.plan import Plan

__all__ = ["at_no_cost"]


def at_no_cost(graph: Graph, plan: Plan) -> frozenset[str]:
    """Return the points with a scale of their own of which no reader is slower for a zero point."""
    readers = graph.readers()
    costly = {
        point.root
        for name, point in plan.points.items()
        if any(_is_slower(node, graph) for node in readers.get(name, ()))
    }
    return frozenset(plan.roots) - costly


def _is_slower(node: onnx.NodeProto, graph: Graph) -> bool:
    """Return whether a zero point in what ``node`` reads makes it slower."""
    match node.op_type:
        case "Conv" | "AveragePool":
            return any(wholes(node, "pads", ())) or attribute(node, "auto_pad", b"NOTSET") in (
                b"SAME_UPPER",
                b"SAME_LOWER",
            )
        case "ConvTranspose" | "Pad":
            return True
        case "Mul" | "MatMul":
            return not any(name in graph.constants for name in node.input)
        case _:
            return False
