"""Caches: a copy that readers read through, and a copy that a stage writes through.

Tests: tests/vta/te/test_cache.py.
"""

from __future__ import annotations

from dataclasses import replace

from isa.origin import Origin
from vta.arith.simplify import Analyzer
from vta.te.lowering.predicates import split_guards
from vta.te.operation import ComputeOp, domain
from vta.te.relations import Role, extents_down, values_down, values_up
from vta.te.source import user_line
from vta.te.stage import ScheduleError, Stage
from vta.te.tensor import Tensor
from vta.tir import ops
from vta.tir.expr import And, CommReducer, Expr, IntImm, IterVar, ProducerLoad, Range, Reduce, Var, binary, const
from vta.tir.traverse import map_expr, substitute

__all__ = ["cached_reader", "cached_writer", "read_cache"]


def read_cache(tensor: Tensor, scope: str) -> ComputeOp:
    """Return the operation that copies ``tensor``."""
    axes = tuple(IterVar(Range(const(0), size), Var(f"ax{i}")) for i, size in enumerate(tensor.shape))
    name = f"{tensor.name}.{scope}"
    return ComputeOp(name, "", {}, axes, (tensor(*(axis.var for axis in axes)),), Origin(name, user_line()))


def cached_reader(op: ComputeOp, tensor: Tensor, cache: Tensor) -> ComputeOp:
    """Return ``op`` reading ``cache`` where it read ``tensor``."""

    def redirect(expr: Expr) -> Expr:
        return ProducerLoad(cache, expr.indices) if isinstance(expr, ProducerLoad) and expr.producer is tensor else expr

    return op.redefined(tuple(map_expr(redirect, expr) for expr in op.body))


def cached_writer(stage: Stage, scope: str) -> tuple[ComputeOp, ComputeOp]:
    """Return the operation that computes into the cache, and the one that copies from it.

    The cache's dimensions are the loops of ``stage`` over output axes, so that splits and the order of loops decide its
    layout; where a split does not divide, the cache's elements beyond the output are zero.
    """
    op = stage.compute_op("cache_write")
    roles = stage.roles()
    leaves = [leaf for leaf in stage.leaf_iter_vars if Role.REDUCE not in roles[leaf]]
    _check_reduction(stage, op)
    extents: dict[IterVar, Expr] = {axis: domain(axis).extent for axis in (*op.axis, *op.reduce_axis)}
    extents_down(stage.relations, extents, Analyzer())
    axes = tuple(IterVar(Range(const(0), extents[leaf]), Var(f"{leaf.name}.c")) for leaf in leaves)
    values: dict[IterVar, Expr] = {
        leaf: const(0) if _is_one(extents[leaf]) else axis.var for leaf, axis in zip(leaves, axes, strict=True)
    }
    values_up(stage.relations, extents, values)
    analyzer = Analyzer({axis.var: domain(axis) for axis in axes})
    conditions = [g.condition for g in split_guards(stage.relations, extents, values, analyzer)]
    body = _moved_body(op, {axis.var: values[axis] for axis in op.axis}, conditions)
    name = f"{op.name}.{scope}"
    cache = ComputeOp(name, op.tag, op.attrs, axes, body, Origin(name, op.origin.source if op.origin else ""))
    places = _places(stage, leaves, extents)
    copy = op.redefined(tuple(tensor(*places) for tensor in cache.outputs))
    return cache, copy


def _is_one(extent: Expr) -> bool:
    return isinstance(extent, IntImm) and extent.value == 1


def _check_reduction(stage: Stage, op: ComputeOp) -> None:
    loops = stage.leaf_iter_vars
    for axis in op.reduce_axis:
        if not any(axis is leaf for leaf in loops):
            raise ScheduleError(
                f"stage {stage.name!r}: cache_write: the reduction axis {axis.name!r} was split or fused; "
                "call cache_write first and do that to the cache's stage"
            )


def _moved_body(op: ComputeOp, values: dict[Var, Expr], conditions: list[Expr]) -> tuple[Expr, ...]:
    """Return ``op``'s body in the cache's axes, where ``conditions`` hold."""
    body: list[Expr] = []
    axes = {a: _moved_axis(a, values) for a in op.reduce_axis}
    inside = {**values, **{old.var: new.var for old, new in axes.items()}}
    for expr in op.body:
        moved = substitute(expr, inside)
        if isinstance(moved, Reduce):
            condition = moved.condition
            for guard in conditions:
                condition = binary(And, condition, ops.likely(guard))
            combiner = _moved_combiner(moved.combiner, values)
            moved = replace(moved, combiner=combiner, axis=tuple(axes.values()), condition=condition)
        elif conditions:
            moved = ops.if_then_else(ops.all(*(ops.likely(c) for c in conditions)), moved, const(0, moved.dtype))
        body.append(moved)
    first = body[0]
    return tuple(replace(first, value_index=i) for i in range(len(body))) if isinstance(first, Reduce) else tuple(body)


def _moved_combiner(combiner: CommReducer, values: dict[Var, Expr]) -> CommReducer:
    """Return a combiner that may use axes of the output."""
    result = tuple(substitute(part, values) for part in combiner.result)
    identity = tuple(substitute(part, values) for part in combiner.identity)
    if all(a is b for a, b in zip((*result, *identity), (*combiner.result, *combiner.identity), strict=True)):
        return combiner
    return replace(combiner, result=result, identity=identity)


def _moved_axis(axis: IterVar, values: dict[Var, Expr]) -> IterVar:
    dom = domain(axis)
    low, extent = substitute(dom.min, values), substitute(dom.extent, values)
    if low is dom.min and extent is dom.extent:
        return axis
    return replace(axis, dom=Range(low, extent), var=Var(axis.name))


def _places(stage: Stage, leaves: list[IterVar], extents: dict[IterVar, Expr]) -> list[Expr]:
    """Return the position in the cache of the output's element: the leaves' values for given root axes."""
    op = stage.compute_op("cache_write")
    values: dict[IterVar, Expr] = {axis: axis.var for axis in op.axis}
    values_down(stage.relations, extents, values)
    return [const(0) if _is_one(extents[leaf]) else values[leaf] for leaf in leaves]
