"""Drop statements that do nothing: empty loops, branches never taken, lets nobody uses, values nobody needs.

Before::

    for (i, 0, 0) { A[i] = 1 }
    if (1 == 1) { B[0] = 2 } else { B[0] = 3 }
    let unused = n*4
    { { C[0] = 4 } }

After::

    B[0] = 2
    C[0] = 4

Expects conditions and extents as Simplify leaves them. Attributes stay, unless nothing is left below them.
Tests: tests/vta/passes/generic/test_clean_up.py.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.tir.effects import has_effect
from vta.tir.expr import BufferLoad, Call, Expr, IntImm
from vta.tir.func import PrimFunc
from vta.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    is_noop,
    seq,
)
from vta.tir.traverse import map_stmt, uses_var, walk

__all__ = ["is_index_arithmetic", "remove_no_op"]

_NOTHING = Evaluate(IntImm(0))


def is_index_arithmetic(expr: Expr) -> bool:
    """Whether ``expr`` is an integer that depends on variables and constants alone."""
    return expr.dtype.is_int and not any(isinstance(node, Call | BufferLoad) for node in walk(expr))


def remove_no_op(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` without statements that do nothing."""
    return replace(func, body=map_stmt(func.body, _without_no_op))


def _without_no_op(stmt: Stmt) -> Stmt:
    match stmt:
        case Evaluate() if not has_effect(stmt.value):
            return stmt if is_noop(stmt) else _NOTHING
        case SeqStmt():
            return stmt if _is_flat(stmt) else seq(stmt.stmts)
        case For():
            empty = is_noop(stmt.body) or (isinstance(stmt.extent, IntImm) and stmt.extent.value <= 0)
            return _NOTHING if empty else stmt
        case AttrStmt() | BufferRealize() | Allocate():
            return _NOTHING if is_noop(stmt.body) else stmt
        case LetStmt():
            return _without_unused_let(stmt)
        case IfThenElse():
            return _without_dead_branch(stmt)
        case AssertStmt(condition=IntImm(value=1)):
            return stmt.body
        case _:
            return stmt


def _is_flat(stmt: SeqStmt) -> bool:
    return len(stmt.stmts) > 1 and not any(isinstance(s, SeqStmt) or is_noop(s) for s in stmt.stmts)


def _without_unused_let(stmt: LetStmt) -> Stmt:
    if has_effect(stmt.value):
        return stmt
    return stmt if uses_var(stmt.body, stmt.var) else stmt.body


def _without_dead_branch(stmt: IfThenElse) -> Stmt:
    else_case = None if stmt.else_case is None or is_noop(stmt.else_case) else stmt.else_case
    if isinstance(stmt.condition, IntImm):
        return stmt.then_case if stmt.condition.value else (else_case or _NOTHING)
    if is_noop(stmt.then_case) and else_case is None and not has_effect(stmt.condition):
        return _NOTHING
    return stmt if else_case is stmt.else_case else replace(stmt, else_case=else_case)
