"""Tensorisation: the loops from an axis inwards become one tensor intrinsic.

The part of each tensor that these loops touch is bound to a buffer of the intrinsic (``buffer_bind_scope``); what they
compute must be what the intrinsic declares, see ``vta.te.tensorize.match``. A reduction that begins with other values
than the intrinsic stores these itself and then updates. A reduction's ``where=`` that does not
depend on these loops stays outside: where it does not hold, the intrinsic is not used, and the work is left out.
Tests: tests/vta/te/test_tensorize.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vta.arith.simplify import Analyzer
from vta.te.lowering.body import Parts, StageBody
from vta.te.lowering.nest import guarded, init_nest
from vta.te.lowering.predicates import guards
from vta.te.tensorize.compare import starts
from vta.te.tensorize.intrin import TensorIntrin
from vta.te.tensorize.match import Match, TensorizeError, match_intrinsic
from vta.tir.buffer import Buffer
from vta.tir.dtype import BOOL, HANDLE
from vta.tir.expr import And, Builtin, Call, Expr, IntImm, IterVar, Range, Reduce, Var, binary, const
from vta.tir.stmt import PRAGMA_PREFIX, AttrKey, AttrStmt, For, IfThenElse, Stmt, seq
from vta.tir.traverse import substitute, uses_var

__all__ = ["TensorizeError", "tensorized"]


def tensorized(body: StageBody, position: int, common: int, analyzer: Analyzer) -> Parts:
    """Return the intrinsic's statements in place of the loops from ``position`` on.

    If a loop of the reduction stays outside (``common`` is before ``position``), these are the reset in a nest of its
    own and the update; otherwise the whole body. Raises ``TensorizeError``.
    """
    placed, iteration = body.placed, body.placed.iteration
    op, axis = placed.op, iteration.loops[position].axis
    intrinsic = placed.stage.attrs[axis].intrinsic
    assert intrinsic is not None
    split_reduction = common < position
    inside = tuple(loop.var for loop in iteration.loops[position:])
    body, where = _without_outer_condition(body, inside)
    placed = body.placed
    conditions = guards(iteration, analyzer, values=iteration.values, positions=iteration.positions)
    inner = [guard for guard in conditions if uses_var(guard.condition, inside)]
    outer = [guard for guard in conditions if not uses_var(guard.condition, inside)]
    match = match_intrinsic(placed, position, intrinsic, inner, analyzer, guardable=not split_reduction)
    outside = "loop" if split_reduction else "condition" if where is not None else "start value"
    use = _Use(body, axis, intrinsic, match, outside)
    if not split_reduction and where is None and match.starts_alike:
        return Parts(guarded(outer, use.with_inputs(use.bound(intrinsic.body, "body", match.outputs)), op.origin))
    update = use.with_inputs(use.bound(intrinsic.reduce_update, "reduce_update", match.outputs))
    if where is not None:
        update = IfThenElse(where, update, None, op.origin)
    if not split_reduction:
        return Parts(guarded(outer, seq([use.start(match.outputs), update]), op.origin))
    nest = init_nest(placed, common, position)
    starts = [analyzer.simplify(nest.positions[a.var]) for a in op.axis]
    region = tuple(Range(low, dom.extent) for low, dom in zip(starts, match.outputs, strict=True))
    reset = use.start(region)
    start = guards(iteration, analyzer, values=nest.values, positions=nest.positions)
    return Parts(guarded(outer, update, op.origin), guarded(start, reset, op.origin), nest.loops)


def _without_outer_condition(body: StageBody, inside: Sequence[Var]) -> tuple[StageBody, Expr | None]:
    """Return ``body`` without the parts of its reduction's condition that do not use ``inside``, and these parts."""
    placed = body.placed
    first = placed.body[0]
    if not isinstance(first, Reduce):
        return body, None
    kept: Expr = IntImm(1, BOOL)
    outer: Expr | None = None
    for part in _conjuncts(first.condition):
        value = body.expression(part, placed.iteration.positions)
        if uses_var(value, inside):
            kept = part if isinstance(kept, IntImm) else binary(And, kept, part)
        elif not isinstance(value, IntImm) or not value.value:
            outer = value if outer is None else binary(And, outer, value)
    if outer is None:
        return body, None
    reductions = tuple(replace(expr, condition=kept) for expr in placed.body if isinstance(expr, Reduce))
    return replace(body, placed=replace(placed, body=reductions)), outer


