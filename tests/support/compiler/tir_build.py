"""Small programs for the tests of passes: statements made by hand, and a compact text of what became of them.

``outline`` prints a program like the traces in the documentation of dependencies: ``[2] reset push(2,1)`` is a
statement of the compute module with a push at its end, everything else is the host's.
"""

from collections.abc import Sequence

from vta.passes.coproc_axis import coproc_axis, is_coproc_scope
from vta.passes.coproc_axis import coproc_scope as make_coproc_scope
from vta.tir.buffer import Buffer
from vta.tir.dtype import HANDLE, INT32, DType
from vta.tir.expr import (
    BufferLoad,
    Builtin,
    Call,
    Expr,
    ExprLike,
    IntImm,
    IterKind,
    IterVar,
    PointerType,
    Range,
    StringImm,
    Var,
    convert,
)
from vta.tir.func import PrimFunc
from vta.tir.stmt import (
    PRAGMA_PREFIX,
    Allocate,
    AttrKey,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    seq,
)

__all__ = [
    "alloc", "block", "buffer", "call", "function", "host_load", "loop", "on", "outline", "pragma", "realize", "store",
    "thread", "when",
]  # fmt: skip

AXIS = coproc_axis()


def block(*stmts: Stmt) -> Stmt:
    """Return ``stmts`` one after the other."""
    return seq(stmts)


def call(name: str, *args: ExprLike) -> Evaluate:
    """Return a call of the external function ``name``."""
    return Evaluate(Call(INT32, Builtin.CALL_EXTERN, (StringImm(name), *(convert(a) for a in args))))


def on(queue: int, *stmts: Stmt | str) -> AttrStmt:
    """Return ``stmts`` as work of a module; a string is a call of that name."""
    return make_coproc_scope(AXIS, queue, block(*(call(s) if isinstance(s, str) else s for s in stmts)))


def loop(var: str | Var, extent: ExprLike, *body: Stmt, kind: ForKind = ForKind.SERIAL, low: ExprLike = 0) -> For:
    """Return ``body`` for ``var`` from ``low`` to ``low + extent - 1``."""
    loop_var = Var(var, INT32) if isinstance(var, str) else var
    return For(loop_var, convert(low), convert(extent), block(*body), kind)


def when(condition: ExprLike, then_case: Stmt, else_case: Stmt | None = None) -> IfThenElse:
    """Return a condition."""
    return IfThenElse(convert(condition), then_case, else_case)


def pragma(name: str, *body: Stmt, axis: str = "i0", value: int = 1) -> AttrStmt:
    """Return ``body`` under pragma ``name``."""
    node = IterVar(None, Var(axis, INT32), IterKind.DATA_PAR)
    return AttrStmt(node, PRAGMA_PREFIX + name, IntImm(value), block(*body))


def thread(var: str | Var, count: int, *body: Stmt, tag: str = "cthread") -> AttrStmt:
    """Return ``body`` for each of ``count`` virtual threads."""
    thread_var = Var(var, INT32) if isinstance(var, str) else var
    axis = IterVar(None, thread_var, IterKind.THREAD_INDEX, tag)
    return AttrStmt(axis, AttrKey.VIRTUAL_THREAD, IntImm(count), block(*body))


def buffer(name: str, shape: Sequence[ExprLike], dtype: str = "int32", scope: str = "global") -> Buffer:
    """Return a buffer with a data pointer of its own."""
    kind = DType(dtype)
    data = Var(name, HANDLE, PointerType(kind, scope))
    return Buffer(name, data, kind, tuple(convert(e) for e in shape), scope=scope)


def alloc(memory: Buffer, *body: Stmt) -> Allocate:
    """Return ``body`` with ``memory`` allocated."""
    return Allocate(memory.data, memory.dtype, memory.shape, block(*body))


def realize(memory: Buffer, bounds: Sequence[tuple[ExprLike, ExprLike]], *body: Stmt) -> BufferRealize:
    """Return ``body`` with the region ``bounds`` (min, extent) of ``memory`` realised."""
    return BufferRealize(memory, tuple(Range(convert(m), convert(e)) for m, e in bounds), block(*body))


def host_load(memory: Buffer, *indices: ExprLike) -> BufferLoad:
    """Return the element of ``memory`` at ``indices``."""
    return BufferLoad(memory, tuple(convert(i) for i in indices))


def store(memory: Buffer, value: ExprLike, *indices: ExprLike) -> BufferStore:
    """Return the store of ``value`` (converted to the buffer's type if it is a number)."""
    expr = convert(value, memory.dtype) if isinstance(value, int) else convert(value)
    return BufferStore(memory, expr, tuple(convert(i) for i in indices))


def function(body: Stmt, *params: Buffer, name: str = "main") -> PrimFunc:
    """Return a function of ``params``."""
    handles = tuple(Var(f"{b.name}_handle", HANDLE) for b in params)
    return PrimFunc(name, handles, body, dict(zip(handles, params, strict=True)))


def outline(stmt: Stmt) -> list[str]:
    """Return one line per statement, indented by two spaces per level; sequences of one module on one line."""
    match stmt:
        case SeqStmt():
            return [line for child in stmt.stmts for line in outline(child)]
        case AttrStmt() if is_coproc_scope(stmt):
            assert isinstance(stmt.value, IntImm)
            return [f"[{stmt.value.value}] " + " ".join(line.strip() for line in outline(stmt.body))]
        case For():
            return [f"for {stmt.loop_var.name} {{", *_indented(stmt.body), "}"]
        case IfThenElse(else_case=None):
            return ["if {", *_indented(stmt.then_case), "}"]
        case IfThenElse():
            return ["if {", *_indented(stmt.then_case), "} else {", *_indented(stmt.else_case or stmt), "}"]
        case AttrStmt():
            return [f"{stmt.key} {{", *_indented(stmt.body), "}"]
        case Allocate():
            return [f"allocate {stmt.buffer_var.name} {{", *_indented(stmt.body), "}"]
        case LetStmt():
            return [f"let {stmt.var.name} {{", *_indented(stmt.body), "}"]
        case Evaluate():
            return [_expr(stmt.value)]
        case BufferStore():
            return [f"{stmt.buffer.name}[]"]
        case _:
            return [type(stmt).__name__]


def _indented(stmt: Stmt) -> list[str]:
    return ["  " + line for line in outline(stmt)]


def _expr(value: Expr) -> str:
    match value:
        case Call(op=Builtin.COPROC_SYNC):
            return "sync"
        case Call(op=Builtin.COPROC_DEP_PUSH, args=(IntImm(value=source), IntImm(value=target))):
            return f"push({source},{target})"
        case Call(op=Builtin.COPROC_DEP_POP, args=(IntImm(value=source), IntImm(value=target))):
            return f"pop({source},{target})"
        case Call(op=Builtin.CALL_EXTERN, args=(StringImm(value=symbol), *_)):
            return symbol
        case Call():
            return value.op.rpartition(".")[2]
        case IntImm():
            return str(value.value)
        case _:
            return type(value).__name__
