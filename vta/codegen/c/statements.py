"""TIR statements to C: loops, stores, and temporaries in a workspace that the caller brings.

Tests: tests/vta/codegen/c/test_function.py.
"""

from math import prod

from vta.codegen.c.expressions import Scope, emit_expr, emit_place
from vta.codegen.c.types import c_type, memory_type
from vta.codegen.llvm_types import CodegenError, bytes_of
from vta.tir.deep import deep
from vta.tir.dtype import Kind
from vta.tir.expr import IntImm
from vta.tir.stmt import (
    Allocate,
    AttrKey,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)  # fmt: skip

__all__ = ["ALIGNMENT", "emit_stmt"]

ALIGNMENT = 64
"""Temporaries begin at multiples of so many bytes of the workspace."""

_BOUND = (AttrKey.VIRTUAL_THREAD, AttrKey.THREAD_EXTENT, AttrKey.BUFFER_BIND_SCOPE, AttrKey.COPROC_UOP_SCOPE)


@deep
def emit_stmt(scope: Scope, stmt: Stmt, used: int) -> int:
    """Write ``stmt``, which may use the workspace behind its first ``used`` bytes; return how many it needs in all."""
    match stmt:
        case SeqStmt():
            return max([used, *(emit_stmt(scope, child, used) for child in stmt.stmts)])
        case Evaluate(value=IntImm()):
            return used
        case For():
            return _emit_loop(scope, stmt, used)
        case BufferStore():
            value = emit_expr(scope, stmt.value)
            stored = f"(uint8_t){value}" if stmt.buffer.dtype.kind is Kind.BOOL else value
            memory_type(stmt.buffer.dtype)
            scope.writer.line(f"{emit_place(scope, stmt.buffer, stmt.indices)} = {stored};")
            scope.writer.forget()
            return used
        case AttrStmt(key=key) if key not in _BOUND:
            return emit_stmt(scope, stmt.body, used)
        case LetStmt():
            value = emit_expr(scope, stmt.value)
            name = scope.names[stmt.var] = scope.writer.named_like(stmt.var.name)
            with scope.writer.defined(f"const {c_type(stmt.var.dtype)} {name} = {value};", name):
                return emit_stmt(scope, stmt.body, used)
        case IfThenElse():
            return _emit_if(scope, stmt, used)
        case While():
            return _emit_while(scope, stmt, used)
        case Allocate():
            return _emit_allocate(scope, stmt, used)
        case _:
            raise CodegenError(f"{scope.where}: {type(stmt).__name__} has no C code, which is for the CPU alone")


def _emit_loop(scope: Scope, loop: For, used: int) -> int:
    kind = "int64_t" if loop.loop_var.dtype.bits > 32 else "int32_t"  # which the end fits into, too
    begin, extent = emit_expr(scope, loop.min), emit_expr(scope, loop.extent)
    name = scope.names[loop.loop_var] = scope.writer.named_like(loop.loop_var.name)
    end = extent if begin == "0" else f"{begin} + {extent}"
    with scope.writer.block(f"for ({kind} {name} = {begin}; {name} < {end}; ++{name}) {{", of_statements=True):
        return emit_stmt(scope, loop.body, used)


def _emit_while(scope: Scope, loop: While, used: int) -> int:
    with scope.writer.block("for (;;) {", of_statements=True):
        scope.writer.line(f"if (!({emit_expr(scope, loop.condition)})) break;")
        return emit_stmt(scope, loop.body, used)


def _emit_if(scope: Scope, stmt: IfThenElse, used: int) -> int:
    with scope.writer.block(f"if ({emit_expr(scope, stmt.condition)}) {{", of_statements=True):
        needed = emit_stmt(scope, stmt.then_case, used)
    if stmt.else_case is not None:
        with scope.writer.block("else {", of_statements=True):
            needed = max(needed, emit_stmt(scope, stmt.else_case, used))
    return needed


def _emit_allocate(scope: Scope, stmt: Allocate, used: int) -> int:
    extents = [extent.value for extent in stmt.extents if isinstance(extent, IntImm)]
    if len(extents) != len(stmt.extents) or stmt.scope.startswith("local."):
        raise CodegenError(
            f"{scope.where}: temporary {stmt.buffer_var.name!r} has no C code; temporaries are of constant size, and "
            "in the host's memory"
        )
    name = scope.names[stmt.buffer_var] = scope.writer.named_like(stmt.buffer_var.name)
    kind = memory_type(stmt.dtype)
    after = used + -(-bytes_of(stmt.dtype, prod(extents)) // ALIGNMENT) * ALIGNMENT
    with scope.writer.defined(f"{kind} *const {name} = ({kind} *)(workspace + {used});", name):
        return emit_stmt(scope, stmt.body, after)
