"""Split the host's loops where their conditions change, so that most iterations test nothing.

Before::

    for (i.outer, 0, 9) {
      for (i.inner, 0, 16) {
        if (likely(i.outer*16 + i.inner < 130)) { C[i.outer*16 + i.inner] = A[i.outer*16 + i.inner] }
    } }

After::

    for (i.outer, 0, 8) {
      for (i.inner, 0, 16) { C[i.outer*16 + i.inner] = A[i.outer*16 + i.inner] }
    }
    for (i.inner, 0, 2) { C[i.inner + 128] = A[i.inner + 128] }

A condition counts if it stands in an ``if``, an ``if_then_else`` or a ``Select``, alone or as part of a conjunction,
and compares sums that are linear in the loop's variable and in those of loops inside. The iterations for which it holds
whatever the loops inside do become a loop without it; those before and after keep it, for the loops inside to be split
by it. Where the ends are not constants, only what is marked ``likely`` is taken, once for each end and not again
inside, and the three loops' ends are cut so that together they run over the same iterations in the same order, however
the values turn out.

Loops with work of the accelerator, and loops with a large body, stay as they are.

Tests: tests/vta/passes/host/test_loop_partition.py.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from isa.config import VTAConfig
from vta.arith.simplify import Analyzer
from vta.passes.fresh_definitions import with_fresh_definitions
from vta.passes.generic.simplify import simplify_stmt
from vta.passes.host.host_only import is_accelerator_scope, is_host_only
from vta.passes.host.partition_bounds import Bound, bounds_of_loop
from vta.tir.deep import deep
from vta.tir.dtype import BOOL
from vta.tir.expr import And, Builtin, Call, Expr, IntImm, Max, Min, Range, Select, binary
from vta.tir.func import PrimFunc
from vta.tir.stmt import For, ForKind, IfThenElse, Stmt, is_noop, seq
from vta.tir.traverse import map_expr, map_stmt, map_stmt_children, substitute, walk

__all__ = ["loop_partition"]

_LARGEST_BODY = 1024
"""Nodes of a loop up to which it is worth having three of it."""
_DEEPEST = 3
"""Splits inside of each other; each makes at most three loops of one."""


def loop_partition(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` with the host's loops split."""
    return replace(func, body=_partition(func.body, Analyzer(), _Limits()))


@dataclass(frozen=True, slots=True)
class _Limits:
    """How many splits may be inside of this place, and whether one at unknown ends may be."""

    depth: int = _DEEPEST
    unknown_ends: bool = True

    def inside(self, parts: Sequence[Stmt]) -> _Limits:
        """Return the limits inside of a loop that became ``parts``."""
        return _Limits(self.depth - 1, self.unknown_ends and all(map(_has_constant_ends, parts)))


@deep
def _partition(stmt: Stmt, analyzer: Analyzer, limits: _Limits) -> Stmt:
    if is_accelerator_scope(stmt) or limits.depth == 0:
        return stmt
    if isinstance(stmt, For):
        analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
        parts = _parts(stmt, analyzer, limits) if _may_be_split(stmt) else None
        if parts is not None:
            inside = limits.inside(parts)
            return seq([_part(_settled(part, analyzer), analyzer, inside) for part in parts])
    return _inside(stmt, analyzer, limits)


def _inside(stmt: Stmt, analyzer: Analyzer, limits: _Limits) -> Stmt:
    return map_stmt_children(stmt, lambda child: _partition(child, analyzer, limits), lambda expr: expr)


def _part(part: Stmt, analyzer: Analyzer, limits: _Limits) -> Stmt:
    """Split what is inside of a part of a loop, and the part itself where its ends are constants."""
    if isinstance(part, For) and is_noop(part.body):
        return seq([])
    if _has_constant_ends(part):
        return _partition(part, analyzer, limits)
    assert isinstance(part, For), "anything else has constant ends"
    analyzer.bind(part.loop_var, Range(part.min, part.extent))
    return _inside(part, analyzer, limits)


def _has_constant_ends(part: Stmt) -> bool:
    return not isinstance(part, For) or (isinstance(part.min, IntImm) and isinstance(part.extent, IntImm))


