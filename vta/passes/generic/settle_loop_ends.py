"""Read the ends of loops once, before the loop, where they are elements of memory.

A loop's ends are computed when it begins, so what its body stores does not change them. Afterwards no pass has to ask
whether an end that it puts somewhere else (where a loop is split, or written out) still means the same.

Before::

    for (i, 0, A[0]) {
      A[0] = i
    }

After::

    let i.extent = A[0] {
      for (i, 0, i.extent) {
        A[0] = i
    } }

Tests: tests/vta/passes/generic/test_settle_loop_ends.py.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.tir.effects import reads_memory
from vta.tir.expr import Expr, Var
from vta.tir.func import PrimFunc
from vta.tir.stmt import For, LetStmt, Stmt
from vta.tir.traverse import map_stmt

__all__ = ["settle_loop_ends"]


def settle_loop_ends(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` with loops whose ends read no memory."""
    return replace(func, body=map_stmt(func.body, _settled))


def _settled(stmt: Stmt) -> Stmt:
    if not isinstance(stmt, For):
        return stmt
    lets: list[tuple[Var, Expr]] = []
    ends: list[Expr] = []
    for name, end in (("min", stmt.min), ("extent", stmt.extent)):
        if reads_memory(end):
            lets.append((Var(f"{stmt.loop_var.name}.{name}", end.dtype), end))
            end = lets[-1][0]
        ends.append(end)
    if not lets:
        return stmt
    result: Stmt = replace(stmt, min=ends[0], extent=ends[1])
    for var, end in reversed(lets):
        result = LetStmt(var, end, result, stmt.origin)
    return result
