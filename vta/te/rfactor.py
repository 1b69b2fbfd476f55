"""Factoring a reduction: partial results along one of its loops first, then the reduction of these.

Tests: tests/vta/te/test_rfactor.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from isa.origin import Origin
from vta.arith.simplify import Analyzer
from vta.te.lowering.predicates import split_guards
from vta.te.operation import ComputeOp, domain
from vta.te.relations import Role, extents_down, parents_of, values_up
from vta.te.stage import ScheduleError, Stage
from vta.tir import ops
from vta.tir.dtype import BOOL
from vta.tir.expr import And, Expr, IntImm, IterKind, IterVar, Range, Reduce, Var, binary, const
from vta.tir.traverse import substitute, uses_var

__all__ = ["Factored", "factored"]


@dataclass(frozen=True, slots=True)
class Factored:
    """``partial`` has one more axis than ``whole``, which reduces over it; ``axis`` is that reduction's axis."""

    partial: ComputeOp
    whole: ComputeOp
    axis: IterVar


def factored(stage: Stage, axis: IterVar, factor_axis: int) -> Factored:
    """Return the two operations that do what ``stage`` does, loop ``axis`` of its reduction being the second's.

    ``factor_axis`` is where the new axis stands in the shape of the partial results.
    """
    op = stage.compute_op("rfactor")
    reduce = _reduction(stage, op, axis)
    position = factor_axis + len(op.axis) + 1 if factor_axis < 0 else factor_axis
    if not 0 <= position <= len(op.axis):
        raise ScheduleError(
            f"stage {stage.name!r}: rfactor: expected a place from 0 to {len(op.axis)} for the axis, got {factor_axis}"
        )
    extents: dict[IterVar, Expr] = {root: domain(root).extent for root in (*op.axis, *op.reduce_axis)}
    extents_down(stage.relations, extents, Analyzer())
    outputs = [IterVar(domain(a), Var(a.name)) for a in op.axis]
    factor = IterVar(Range(const(0), extents[axis]), Var(axis.name))
    roles = stage.roles()
    others = {
        leaf: IterVar(Range(const(0), extents[leaf]), Var(leaf.name), IterKind.COMM_REDUCE)
        for leaf in stage.leaf_iter_vars
        if roles[leaf] is Role.REDUCE and leaf is not axis
    }
    loops = {**others, axis: factor}
    body = _partial_body(stage, reduce, loops, tuple(others.values()), extents, outputs)
    name = f"{op.name}.rf"
    axes = (*outputs[:position], factor, *outputs[position:])
    partial = ComputeOp(name, op.tag, op.attrs, axes, body, Origin(name, op.origin.source if op.origin else ""))
    again = IterVar(Range(const(0), extents[axis]), Var(f"{axis.name}.v"), IterKind.COMM_REDUCE)
    places = [a.var for a in (*op.axis[:position], again, *op.axis[position:])]
    sources = tuple(tensor(*places) for tensor in partial.outputs)
    whole = replace(reduce, source=sources, axis=(again,), condition=IntImm(1, BOOL))
    bodies = tuple(replace(whole, value_index=i) for i in range(op.num_outputs))
    return Factored(partial, op.redefined(bodies), again)


def _reduction(stage: Stage, op: ComputeOp, axis: IterVar) -> Reduce:
    """Return the reduction that ``axis`` is a loop of, if it can be factored."""
    stage.leaf(axis, "rfactor")
    roles = stage.roles()
    reduce = op.body[0]
    if not isinstance(reduce, Reduce) or roles[axis] is not Role.REDUCE:
        raise ScheduleError(f"stage {stage.name!r}: rfactor: axis {axis.name!r} is no loop of a reduction alone")
    for leaf in stage.leaf_iter_vars:
        if roles[leaf] == Role.DATA | Role.REDUCE:
            raise ScheduleError(
                f"stage {stage.name!r}: rfactor: loop {leaf.name!r} walks over outputs and reduction; factor first"
            )
    roots = {root.var for root in (*op.axis, *op.reduce_axis)}
    for root in op.reduce_axis:
        if uses_var(domain(root).min, roots) or uses_var(domain(root).extent, roots):
            raise ScheduleError(
                f"stage {stage.name!r}: rfactor: the range of reduction axis {root.name!r} depends on other axes"
            )
    return reduce


def _partial_body(
    stage: Stage,
    reduce: Reduce,
    loops: Mapping[IterVar, IterVar],
    axes: tuple[IterVar, ...],
    extents: Mapping[IterVar, Expr],
    outputs: list[IterVar],
) -> tuple[Expr, ...]:
    """Return the reduction over ``axes`` alone, or without any the elements themselves."""
    op = stage.compute_op("rfactor")
    values: dict[IterVar, Expr] = {leaf: loop.var for leaf, loop in loops.items()}
    values_up(stage.relations, extents, values)
    names: dict[Var, Expr] = {old.var: new.var for old, new in zip(op.axis, outputs, strict=True)}
    names.update({root.var: values[root] + domain(root).min for root in op.reduce_axis})
    analyzer = Analyzer({loop.var: domain(loop) for loop in loops.values()})
    relations = [r for r in stage.relations if all(parent in values for parent in parents_of(r))]
    condition = substitute(reduce.condition, names)
    for guard in split_guards(relations, extents, values, analyzer):
        condition = binary(And, condition, ops.likely(guard.condition))
    source = tuple(substitute(e, names) for e in reduce.source)
    if axes:
        partial = replace(reduce, source=source, axis=axes, condition=condition, init=())
        return tuple(replace(partial, value_index=i) for i in range(len(source)))
    return tuple(ops.if_then_else(condition, e, i) for e, i in zip(source, reduce.combiner.identity, strict=True))
