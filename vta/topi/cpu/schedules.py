"""Schedules for the CPU: ``topi.generic.schedule_injective(outs)`` and the others.

Stages that only move or combine single elements are inlined, but for pads that a reduction reads; outer loops of the
outputs are parallel, inner ones are vectors; elements of rows that are no multiple of a vector are one long row.
Tests: tests/vta/topi/cpu/test_schedules.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta import te
from vta.te.auto_inline import is_injective
from vta.tir.expr import Builtin, Call, Expr, IntImm, ProducerLoad
from vta.tir.traverse import walk

__all__ = ["schedule_extern", "schedule_injective", "schedule_reduce"]

_LANES = 16

_PART = 4096
"""Elements, one after the other in memory, of a part that is parallel to others."""


def _outputs(outs: te.Tensor | Sequence[te.Tensor]) -> list[te.Tensor]:
    return [outs] if isinstance(outs, te.Tensor) else list(outs)


def schedule_extern(outs: te.Tensor | Sequence[te.Tensor]) -> te.Schedule:
    """Return the default schedule."""
    return te.create_schedule([out.op for out in _outputs(outs)])


def schedule_injective(outs: te.Tensor | Sequence[te.Tensor]) -> te.Schedule:
    """Return a schedule in which everything without a reduction is computed where it is used."""
    s = schedule_extern(outs)
    te.schedule.AutoInlineInjective(s)
    for stage in s.stages:
        if stage.is_inlined and _depends_on_place(stage.op) and _feeds_a_reduction(s, stage):
            stage.compute_root()
    for out in _outputs(outs):
        _spread(s, out)
    return s


def _depends_on_place(op: te.Operation) -> bool:
    """Whether ``op`` asks where it is, as pads do: a reduction would ask again for every product."""
    return isinstance(op, te.ComputeOp) and any(
        isinstance(node, Call) and node.op is Builtin.IF_THEN_ELSE for expr in op.body for node in walk(expr)
    )


def _feeds_a_reduction(s: te.Schedule, stage: te.Stage) -> bool:
    return any(
        isinstance(reader.op, te.ComputeOp) and reader.op.reduce_axis and s.consumes(reader, stage)
        for reader in s.stages
        if reader is not stage
    )


def _is_flat(s: te.Schedule, op: te.ComputeOp) -> bool:
    """Whether each element is computed of those at the same place, in tensors of the same constant shape."""
    shape = op.output(0).shape
    if not all(isinstance(extent, IntImm) for extent in shape):
        return False
    return all(_reads_its_own_place(each, shape) for each in [op, *(st.op for st in s.stages if st.is_inlined)])


def _reads_its_own_place(op: te.Operation, shape: Sequence[Expr]) -> bool:
    if not isinstance(op, te.ComputeOp) or not is_injective(op):
        return False
    place = [axis.var for axis in op.axis]
    loads = [node for expr in op.body for node in walk(expr) if isinstance(node, ProducerLoad)]
    return all([*load.indices] == place and [*load.producer.shape] == [*shape] for load in loads)


def schedule_reduce(outs: te.Tensor | Sequence[te.Tensor]) -> te.Schedule:
    """Return a schedule for reductions with stages of single elements before and after them."""
    s = schedule_injective(outs)
    for stage in s.stages:
        if isinstance(stage.op, te.ComputeOp) and not is_injective(stage.op) and not stage.is_output:
            _spread(s, stage.op.outputs[0])
    return s


def _spread(s: te.Schedule, tensor: te.Tensor) -> None:
    """Mark the outer loops of a stage parallel; the innermost one is vectors, if it is long and of no reduction."""
    op = tensor.op
    if not isinstance(op, te.ComputeOp) or not op.axis:
        return
    stage, axes = s[tensor], list(op.axis)
    inner = axes[-1]
    extent = tensor.shape[-1]
    if len(axes) > 1 and _is_flat(s, op) and not (isinstance(extent, IntImm) and extent.value % _LANES == 0):
        stage.parallel(stage.split(stage.fuse(*axes), _PART)[0])
        return
    if is_injective(op) and isinstance(extent, IntImm) and extent.value % _LANES == 0:
        outer, lanes = stage.split(inner, _LANES)
        stage.vectorize(lanes)
        axes[-1] = outer
    stage.parallel(stage.fuse(*axes[:2]) if len(axes) > 2 else axes[0])
