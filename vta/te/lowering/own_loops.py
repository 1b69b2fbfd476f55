"""The loops of a hybrid script, as a schedule wants them: split, fused, reordered and marked.

A split puts two loops in the place of one, a fusion one in the place of two that stand directly in each other. Loops
that stand directly in each other (conditions that splits made may be between them) are put into the schedule's order,
if that certainly changes nothing: every tensor that is stored in them is read and stored at one index alone, which
differs in every iteration of the loops that are exchanged. Tests: tests/vta/te/hybrid/test_own_loops.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.te.gpu_threads import is_gpu_thread
from vta.te.hybrid_op import HybridOp
from vta.te.iteration import Iteration
from vta.te.relations import Fuse, Split, extents_down
from vta.te.stage import ScheduleError, Stage
from vta.tir import ops
from vta.tir.deep import deep
from vta.tir.expr import Expr, IntImm, IterKind, IterVar, ProducerLoad, Var, const, same
from vta.tir.stmt import (
    PRAGMA_PREFIX,
    AttrKey,
    AttrStmt,
    For,
    ForKind,
    IfThenElse,
    ProducerRealize,
    ProducerStore,
    Stmt,
)
from vta.tir.traverse import map_stmt, map_stmt_children, substitute, uses_var, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["own_iteration", "scheduled_body"]


def own_iteration(stage: Stage, op: HybridOp, analyzer: Analyzer) -> Iteration:
    """Return the ranges of the loops; their variables and bodies are the script's own."""
    region = {axis: axis.dom for axis in op.axis if axis.dom is not None}
    return Iteration((), region, _extents(stage, op, analyzer), (), {}, {}, frozenset())


def _extents(stage: Stage, op: HybridOp, analyzer: Analyzer) -> dict[IterVar, Expr]:
    extents: dict[IterVar, Expr] = {axis: axis.dom.extent for axis in op.axis if axis.dom is not None}
    extents_down(stage.relations, extents, analyzer)
    return extents


def scheduled_body(stage: Stage, op: HybridOp) -> Stmt:
    """Return the body with the loops that the schedule of ``stage`` asks for; raises ``ScheduleError``."""
    analyzer = Analyzer()
    extents = _extents(stage, op, analyzer)
    body = op.body
    for relation in stage.relations:
        match relation:
            case Split():
                body = _replaced(body, relation.parent, lambda loop, r=relation: _split(loop, r, extents, analyzer))
            case Fuse():
                body = _replaced(body, relation.outer, lambda loop, r=relation: _fused(loop, r, stage))
            case _:
                raise ScheduleError(f"stage {stage.name!r}: fuse: a hybrid script has no loop of one trip to add")
    position = {axis.var: i for i, axis in enumerate(stage.leaf_iter_vars)}
    body = _in_order(body, position, stage)
    _check_nested(body, position, stage)
    return map_stmt(body, lambda stmt: _marked(stmt, stage) if isinstance(stmt, For) else stmt)


def _replaced(body: Stmt, axis: IterVar, change: object) -> Stmt:
    assert callable(change)
    return map_stmt(body, lambda stmt: change(stmt) if isinstance(stmt, For) and stmt.loop_var is axis.var else stmt)


def _split(loop: For, split: Split, extents: Mapping[IterVar, Expr], analyzer: Analyzer) -> Stmt:
    outer, inner = split.outer.var, split.inner.var
    step = extents[split.inner]
    value = outer * step + inner
    body = substitute(loop.body, {loop.loop_var: value + loop.min})
    whole = analyzer.simplify(extents[split.outer] * step)
    if not analyzer.can_prove_equal(whole, loop.extent):
        body = IfThenElse(ops.likely(value < loop.extent), body, None, loop.origin)
    inside = replace(loop, loop_var=inner, min=const(0), extent=step, body=body)
    return replace(loop, loop_var=outer, min=const(0), extent=extents[split.outer], body=inside, kind=ForKind.SERIAL)


