"""Loop nests as statements: loops, threads and pragmas around a body, and the nest that initialises a reduction.

Tests: tests/vta/te/test_lower.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isa.origin import Origin
from vta.te.gpu_threads import is_gpu_thread
from vta.te.iteration import Loop
from vta.te.lowering.infer_bound import Placed
from vta.te.lowering.predicates import Guard
from vta.te.relations import Role, Split, children_of, parents_of, values_up
from vta.te.stage import ScheduleError
from vta.tir import ops
from vta.tir.deep import deep
from vta.tir.expr import Expr, IntImm, IterKind, IterVar, Var, const
from vta.tir.stmt import PRAGMA_PREFIX, AttrKey, AttrStmt, For, ForKind, IfThenElse, Stmt

__all__ = ["InitNest", "guarded", "init_nest", "wrap_loop"]


def wrap_loop(loop: Loop, body: Stmt, origin: Origin | None) -> Stmt:
    """Return ``body`` in ``loop``, with the loop's pragmas around; a loop of one trip leaves only these."""
    attrs = loop.stage.attrs.get(loop.axis)
    axis = IterVar(None, loop.var, loop.axis.kind)
    if loop.is_thread:
        body = _thread(loop, body, origin)
    elif not loop.is_single:
        kind = attrs.kind if attrs is not None and attrs.kind is not None else ForKind.SERIAL
        body = For(loop.var, const(0), loop.extent, body, kind, origin=origin)
    for key, value in reversed(attrs.pragmas if attrs is not None else []):
        body = AttrStmt(axis, PRAGMA_PREFIX + key, value, body, origin)
    return body


def _thread(loop: Loop, body: Stmt, origin: Origin | None) -> Stmt:
    thread = loop.stage.thread_of(loop.axis)
    assert thread is not None
    place = f"stage {loop.stage.name!r}: axis {loop.axis.name!r} bound to thread axis {thread.name!r}"
    tag = thread.thread_tag
    if not is_gpu_thread(thread):
        _check_virtual(place, tag, loop)
    if (
        thread.dom is not None
        and isinstance(thread.dom.extent, IntImm)
        and isinstance(loop.extent, IntImm)
        and thread.dom.extent.value != loop.extent.value
    ):
        raise ScheduleError(
            f"{place}: the thread axis has extent {thread.dom.extent.value}, the loop {loop.extent.value}"
        )
    axis = IterVar(None, loop.var, IterKind.THREAD_INDEX, tag)
    key = AttrKey.THREAD_EXTENT if is_gpu_thread(thread) else AttrKey.VIRTUAL_THREAD
    return AttrStmt(axis, key, loop.extent, body, origin)


def _check_virtual(place: str, tag: str, loop: Loop) -> None:
    if tag not in ("cthread", "rotate") and not tag.startswith("vthread"):
        raise ScheduleError(
            f"{place}: expected a virtual thread, 'cthread', 'vthread' or 'rotate', or a GPU's, 'blockIdx.x' or "
            f"'threadIdx.x', got tag {tag!r}"
        )
    if not isinstance(loop.extent, IntImm):
        raise ScheduleError(f"{place}: expected a constant number of threads, got {loop.extent}")


def guarded(guards: Sequence[Guard], body: Stmt, origin: Origin | None) -> Stmt:
    """Return ``body`` under the conditions of ``guards``, the first outermost."""
    for guard in reversed(guards):
        body = IfThenElse(ops.likely(guard.condition), body, None, origin)
    return body


@dataclass(frozen=True, slots=True)
class InitNest:
    """The loops that walk once over a reduction's outputs, with the values and elements that they stand for."""

    loops: tuple[Loop, ...]
    values: Mapping[IterVar, Expr]
    positions: Mapping[Var, Expr]


def init_nest(placed: Placed, common: int, end: int) -> InitNest:
    """Return the nest that gives the outputs their start values, inside of the first ``common`` loops.

    It has a loop ``.init`` for each loop from ``common`` to ``end`` that walks over outputs alone; a loop over both
    outputs and reduction is replaced by those that were fused into it. Loops from ``end`` on stand at zero.
    """
    iteration, roles = placed.iteration, placed.stage.roles()
    axes: dict[IterVar, None] = {}
    for loop in iteration.loops[common:end]:
        axes.update(dict.fromkeys(_output_axes(loop.axis, placed, roles)))
    loops = tuple(
        Loop(placed.stage, a, Var(f"{a.name}.init"), iteration.extents[a], placed.stage.thread_of(a) is not None)
        for a in axes
    )
    values: dict[IterVar, Expr] = {loop.axis: iteration.values[loop.axis] for loop in iteration.loops[:common]}
    values.update({loop.axis: const(0) for loop in iteration.loops[end:] if roles[loop.axis] is Role.DATA})
    values.update({loop.axis: const(0) if loop.is_single else loop.var for loop in loops})
    values_up(iteration.relations, iteration.extents, values)
    positions = {axis.var: values[axis] + iteration.region[axis].min for axis in placed.op.axis}
    return InitNest(loops, values, positions)


@deep
def _output_axes(axis: IterVar, placed: Placed, roles: Mapping[IterVar, Role]) -> list[IterVar]:
    """Return the axes over outputs alone that ``axis`` is, or was made of."""
    if Role.REDUCE not in roles[axis]:
        return [axis]
    for relation in placed.iteration.relations:
        if any(child is axis for child in children_of(relation)):
            sources = parents_of(relation)
            if isinstance(relation, Split) or Role.DATA in roles[axis]:
                return [found for source in sources for found in _output_axes(source, placed, roles)]
    return []
