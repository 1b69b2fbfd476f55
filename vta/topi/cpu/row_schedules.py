"""Schedules for what is computed of rows with sums over them: softmax, layer norm and their like.

What one row takes is computed before the next one begins, so what lies between the stages stays in the cache; rows are
parallel. Where the reduced dimensions are the last ones, a reduction keeps a vector of partial results (``rfactor``);
elsewhere a vector is of neighbours that are reduced side by side. Either way the order of sums depends on the
processor's vectors alone. Tests: tests/vta/topi/cpu/test_row_schedules.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta import te
from vta.processor import processor_of
from vta.te.auto_inline import is_injective
from vta.tir.expr import IntImm, IterVar
from vta.topi.cpu.schedules import schedule_reduce

__all__ = ["schedule_rows", "schedule_softmax"]


def schedule_rows(outs: te.Tensor | Sequence[te.Tensor]) -> te.Schedule:
    """Return a schedule of one tensor, in front of which are reductions of its rows that keep their dimensions.

    What is anything else is scheduled as any reduction is.
    """
    out = outs if isinstance(outs, te.Tensor) else outs[0]
    s = te.create_schedule(out.op)
    reductions = [stage.op.output(0) for stage in s.stages if _reduces(stage.op)]
    first = _first_reduced(out, reductions)
    if first is None or (not isinstance(outs, te.Tensor) and len(outs) > 1):
        return schedule_reduce(outs)
    _inline(s)
    lanes, axes = processor_of().lanes, list(s[out].op.axis)
    inner = all(_is_one(tensor.shape[-1]) for tensor in reductions)
    row = _in_vectors(s, out, axes, first, lanes)
    for stage in list(s.stages):
        if stage.is_output or stage.is_inlined or not isinstance(stage.op, te.ComputeOp):
            continue
        tensor = stage.op.output(0)
        if not _reduces(stage.op):
            _in_vectors(s, tensor, list(stage.op.axis), first, lanes, mark=False)
            s[tensor].compute_at(s[out], row)
        elif inner:
            _partial_results(s, tensor, out, row, lanes)
        else:
            _side_by_side(s, tensor, lanes)
            s[tensor].compute_at(s[out], row)
    return s


schedule_softmax = schedule_rows


def _reduces(op: te.Operation) -> bool:
    return isinstance(op, te.ComputeOp) and bool(op.reduce_axis)


def _is_one(extent: object) -> bool:
    return isinstance(extent, IntImm) and extent.value == 1


def _first_reduced(out: te.Tensor, reductions: Sequence[te.Tensor]) -> int | None:
    """Return how many dimensions of ``out`` say which row it is; None where there are no rows."""
    if not reductions or out in reductions or any(tensor.ndim != out.ndim for tensor in reductions):
        return None
    reduced = [d for d in range(out.ndim) if any(_is_one(t.shape[d]) for t in reductions) and not _is_one(out.shape[d])]
    return min(reduced) if reduced and min(reduced) > 0 else None


def _inline(s: te.Schedule) -> None:
    """Compute what one stage alone reads where it is read."""
    for stage in reversed(s.stages):
        if stage.is_output or not is_injective(stage.op) or isinstance(stage.op, te.PlaceholderOp):
            continue
        readers = [reader for reader in s.stages if reader is not stage and s.consumes(reader, stage)]
        if len(readers) == 1:
            stage.compute_inline()


def _in_vectors(
    s: te.Schedule, tensor: te.Tensor, axes: list[IterVar], first: int, lanes: int, *, mark: bool = True
) -> IterVar:
    """Make the last axis vectors if it is long enough; return the loop over rows (parallel, if it is to be marked)."""
    stage, extent = s[tensor], tensor.shape[-1]
    if isinstance(extent, IntImm) and extent.value >= lanes:
        stage.vectorize(stage.split(axes[-1], lanes)[1])
    row = stage.fuse(*axes[:first]) if first > 1 else axes[0]
    if mark:
        stage.parallel(row)
    return row


def _partial_results(s: te.Schedule, tensor: te.Tensor, out: te.Tensor, row: IterVar, lanes: int) -> None:
    """Reduce a row to a vector first, then this."""
    last = s[tensor].op.reduce_axis[-1]
    extent = None if last.dom is None else last.dom.extent
    if isinstance(extent, IntImm) and extent.value >= lanes:
        partial = s.rfactor(tensor, s[tensor].split(last, lanes)[1])
        assert isinstance(partial, te.Tensor)
        lane, *kept = s[partial].op.axis
        s[partial].reorder(*kept, *s[partial].op.reduce_axis, lane)
        s[partial].vectorize(lane)
        s[partial].compute_at(s[out], row)
    s[tensor].compute_at(s[out], row)


def _side_by_side(s: te.Schedule, tensor: te.Tensor, lanes: int) -> None:
    stage = s[tensor]
    *kept, last = stage.op.axis
    extent = tensor.shape[-1]
    if isinstance(extent, IntImm) and extent.value >= lanes:
        outer, lane = stage.split(last, lanes)
        stage.reorder(*kept, *stage.op.reduce_axis, outer, lane)
        stage.vectorize(lane)