def _fused(loop: For, fuse: Fuse, stage: Stage) -> Stmt:
    inner = loop.body
    if not isinstance(inner, For) or inner.loop_var is not fuse.inner.var or _depends(inner, loop.loop_var):
        raise ScheduleError(
            f"stage {stage.name!r}: fuse: loop {fuse.inner.name!r} does not stand directly in loop "
            f"{fuse.outer.name!r}, or its ends depend on it"
        )
    both = fuse.fused.var
    values = {loop.loop_var: both // inner.extent + loop.min, inner.loop_var: both % inner.extent + inner.min}
    extent = Analyzer().simplify(loop.extent * inner.extent)
    return replace(loop, loop_var=both, min=const(0), extent=extent, body=substitute(inner.body, values))


def _check_nested(body: Stmt, position: Mapping[Var, int], stage: Stage) -> None:
    """Check that every loop comes before those in it."""
    for outer in walk(body):
        for inner in walk(outer.body) if isinstance(outer, For) else ():
            if isinstance(inner, For) and isinstance(outer, For) and _place(inner, position) < _place(outer, position):
                raise ScheduleError(
                    f"stage {stage.name!r}: reorder: loop {inner.loop_var.name!r} stands in loop "
                    f"{outer.loop_var.name!r}, but not directly; it stays inside"
                )


def _place(loop: For, position: Mapping[Var, int]) -> int:
    return position[loop.loop_var]


def _depends(loop: For, var: Var) -> bool:
    return uses_var(loop.min, var) or uses_var(loop.extent, var)


@deep
def _in_order(stmt: Stmt, position: Mapping[Var, int], stage: Stage) -> Stmt:
    """Return ``stmt`` with every nest of loops in the schedule's order."""
    if not isinstance(stmt, For):
        return map_stmt_children(stmt, lambda child: _in_order(child, position, stage), lambda expr: expr)
    loops, conditions, body = _nest(stmt)
    inside = _in_order(body, position, stage)
    wanted = sorted(loops, key=lambda loop: position[loop.loop_var])
    if all(a is b for a, b in zip(wanted, loops, strict=True)):
        return _rebuilt(stmt, body, inside)
    _check_exchange(loops, wanted, body, stage)
    for condition in reversed(conditions):
        inside = replace(condition, then_case=inside)
    for loop in reversed(wanted):
        inside = replace(loop, body=inside)
    return inside


def _nest(loop: For) -> tuple[list[For], list[IfThenElse], Stmt]:
    """Return the loops that stand directly in each other, the conditions of splits between them, and what is inside."""
    loops, conditions, body = [loop], list[IfThenElse](), loop.body
    while True:
        below, between = body, list[IfThenElse]()
        while isinstance(below, IfThenElse) and below.else_case is None:
            between.append(below)
            below = below.then_case
        if not isinstance(below, For):
            return loops, conditions, body
        conditions += between
        loops.append(below)
        body = below.body


@deep
def _rebuilt(stmt: Stmt, body: Stmt, inside: Stmt) -> Stmt:
    """Return a nest with ``inside`` in place of ``body``."""
    if inside is body:
        return stmt
    if stmt is body:
        return inside
    match stmt:
        case For():
            return replace(stmt, body=_rebuilt(stmt.body, body, inside))
        case IfThenElse():
            return replace(stmt, then_case=_rebuilt(stmt.then_case, body, inside))
        case _:
            return stmt


def _check_exchange(loops: Sequence[For], wanted: Sequence[For], body: Stmt, stage: Stage) -> None:
    names = ", ".join(loop.loop_var.name for loop in wanted)
    place = f"stage {stage.name!r}: reorder to {names}"
    for i, loop in enumerate(wanted):
        for other in wanted[i + 1 :]:
            if _depends(loop, other.loop_var):
                ends = f"the ends of loop {loop.loop_var.name!r} depend on {other.loop_var.name!r}"
                raise ScheduleError(f"{place}: {ends}")
    moved = _moved(loops, wanted)
    private = {node.producer for node in walk(body) if isinstance(node, ProducerRealize)}
    stores = [node for node in walk(body) if isinstance(node, ProducerStore) and node.producer not in private]
    for store in stores:
        uses = [
            node for node in walk(body)
            if isinstance(node, ProducerStore | ProducerLoad) and node.producer is store.producer
        ]  # fmt: skip
        if not all(same(node.indices, store.indices) for node in uses) or not _keeps_order(store, loops, moved):
            raise ScheduleError(
                f"{place}: iterations may depend on one another by {store.producer.name!r}, so their order stays"
            )


def _moved(loops: Sequence[For], wanted: Sequence[For]) -> list[tuple[Var, Var]]:
    """Return the pairs of loops whose order changes."""
    after = {loop.loop_var: i for i, loop in enumerate(wanted)}
    variables = [loop.loop_var for loop in loops]
    return [(a, b) for i, a in enumerate(variables) for b in variables[i + 1 :] if after[a] > after[b]]


def _keeps_order(store: ProducerStore, loops: Sequence[For], moved: Sequence[tuple[Var, Var]]) -> bool:
    """Whether iterations that store to one element stay in their order: of two loops, the index has one at least."""
    used = [loop for loop in loops if any(uses_var(index, loop.loop_var) for index in store.indices)]
    if not _is_injective(store.indices, used):
        return False
    by_index = {loop.loop_var for loop in used}
    return all(a in by_index or b in by_index for a, b in moved)


def _is_injective(indices: Sequence[Expr], loops: Sequence[For]) -> bool:
    """Whether the iterations of ``loops`` all have indices of their own: each dimension is a mixed-radix number."""
    left = {loop.loop_var: loop for loop in loops}
    for index in indices:
        own = [loop for loop in left.values() if uses_var(index, loop.loop_var)]
        form = detect_linear_equation(index, [loop.loop_var for loop in own])
        if form is None:
            continue
        steps = [(abs(s.value), loop) for s, loop in zip(form, own, strict=False) if isinstance(s, IntImm)]
        reach: int | None = 0
        for step, loop in sorted(steps, key=lambda item: item[0]) if len(steps) == len(own) else ():
            if reach is None or step <= reach:
                break
            reach = reach + step * (loop.extent.value - 1) if isinstance(loop.extent, IntImm) else None
            del left[loop.loop_var]
    return not left


def _marked(loop: For, stage: Stage) -> Stmt:
    """Return a loop as the schedule says that it runs."""
    for axis, attrs in stage.attrs.items():
        if axis.var is not loop.loop_var:
            continue
        result: Stmt = loop if attrs.kind is None else replace(loop, kind=attrs.kind)
        thread = attrs.thread
        if thread is not None:
            if not is_gpu_thread(thread):
                raise ScheduleError(f"stage {stage.name!r}: bind: a hybrid script's loops take a GPU's threads alone")
            bound = IterVar(None, thread.var, IterKind.THREAD_INDEX, thread.thread_tag)
            body = substitute(loop.body, {loop.loop_var: thread.var + loop.min})
            result = AttrStmt(bound, AttrKey.THREAD_EXTENT, loop.extent, body, loop.origin)
        for key, value in reversed(attrs.pragmas):
            result = AttrStmt(IterVar(None, loop.loop_var), PRAGMA_PREFIX + key, value, result, loop.origin)
        return result
    return loop
