"""Simplify every expression, knowing the loops and conditions around it.

Before::

    for (i, 0, 16) {
      if (likely(i < 20)) { load(floordiv(i*256 + 0*4096, 16)) }
    }

After::

for (i, 0, 16) { load(i*16) }

A condition that is known takes its branch; a let of a variable or constant is replaced by it.
Tests: tests/vta/passes/generic/test_simplify_pass.py.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.arith.simplify import Analyzer
from vta.tir.deep import deep
from vta.tir.expr import Expr, IntImm, IterVar, Range, Var
from vta.tir.func import PrimFunc
from vta.tir.stmt import AttrKey, AttrStmt, Evaluate, For, IfThenElse, LetStmt, Stmt
from vta.tir.traverse import map_stmt_children, substitute

__all__ = ["simplify", "simplify_stmt"]


def simplify(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` with its expressions in normal form."""
    return replace(func, body=simplify_stmt(func.body, Analyzer()))


@deep
def simplify_stmt(stmt: Stmt, analyzer: Analyzer) -> Stmt:
    """Return ``stmt`` with its expressions in normal form; ``analyzer`` knows what is around it."""
    match stmt:
        case For():
            analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
        case AttrStmt(key=AttrKey.VIRTUAL_THREAD | AttrKey.THREAD_EXTENT, node=IterVar(var=thread)):
            analyzer.bind(thread, Range(IntImm(0, thread.dtype), stmt.value))
        case IfThenElse():
            return _simplify_branches(stmt, analyzer)
        case LetStmt():
            return _simplify_let(stmt, analyzer)
        case _:
            pass
    return map_stmt_children(stmt, lambda child: simplify_stmt(child, analyzer), analyzer.simplify)


def _simplify_branches(stmt: IfThenElse, analyzer: Analyzer) -> Stmt:
    condition = analyzer.simplify(stmt.condition)
    if isinstance(condition, IntImm):
        if condition.value:
            return simplify_stmt(stmt.then_case, analyzer)
        return Evaluate(IntImm(0), stmt.origin) if stmt.else_case is None else simplify_stmt(stmt.else_case, analyzer)
    with analyzer.constraint(condition):
        then_case = simplify_stmt(stmt.then_case, analyzer)
    else_case = None if stmt.else_case is None else _simplify_otherwise(stmt.else_case, condition, analyzer)
    if condition is stmt.condition and then_case is stmt.then_case and else_case is stmt.else_case:
        return stmt
    return replace(stmt, condition=condition, then_case=then_case, else_case=else_case)


def _simplify_otherwise(stmt: Stmt, condition: Expr, analyzer: Analyzer) -> Stmt:
    with analyzer.constraint(~condition):
        return simplify_stmt(stmt, analyzer)


def _simplify_let(stmt: LetStmt, analyzer: Analyzer) -> Stmt:
    value = analyzer.simplify(stmt.value)
    if isinstance(value, Var | IntImm):
        return simplify_stmt(substitute(stmt.body, {stmt.var: value}), analyzer)
    if value.dtype.is_int:
        analyzer.bind(stmt.var, analyzer.const_bounds(value))
    body = simplify_stmt(stmt.body, analyzer)
    return stmt if value is stmt.value and body is stmt.body else replace(stmt, value=value, body=body)
