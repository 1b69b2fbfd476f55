"""Replace variables of lets by their values: the graph form that most passes and the fusion expect.

Before::

    let %v = exp(%x);
    %0 = add(%v, %v);

After::

    %0 = exp(%x);
    %1 = add(%0, %0);

The value stays one node, computed once. Tests: tests/vta/relay/transform/test_inline_lets.py.
"""

from vta.relay.ir.nodes import Expr, Function, Let
from vta.relay.ir.traverse import post_order
from vta.relay.ops.lets import bindings
from vta.relay.ops.rewrite import replace_nodes, with_body

__all__ = ["inline_lets"]


def inline_lets(function: Function) -> Function:
    """Return ``function`` without lets; itself if it has none."""
    if not any(isinstance(expr, Let) for expr in post_order(function.body)):
        return function
    flat = bindings(function.body)
    values: dict[Expr, Expr] = {}
    for var, value in flat.bound:
        values[var] = replace_nodes(value, values)
    return with_body(function, replace_nodes(flat.result, values))
