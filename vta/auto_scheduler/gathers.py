"""Definitions of which GEMM reads some rows and columns alone: what is in between need not be loaded.

A convolution of one place with a stride reads every other row and column. ``gathered`` puts a stage in front of it
which has just these, and which becomes its load. Tests: tests/vta/auto_scheduler/test_gathers.py.
"""

from collections.abc import Mapping
from math import gcd

from vta import te
from vta.arith.linear import detect_linear_equation
from vta.auto_scheduler.products import Product, extent_of
from vta.tir.expr import Expr, IntImm, ProducerLoad, Var, const
from vta.tir.traverse import map_expr, walk
from vta.topi.core.fused import producers_first

__all__ = ["gaps_of", "gathered"]

_NAME = "gathered"

_Place = tuple[int, int, Mapping[Var, int]]
"""How far apart the places of a dimension are that are read, the first one, and the steps of the loops among these."""


def gathered(output: te.Tensor, products: Mapping[te.Tensor, Product]) -> te.Tensor:
    """Return ``output`` with a stage for each operand of GEMM of which some places alone are read.

    These are operands as they lie in memory: pads are for the loads of what has windows, which leave out nothing.
    """
    replaced: dict[te.Tensor, te.Tensor] = {}
    for tensor in producers_first(output):
        op = tensor.op
        if not isinstance(op, te.ComputeOp):
            continue
        product = products.get(tensor)
        is_plain = product is not None and isinstance(product.data.op, te.PlaceholderOp) and not product.taps
        body = tuple(_rewritten(each, replaced, product if is_plain else None) for each in op.body)
        if any(new is not old for new, old in zip(body, op.body, strict=True)):
            again = te.ComputeOp(op.name, op.tag, op.attrs, op.axis, body, op.origin)
            replaced[tensor] = again.outputs[0]
    return replaced.get(output, output)


def gaps_of(tensor: te.Tensor) -> tuple[int, ...]:
    """Return how far apart the places lie in memory that a stage of ``gathered`` has; ones for any other tensor."""
    op = tensor.op
    if not isinstance(op, te.ComputeOp) or op.name != _NAME:
        return (1,) * tensor.ndim
    [load] = [node for node in walk(op.body[0]) if isinstance(node, ProducerLoad)]
    found = []
    for index, axis in zip(load.indices, op.axis, strict=True):
        linear = detect_linear_equation(index, [axis.var])
        step = linear[0] if linear else None
        found.append(step.value if isinstance(step, IntImm) else 1)
    return tuple(found)


def _rewritten(body: Expr, replaced: Mapping[te.Tensor, te.Tensor], product: Product | None) -> Expr:
    """Return ``body`` reading what has been ``replaced``, and the data of ``product`` through what is read of it."""
    again = map_expr(lambda expr: _redirected(expr, replaced), body)
    return again if product is None else map_expr(lambda expr: _through(expr, product), again)


def _redirected(expr: Expr, replaced: Mapping[te.Tensor, te.Tensor]) -> Expr:
    if isinstance(expr, ProducerLoad) and expr.producer in replaced:
        return ProducerLoad(replaced[expr.producer], expr.indices)  # type: ignore[index]  # a tensor
    return expr


def _through(expr: Expr, product: Product) -> Expr:
    """Return the read of the data through what has the places that are read, if there are others in between."""
    if not isinstance(expr, ProducerLoad) or expr.producer is not product.data:
        return expr
    loops = {axis.var: extent_of(axis) for axis in (*product.op.axis, *product.op.reduce_axis)}
    places = [_place(index, loops) for index in expr.indices]
    if all(place is None for place in places):
        return expr
    shape = [
        extent if place is None else 1 + sum(step * (loops[var] - 1) for var, step in place[2].items())
        for place, extent in zip(places, product.data.shape, strict=True)
    ]

    def element(*axes: Expr) -> Expr:
        return product.data(
            *(axis if place is None else axis * place[0] + place[1] for axis, place in zip(axes, places, strict=True))
        )

    stage = te.compute(tuple(shape), element, name=_NAME, tag="injective")
    indices = tuple(
        index if place is None else _sum(place[2]) for index, place in zip(expr.indices, places, strict=True)
    )
    return ProducerLoad(stage, indices)


def _place(index: Expr, loops: Mapping[Var, int]) -> _Place | None:
    """Return which places an index is, None if they are neighbours, or not known."""
    used = [var for var in loops if loops[var] > 1 and any(node is var for node in walk(index))]
    linear = detect_linear_equation(index, list(loops))
    if linear is None or not all(isinstance(each, IntImm) for each in linear):
        return None
    *steps, first = (each.value for each in linear if isinstance(each, IntImm))
    of = {var: step for var, step in zip(loops, steps, strict=True) if var in used}
    apart = gcd(*of.values()) if of else 1
    if apart < 2 or any(step < 0 for step in of.values()):
        return None
    return apart, first, {var: step // apart for var, step in of.items()}


def _sum(steps: Mapping[Var, int]) -> Expr:
    total: Expr = const(0)
    for var, step in steps.items():
        total = total + var * step
    return total
