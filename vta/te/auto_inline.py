"""Inlining of stages that only move or combine single elements.

Tests: tests/vta/te/test_auto_inline.py.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from vta.te.operation import ComputeOp, Operation, tensor_loads
from vta.tir.expr import Var

if TYPE_CHECKING:
    from vta.te.schedule import Schedule

__all__ = [
    "AutoInlineBroadcast", "AutoInlineElemWise", "AutoInlineInjective", "is_broadcast", "is_elementwise",
    "is_injective",
]  # fmt: skip


def is_injective(op: Operation) -> bool:
    """Whether each element of the output comes from single elements of the inputs: no reduction."""
    return isinstance(op, ComputeOp) and not op.reduce_axis


def is_broadcast(op: Operation) -> bool:
    """Whether every read takes some of the axes in their order, each alone."""
    return isinstance(op, ComputeOp) and is_injective(op) and None not in _positions(op)


def is_elementwise(op: Operation) -> bool:
    """Whether every read is at the very position that is computed."""
    if not isinstance(op, ComputeOp) or not is_injective(op):
        return False
    every = list(range(len(op.axis)))
    return all(positions == every for positions in _positions(op))


def _positions(op: ComputeOp) -> list[list[int] | None]:
    """Return for each read which axes its indices are, or None if they are not axes in ascending order."""
    number = {axis.var: i for i, axis in enumerate(op.axis)}
    result: list[list[int] | None] = []
    for load in tensor_loads(op.body):
        found = [number.get(index, -1) if isinstance(index, Var) else -1 for index in load.indices]
        ascending = -1 not in found and all(a < b for a, b in pairwise(found))
        result.append(found if ascending else None)
    return result


def _inline(schedule: Schedule, qualifies: Callable[[Operation], bool]) -> None:
    """Inline stages; what a statement of the user's own or a scan reads stays in memory."""
    needed = {
        tensor for stage in schedule.stages if not isinstance(stage.op, ComputeOp) for tensor in stage.op.input_tensors
    }
    for stage in schedule.stages:
        if stage.is_output or stage.is_scheduled or needed.intersection(stage.op.outputs):
            continue
        if qualifies(stage.op):
            stage.compute_inline()


def AutoInlineElemWise(schedule: Schedule) -> None:  # noqa: N802  # TVM's name
    """Inline every stage that is elementwise, is no output and has no schedule of its own."""
    _inline(schedule, is_elementwise)


def AutoInlineBroadcast(schedule: Schedule) -> None:  # noqa: N802  # TVM's name
    """Inline every stage that is elementwise or a broadcast, is no output and has no schedule of its own."""
    _inline(schedule, is_broadcast)


def AutoInlineInjective(schedule: Schedule) -> None:  # noqa: N802  # TVM's name
    """Inline every stage without a reduction that is no output and has no schedule of its own."""
    _inline(schedule, is_injective)
