"""The loop nest of a micro-op kernel: how many micro-ops it writes out, and its loops in another order.

Tests: tests/vta/passes/gemm/test_fold_uop_loop.py and the rest of tests/vta/passes/gemm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from vta.arith.facts import conjuncts
from vta.arith.linear import detect_clip_bound
from vta.arith.simplify import Analyzer
from vta.tir.deep import deep
from vta.tir.expr import Builtin, Call, Expr, IntImm, Max, Min, Range, binary
from vta.tir.stmt import AttrStmt, Evaluate, For, IfThenElse, LetStmt, SeqStmt, Stmt
from vta.tir.traverse import uses_var

__all__ = ["LoopNest", "loop_nest", "most_micro_ops"]


@deep
def most_micro_ops(stmt: Stmt, analyzer: Analyzer) -> float:
    """Return how many micro-ops ``stmt`` pushes at most; infinity for a loop whose extent has no bound."""
    match stmt:
        case Evaluate(value=Call(op=Builtin.UOP_PUSH)):
            return 1
        case For():
            analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
            inside = most_micro_ops(stmt.body, analyzer)
            trips = analyzer.const_bounds(stmt.extent).hi
            return 0 if not inside else math.inf if trips is None else max(trips, 0) * inside
        case SeqStmt():
            return sum(most_micro_ops(child, analyzer) for child in stmt.stmts)
        case IfThenElse():
            other = 0 if stmt.else_case is None else most_micro_ops(stmt.else_case, analyzer)
            return max(most_micro_ops(stmt.then_case, analyzer), other)
        case AttrStmt() | LetStmt():
            return most_micro_ops(stmt.body, analyzer)
        case _:
            return 0


@dataclass(frozen=True, slots=True)
class LoopNest:
    """Loops, outermost first, around ``body`` where ``conditions`` hold: in any order they visit the same points.

    No loop's ends use the variable of another one.
    """

    loops: tuple[For, ...]
    conditions: tuple[Expr, ...]
    body: Stmt

    def longest(self, count: int, is_usable: Callable[[For], bool], analyzer: Analyzer) -> list[For]:
        """Return the ``count`` longest of the usable loops, outermost first; no condition can stay inside of these."""
        usable = [loop for loop in self.loops if is_usable(loop) and not uses_any(self.conditions, loop)]
        chosen = sorted(usable, key=lambda loop: _most_trips(loop, analyzer), reverse=True)[:count]
        return [loop for loop in self.loops if any(loop is one for one in chosen)]

    def around(self, loops: Sequence[For], body: Stmt | None = None) -> Stmt:
        """Return ``body`` (the nest's own if left out) in ``loops``, outermost first."""
        result = self.body if body is None else body
        for loop in reversed(loops):
            result = replace(loop, body=result)
        return result


def uses_any(conditions: Sequence[Expr], loop: For) -> bool:
    """Whether one of ``conditions`` depends on ``loop``."""
    return any(uses_var(condition, loop.loop_var) for condition in conditions)


def loop_nest(stmt: Stmt, analyzer: Analyzer) -> LoopNest:
    """Return the outer loops of ``stmt`` that may change places, and the conditions that stand between them.

    A condition that is a bound of one loop shortens it. ``analyzer`` knows the loops around ``stmt`` and learns these.
    """
    loops: list[For] = []
    conditions: list[Expr] = []
    while True:
        match stmt:
            case For() if not any(uses_var(end, each.loop_var) for end in (stmt.min, stmt.extent) for each in loops):
                analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
                loops.append(stmt)
                stmt = stmt.body
            case IfThenElse(else_case=None):
                conditions += conjuncts(stmt.condition)
                stmt = stmt.then_case
            case _:
                break
    waiting = [condition for condition in conditions if not _shortens_one(condition, loops, analyzer)]
    return LoopNest(tuple(loops), tuple(waiting), stmt)


def _shortens_one(condition: Expr, loops: list[For], analyzer: Analyzer) -> bool:
    """Whether ``condition`` is a bound of one of ``loops``, which then has it as an end."""
    used = [at for at, loop in enumerate(loops) if uses_var(condition, loop.loop_var)]
    if len(used) != 1:
        return False
    loop = loops[used[0]]
    bounds = detect_clip_bound(condition, [loop.loop_var], analyzer)
    if bounds is None:
        return False
    low, high = bounds[0]
    begin, end = loop.min, loop.min + loop.extent
    begin = begin if low is None else binary(Max, begin, low)
    end = end if high is None else binary(Min, end, high + 1)
    loops[used[0]] = replace(loop, min=analyzer.simplify(begin), extent=analyzer.simplify(end - begin))
    return True


def _most_trips(loop: For, analyzer: Analyzer) -> float:
    if isinstance(loop.extent, IntImm):
        return loop.extent.value
    trips = analyzer.const_bounds(loop.extent).hi
    return math.inf if trips is None else trips
