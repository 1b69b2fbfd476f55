"""Inlining: the bodies that remain when inlined stages have replaced the reads of their outputs.

Tests: tests/vta/te/test_inline.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vta.te.operation import ComputeOp, PlaceholderOp, load_tensor
from vta.te.stage import ScheduleError, Stage
from vta.te.tensor import Tensor
from vta.tir.expr import Expr, ProducerLoad, Reduce
from vta.tir.traverse import map_expr, substitute

if TYPE_CHECKING:
    from vta.te.schedule import Schedule

__all__ = ["inlined_bodies"]


def inlined_bodies(schedule: Schedule) -> dict[Stage, tuple[Expr, ...]]:
    """Return the body of every computed stage that is not inlined, with inlined stages put into it."""
    ready: dict[Tensor, tuple[ComputeOp, Expr]] = {}
    result: dict[Stage, tuple[Expr, ...]] = {}

    elements: dict[tuple[Tensor, tuple[Expr, ...]], Expr] = {}
    """An element that is read in several places is one object: else stages inside of each other grow exponentially."""

    def redirect(expr: Expr) -> Expr:
        if not isinstance(expr, ProducerLoad) or load_tensor(expr) not in ready:
            return expr
        tensor = load_tensor(expr)
        key = (tensor, expr.indices)
        if key not in elements:
            op, body = ready[tensor]
            places = {axis.var: index for axis, index in zip(op.axis, expr.indices, strict=True)}
            elements[key] = substitute(body, places)
        return elements[key]

    for stage in schedule.stages:
        op = stage.op
        if not isinstance(op, ComputeOp):
            if not isinstance(op, PlaceholderOp):
                _refuse_inlined(schedule, stage)
                result[stage] = ()
            continue
        body = op.body if not ready else _shared(tuple(map_expr(redirect, expr) for expr in op.body))
        if stage.is_inlined:
            ready.update({tensor: (op, expr) for tensor, expr in zip(op.outputs, body, strict=True)})
        else:
            result[stage] = body
    return result


def _refuse_inlined(schedule: Schedule, stage: Stage) -> None:
    """Refuse an inlined stage whose elements a statement or a scan needs in memory."""
    for tensor in stage.op.input_tensors:
        if schedule[tensor].is_inlined:
            raise ScheduleError(
                f"stage {tensor.name!r}: compute_inline: stage {stage.name!r} reads it from memory; compute it "
                "at the root"
            )


def _shared(body: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Return ``body`` with the outputs of one reduction sharing one source again."""
    first = body[0]
    if not isinstance(first, Reduce):
        return body
    return tuple(replace(first, value_index=i) for i in range(len(body)))
