"""Functions that a model brings along, written out where they are used.

A few functions that use one another can stand for more nodes than any memory holds, or for none that ever ends, so they
are counted first. Tests: tests/vta/relay/onnx/test_hostile.py.
"""

from collections.abc import Iterable, Mapping

import onnx
import onnx.inliner

from vta.relay.onnx.errors import OnnxError

__all__ = ["MOST_NODES", "written_out"]

MOST_NODES = 1 << 15
"""Nodes that a model may become beside those that it has: functions and loops written out."""

_Key = tuple[str, str]


def written_out(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model without functions of its own; raises ``OnnxError``."""
    if not model.functions:
        return model
    bodies = {(each.domain, each.name): each for each in model.functions}
    sizes: dict[_Key, int] = {}
    total = _size(model.graph.node, bodies, sizes, ())
    if total > MOST_NODES:
        raise OnnxError(f"its functions stand for {total:,} nodes, and {MOST_NODES:,} are written out at most")
    try:
        return onnx.inliner.inline_local_functions(model)
    except Exception as error:  # of several classes, in C++
        raise OnnxError(f"its functions cannot be written out: {' '.join(str(error).split())[:200]}") from None


def _size(
    nodes: Iterable[onnx.NodeProto],
    bodies: Mapping[_Key, onnx.FunctionProto],
    sizes: dict[_Key, int],
    within: tuple[_Key, ...],
) -> int:
    """Return how many nodes these become."""
    total = 0
    for node in nodes:
        key = (node.domain, node.op_type)
        if key in within:
            raise OnnxError(f"its function {node.op_type!r} uses itself")
        if key in bodies and key not in sizes:
            if len(within) == 100:
                raise OnnxError("its functions use one another more than 100 deep")
            sizes[key] = _size(bodies[key].node, bodies, sizes, (*within, key))
        total += sizes.get(key, 1)
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                total += _size(graph.node, bodies, sizes, within)
    return total
