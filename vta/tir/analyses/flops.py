"""How much arithmetic a program does: ``tir.analysis.estimate_tir_flops``.

Tests: tests/vta/tir/test_flops.py.
"""

from __future__ import annotations

from isa.errors import VTAError
from vta.tir.deep import deep
from vta.tir.expr import Binary, BufferLoad, Compare, Expr, IntImm, Let, Not, Select
from vta.tir.func import IRModule, PrimFunc
from vta.tir.stmt import Block, BufferStore, Evaluate, For, IfThenElse, LetStmt, Stmt, While
from vta.tir.traverse import children, expr_children

__all__ = ["FlopsError", "estimate_tir_flops"]


class FlopsError(VTAError, ValueError):
    """A program whose operations cannot be counted."""


def estimate_tir_flops(stmt_or_mod: Stmt | PrimFunc | IRModule) -> float:
    """Return how many operations a program does on numbers, those in indices and conditions of axes left out.

    Of branches the longer one counts. Raises ``FlopsError`` for loops without a constant number of iterations.
    """
    match stmt_or_mod:
        case IRModule():
            return float(sum(_of_stmt(func.body) for func in stmt_or_mod.functions.values()))
        case PrimFunc():
            return float(_of_stmt(stmt_or_mod.body))
        case _:
            return float(_of_stmt(stmt_or_mod))


@deep
def _of_stmt(stmt: Stmt) -> int:
    match stmt:
        case BufferStore() | Evaluate():
            return _of_expr(stmt.value)
        case LetStmt():
            return _of_expr(stmt.value) + _of_stmt(stmt.body)
        case For():
            if not isinstance(stmt.extent, IntImm):
                raise FlopsError(f"loop {stmt.loop_var.name!r} has {stmt.extent} iterations, no constant number")
            return stmt.extent.value * _of_stmt(stmt.body)
        case While():
            raise FlopsError("a while loop has no number of iterations")
        case IfThenElse():
            other = 0 if stmt.else_case is None else _of_stmt(stmt.else_case)
            return _of_expr(stmt.condition) + max(_of_stmt(stmt.then_case), other)
        case Block():
            return (0 if stmt.init is None else _of_stmt(stmt.init)) + _of_stmt(stmt.body)
        case _:
            return sum(_of_stmt(child) for child in children(stmt) if isinstance(child, Stmt))


@deep
def _of_expr(expr: Expr) -> int:
    match expr:
        case BufferLoad():
            return 0
        case Binary() | Compare() | Not():
            return 1 + sum(map(_of_expr, expr_children(expr)))
        case Select():
            return _of_expr(expr.condition) + max(_of_expr(expr.true_value), _of_expr(expr.false_value))
        case Let():
            return _of_expr(expr.value) + _of_expr(expr.body)
        case _:
            return sum(map(_of_expr, expr_children(expr)))
