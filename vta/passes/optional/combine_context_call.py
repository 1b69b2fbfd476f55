"""Ask once for the runtime's context where a function asks for it again and again.

Before::

    for (i, 0, n) { fadd(tvm_thread_context(command_handle()), A) }

After::

    let ctx_cache_ = tvm_thread_context(command_handle())
    for (i, 0, n) { fadd(ctx_cache_, A) }

The context of a kernel (``coproc_uop_scope``) and that of a parallel loop's body are asked for inside of it.
Tests: tests/vta/passes/optional/test_rewrites.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from isa.config import VTAConfig
from vta.tir.deep import deep
from vta.tir.expr import Builtin, Call, Expr, Var, same
from vta.tir.func import PrimFunc
from vta.tir.stmt import AttrKey, AttrStmt, For, ForKind, LetStmt, Stmt
from vta.tir.traverse import map_expr, map_stmt_children

__all__ = ["combine_context_call"]


def combine_context_call(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
    """Return ``func`` with each context in a variable."""
    return replace(func, body=_Contexts().scope(func.body))


@dataclass(frozen=True, slots=True)
class _Contexts:
    """The contexts that a scope asks for, each with its variable."""

    found: list[tuple[Expr, Var]] = field(default_factory=list)

    def scope(self, body: Stmt) -> Stmt:
        """Return ``body`` with its contexts asked for at its beginning."""
        result = self.visit(body)
        for call, var in reversed(self.found):
            result = LetStmt(var, call, result, body.origin)
        return result

    @deep
    def visit(self, stmt: Stmt) -> Stmt:
        """Return ``stmt`` with variables in place of contexts."""
        own = isinstance(stmt, AttrStmt) and stmt.key == AttrKey.COPROC_UOP_SCOPE
        if own or (isinstance(stmt, For) and stmt.kind is ForKind.PARALLEL):
            assert isinstance(stmt, AttrStmt | For)
            body = _Contexts().scope(stmt.body)
            return stmt if body is stmt.body else replace(stmt, body=body)
        return map_stmt_children(stmt, self.visit, lambda expr: map_expr(self._variable, expr))

    def _variable(self, expr: Expr) -> Expr:
        if not (isinstance(expr, Call) and expr.op is Builtin.THREAD_CONTEXT):
            return expr
        for call, var in self.found:
            if same(call, expr):
                return var
        name = "ctx_cache_" if not self.found else f"ctx_cache_{len(self.found)}"
        self.found.append((expr, Var(name, expr.dtype)))
        return self.found[-1][1]