def _conjuncts(condition: Expr) -> list[Expr]:
    found: list[Expr] = []
    work = [condition]
    while work:
        part = work.pop()
        if isinstance(part, And):
            work += (part.b, part.a)
        else:
            found.append(part)
    return found


@dataclass(frozen=True, slots=True)
class _Use:
    """One use of an intrinsic: binds its buffers to regions of the stage's tensors.

    ``outside`` is what of the reduction is not inside the intrinsic, where anything is not.
    """

    body: StageBody
    axis: IterVar
    intrinsic: TensorIntrin
    match: Match
    outside: str

    def bound(self, stmt: Stmt | None, part: str, region: Sequence[Range]) -> Stmt:
        """Return ``stmt``, which is the intrinsic's ``part``, on ``region`` of the outputs."""
        op = self.body.placed.op
        if stmt is None:
            outside = "" if part == "body" else f"a {self.outside} of the reduction is outside of it, but "
            raise TensorizeError(
                f"Tensorize failed: stage {op.name!r}, axis {self.axis.name!r}: {outside}the intrinsic "
                f"{self.intrinsic.name!r} has no {part}; declare it, or tensorize at another axis"
            )
        positions = self.body.placed.iteration.positions  # numbers of a call may be in terms of axes outside
        stmt = substitute(stmt, {**{axis.var: positions[axis.var] for axis in op.axis}, **self.match.values})
        for view, tensor in reversed(list(zip(self.intrinsic.output_buffers, op.outputs, strict=True))):
            stmt = self._bind(view, self.body.buffers[tensor], region, stmt)
        return stmt

    def start(self, region: Sequence[Range]) -> Stmt:
        """Return what gives ``region`` of the outputs its start values."""
        if self.match.starts_alike:
            return self.bound(self.intrinsic.reduce_init, "reduce_init", region)
        op, reduce = self.body.placed.op, self.body.placed.body[0]
        assert isinstance(reduce, Reduce), "anything else has no start"
        positions: dict[Var, Expr] = {}
        loops: list[tuple[Var, Expr]] = []
        for axis, dom in zip(op.axis, region, strict=True):
            positions[axis.var] = dom.min
            if not isinstance(dom.extent, IntImm) or dom.extent.value != 1:
                loops.append((Var(f"{axis.name}.start"), dom.extent))
                positions[axis.var] = dom.min + loops[-1][0]
        stmt = self.body.stores(starts(reduce), positions)
        for var, extent in reversed(loops):
            stmt = For(var, const(0), extent, stmt, origin=op.origin)
        if self.intrinsic.start_pragma is None:
            return stmt
        node = IterVar(None, loops[0][0] if loops else Var("start"))
        return AttrStmt(node, PRAGMA_PREFIX + self.intrinsic.start_pragma, const(1), stmt, op.origin)

    def with_inputs(self, stmt: Stmt) -> Stmt:
        """Return ``stmt`` with the intrinsic's inputs bound as well."""
        for view, (tensor, region) in reversed(list(zip(self.intrinsic.input_buffers, self.match.inputs, strict=True))):
            stmt = self._bind(view, self.body.buffers[tensor], region, stmt)
        return stmt

    def _bind(self, view: Buffer, target: Buffer, region: Sequence[Range], stmt: Stmt) -> Stmt:
        ends: tuple[Expr, ...] = tuple(e for dom in region for e in (dom.min, dom.extent))
        value = Call(HANDLE, Builtin.TUPLE, ends)
        return AttrStmt((view, target), AttrKey.BUFFER_BIND_SCOPE, value, stmt, self.body.placed.op.origin)