def _may_be_split(loop: For) -> bool:
    small = sum(1 for _ in islice(walk(loop), _LARGEST_BODY + 1)) <= _LARGEST_BODY
    return loop.kind is not ForKind.UNROLLED and small and is_host_only(loop)


def _settled(part: Stmt, analyzer: Analyzer) -> Stmt:
    """Return ``part`` simplified for its own iterations; a loop of one iteration as its body."""
    if isinstance(part, For) and isinstance(part.extent, IntImm) and part.extent.value == 1:
        part = substitute(part.body, {part.loop_var: part.min})
    return simplify_stmt(part, analyzer)


def _parts(loop: For, analyzer: Analyzer, limits: _Limits) -> list[Stmt] | None:
    """Return the loops that ``loop`` becomes, in order; None where nothing is gained."""
    low, high = loop.min, analyzer.simplify(loop.min + loop.extent)
    begin, end = low, high
    chosen: list[Bound] = []
    for bound in bounds_of_loop(loop, analyzer):
        # Constant ends decide themselves whether anything is gained. With others, each bound adds a minimum or maximum
        # to the ends of three loops: so only one for each end is taken, and only where the schedule calls it likely.
        known = all(isinstance(each, IntImm | None) for each in (begin, end, bound.low, bound.high))
        first = (bound.low is None or begin is low) and (bound.high is None or end is high)
        if not known and not (first and bound.is_likely and limits.unknown_ends):
            continue
        inner = _inner(bound, begin, end, analyzer)
        if inner is not None:
            begin, end = inner
            chosen.append(bound)
    if not chosen:
        return None
    middle = _without(loop.body, [bound.condition for bound in chosen])
    pieces = [(low, begin, loop.body), (begin, end, middle), (end, high, loop.body)]
    parts = [_piece(loop, *piece, analyzer) for piece in pieces]
    # The parts are copies of one body, and later passes know a variable or buffer by identity.
    return [with_fresh_definitions(part) for part in parts if not is_noop(part)]


def _inner(bound: Bound, begin: Expr, end: Expr, analyzer: Analyzer) -> tuple[Expr, Expr] | None:
    """Return what is left of ``begin`` to ``end - 1`` under one more condition; None if that may be too little."""
    new_begin, new_end = begin, end
    # Cut to begin..end on both sides: wherever the bound lies, the three loops then run over begin..end, each once.
    if bound.low is not None:
        new_begin = analyzer.simplify(binary(Min, binary(Max, bound.low, begin), end))
    if bound.high is not None:
        new_end = analyzer.simplify(binary(Max, binary(Min, bound.high + 1, end), new_begin))
    count = analyzer.simplify(new_end - new_begin)
    return None if isinstance(count, IntImm) and count.value <= 0 else (new_begin, new_end)


def _piece(loop: For, begin: Expr, end: Expr, body: Stmt, analyzer: Analyzer) -> Stmt:
    extent = analyzer.simplify(end - begin)
    # A vector needs a constant number of lanes, and a part whose length the caller decides has none.
    kind = loop.kind if isinstance(extent, IntImm) or loop.kind is not ForKind.VECTORIZED else ForKind.SERIAL
    if isinstance(extent, IntImm) and extent.value <= 0:
        return seq([])
    return replace(loop, min=begin, extent=extent, body=body, kind=kind)


def _without(body: Stmt, conditions: Collection[Expr]) -> Stmt:
    """Return ``body`` where all of ``conditions`` (these very nodes) hold."""
    known = {id(condition) for condition in conditions}  # by identity: an equal one in an inner loop has other values

    def on_node(expr: Expr) -> Expr:
        if id(expr) in known:
            return IntImm(1, BOOL)
        match expr:
            case And():
                return binary(And, expr.a, expr.b)
            case Call(op=Builtin.LIKELY, args=(IntImm() as truth,)):
                return truth
            case Call(op=Builtin.IF_THEN_ELSE, args=(IntImm(value=truth_value), first, second)):
                return first if truth_value else second
            case Select(condition=IntImm(value=truth_value)):
                return expr.true_value if truth_value else expr.false_value
            case _:
                return expr

    def on_stmt(stmt: Stmt) -> Stmt:
        match stmt:
            case IfThenElse(condition=IntImm(value=1)):
                return stmt.then_case
            case _:
                return stmt

    return map_stmt(body, on_stmt, lambda expr: map_expr(on_node, expr))
