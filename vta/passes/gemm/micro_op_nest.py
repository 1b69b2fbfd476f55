"""The loop nest of a micro-op kernel: how many micro-ops it writes out, and its loops in another order.

Tests: tests/vta/passes/gemm/test_fold_uop_loop.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from vta.tir.expr import Builtin, Call, IntImm
from vta.tir.stmt import AttrStmt, Evaluate, For, SeqStmt, Stmt

__all__ = ["LoopNest", "loop_nest", "micro_ops"]


def micro_ops(stmt: Stmt) -> int:
    """Return how many micro-ops ``stmt`` pushes; 0 for loops whose extent only the host knows."""
    match stmt:
        case Evaluate(value=Call(op=Builtin.UOP_PUSH)):
            return 1
        case For(extent=IntImm(value=extent)):
            return extent * micro_ops(stmt.body)
        case SeqStmt():
            return sum(map(micro_ops, stmt.stmts))
        case AttrStmt():
            return micro_ops(stmt.body)
        case _:
            return 0


@dataclass(frozen=True, slots=True)
class LoopNest:
    """Loops with constant ends, outermost first, around ``body``: in any order they visit the same points."""

    loops: tuple[For, ...]
    body: Stmt

    def longest(self, count: int, is_usable: Callable[[For], bool]) -> list[For]:
        """Return the ``count`` longest of the usable loops, outermost first."""
        usable = [loop for loop in self.loops if is_usable(loop)]
        chosen = sorted(usable, key=_extent, reverse=True)[:count]
        return [loop for loop in self.loops if any(loop is one for one in chosen)]

    def around(self, loops: Sequence[For], body: Stmt | None = None) -> Stmt:
        """Return ``body`` (the nest's own if left out) in ``loops``, outermost first."""
        result = self.body if body is None else body
        for loop in reversed(loops):
            result = replace(loop, body=result)
        return result


def loop_nest(stmt: Stmt) -> LoopNest:
    """Return the outer loops of ``stmt`` that may change places: ends are constants, and each does nothing but loop."""
    loops: list[For] = []
    while isinstance(stmt, For) and isinstance(stmt.extent, IntImm) and isinstance(stmt.min, IntImm):
        loops.append(stmt)
        stmt = stmt.body
    return LoopNest(tuple(loops), stmt)


def _extent(loop: For) -> int:
    return loop.extent.value if isinstance(loop.extent, IntImm) else 0
