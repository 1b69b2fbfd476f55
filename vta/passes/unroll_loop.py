"""Unroll the loops that the schedule marked ``unroll``.

Before::

    for (i, 0, 3) "unroll" { A[i] = B[i]*2 }

After::

    A[0] = B[0]*2
    A[1] = B[1]*2
    A[2] = B[2]*2

Loops without a constant extent, and loops of ALU stages (whose iterations are steps of one micro-op kernel anyway),
become ordinary loops. Variables that the body defines get a new one in each copy.
May import ``vta.passes.{fresh_definitions,pragma}``, ``vta.tir``. Tests: tests/vta/passes/test_clean_up.py.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.passes.annotate_alu_coproc_scope import ALU_PRAGMA
from vta.passes.fresh_definitions import instances
from vta.passes.pragma import is_pragma
from vta.tir.expr import Expr, IntImm
from vta.tir.func import PrimFunc
from vta.tir.stmt import Evaluate, For, ForKind, Stmt, seq
from vta.tir.traverse import map_stmt, map_stmt_children

__all__ = ["unroll_loop"]


def unroll_loop(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` with its ``unroll`` loops written out."""
    return replace(func, body=_unroll(func.body))


def _unroll(stmt: Stmt) -> Stmt:
    if is_pragma(stmt, ALU_PRAGMA):
        return map_stmt(stmt, _as_serial)
    stmt = map_stmt_children(stmt, _unroll, lambda expr: expr)
    if not isinstance(stmt, For) or stmt.kind is not ForKind.UNROLLED:
        return stmt
    if not isinstance(stmt.extent, IntImm):
        return _as_serial(stmt)
    if stmt.extent.value <= 0:
        return Evaluate(IntImm(0), stmt.origin)
    values: list[Expr] = [stmt.min + i for i in range(stmt.extent.value)]
    return seq(instances(stmt.body, stmt.loop_var, values))


def _as_serial(stmt: Stmt) -> Stmt:
    unrolled = isinstance(stmt, For) and stmt.kind is ForKind.UNROLLED
    return replace(stmt, kind=ForKind.SERIAL) if isinstance(stmt, For) and unrolled else stmt
