"""Run the virtual threads of the schedule interleaved in one program, each with its own part of the memory.

Two kinds of threads: "cthread" gives every thread its own copy of all memory allocated in its scope and repeats every
statement; "vthread" shares what does not depend on the thread. Statement after statement is repeated for all threads
(not the whole body), so that the loads of all threads run ahead of the work on them; the tokens inside belong to one
thread each. A repeated statement is written out if no loop is in it and the threads are fewer than 16; otherwise it
becomes the body of a loop ``<thread>.s``.

Before::

    attr [IterVar(cthread)] "virtual_thread" = 2;
    allocate(x_buf, int8, [32]), storage_scope = local.inp_buffer {
      attr "coproc_scope" = 1 { load(x + cthread*2, access_ptr(x_buf, 0)) }
      for (k, 0, 4) {
        attr "coproc_scope" = 2 { for (i, 0, 2) { gemm(access_ptr(x_buf, i*16)) } }
      }
    }

After::

    allocate(x_buf, int8, [64]), storage_scope = local.inp_buffer {
      attr "coproc_scope" = 1 { load(x + 0*2, access_ptr(x_buf, 0 + 0*32)) }
      attr "coproc_scope" = 1 { load(x + 1*2, access_ptr(x_buf, 0 + 1*32)) }
      for (k, 0, 4) {
        for (cthread.s, 0, 2) {
          attr "coproc_scope" = 2 { for (i, 0, 2) { gemm(access_ptr(x_buf, i*16 + cthread.s*32)) } }
        }
      }
    }

A third kind of axis, "rotate", is a loop: its iterations run one after the other, as without it, but each has its own
copy of the memory that is allocated in its scope (and in no other "rotate" axis inside), so that work on one need not
wait until the memory of the one before it is free. Tokens inside are left to the runtime. Before::

    attr [IterVar(rotate)] "virtual_thread" = 2;
    allocate(x_buf, int8, [32]), storage_scope = local.inp_buffer {
      attr "coproc_scope" = 1 { load(x + rotate*2, access_ptr(x_buf, 0)) }
    }

After::

    for (rotate, 0, 2) {
      allocate(x_buf, int8, [64]), storage_scope = local.inp_buffer {
        attr "coproc_scope" = 1 { load(x + rotate*2, access_ptr(x_buf, rotate*32)) }
      }
    }

What is repeated as one: the outermost statement whose header (loop bounds, let, condition, attribute value) depends on
the thread; else, for cthread, a whole coproc_scope or coproc_uop_scope; for vthread, a coproc_uop_scope, which is one
kernel and has no tokens in it; else the single store or call. Expects one-dimensional memory. Axes may nest; the inner
one is expanded first. The function's attribute VIRTUAL_THREADS tells later passes that memory is divided among threads.

Tests: tests/vta/passes/vthread/test_inject_virtual_thread.py and the rest of tests/vta/passes/vthread.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import prod

from isa.config import VTAConfig
from isa.origin import Origin
from vta.passes.errors import PassError
from vta.passes.fresh_definitions import instances
from vta.passes.plain_pointers import PlainPointer, plain_pointers
from vta.passes.vthread.thread_touched import touched_variables
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import BufferLoad, Builtin, Call, Expr, IntImm, IterVar, Var, const
from vta.tir.func import PrimFunc
from vta.tir.stmt import (
    Allocate,
    AttrKey,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Stmt,
    seq,
)
from vta.tir.traverse import map_expr, map_stmt_children, substitute, walk

__all__ = ["ROTATE_TAG", "VIRTUAL_THREADS", "VirtualThreadError", "inject_virtual_thread"]

VIRTUAL_THREADS = "virtual_threads"
"""Attribute of a function whose memory is divided among virtual threads."""

ROTATE_TAG = "rotate"
"""The tag of an axis whose iterations use copies of their memory in turn."""

_SHARING_TAG = "vthread"
_UNROLL_BELOW = 16
_LARGEST_INDEX = (1 << 31) - 1
_SCOPES = (AttrKey.COPROC_SCOPE, AttrKey.COPROC_UOP_SCOPE)


class VirtualThreadError(PassError):
    """A virtual thread axis that cannot be expanded."""


@dataclass(frozen=True, slots=True)
class _Threads:
    """One thread axis while it is expanded; ``strides`` are the elements per thread of divided memory.

    ``kept`` is memory that axes inside have divided already, and that this one leaves alone.
    """

    var: Var
    count: int
    shares: bool
    touched: set[Var]
    config: VTAConfig
    kept: frozenset[Var] = frozenset()
    strides: dict[Var, Expr] = field(default_factory=dict)
    buffers: dict[Buffer, Buffer] = field(default_factory=dict)


def inject_virtual_thread(func: PrimFunc, config: VTAConfig) -> PrimFunc:
    """Return ``func`` without virtual threads; raises ``VirtualThreadError``."""
    body = _expand_all(func.body, config, set())
    if body is func.body:
        return func
    return replace(func, body=body, attrs={**func.attrs, VIRTUAL_THREADS: True})


@deep
def _expand_all(stmt: Stmt, config: VTAConfig, rotated: set[Var]) -> Stmt:
    """Return ``stmt`` without thread axes; memory that rotates is added to ``rotated``."""
    stmt = map_stmt_children(stmt, lambda child: _expand_all(child, config, rotated), lambda expr: expr)
    match stmt:
        case AttrStmt(key=AttrKey.VIRTUAL_THREAD, node=IterVar(thread_tag=tag) as axis) if tag == ROTATE_TAG:
            return _rotate(stmt, axis, config, rotated)
        case AttrStmt(key=AttrKey.VIRTUAL_THREAD, node=IterVar() as axis):
            touched = touched_variables(stmt.body, axis.var, config)
            shares = axis.thread_tag.startswith(_SHARING_TAG)
            threads = _Threads(axis.var, _thread_count(stmt, axis), shares, touched, config)
            return _expand(stmt.body, threads)
        case _:
            return stmt


def _rotate(stmt: AttrStmt, axis: IterVar, config: VTAConfig, rotated: set[Var]) -> Stmt:
    """Return the loop that a rotating axis is, with a copy of its memory for each iteration."""
    count = _thread_count(stmt, axis)
    threads = _Threads(axis.var, count, False, set(), config, frozenset(rotated))
    body = _own_part(stmt.body, threads)
    rotated.update(threads.strides)
    return For(axis.var, const(0, axis.var.dtype), const(count, axis.var.dtype), body, origin=stmt.origin)


def _thread_count(stmt: AttrStmt, axis: IterVar) -> int:
    if not isinstance(stmt.value, IntImm) or stmt.value.value < 1:
        got = str(stmt.value.value) if isinstance(stmt.value, IntImm) else "an extent that is computed"
        raise VirtualThreadError(
            f"virtual thread axis {axis.name!r}",
            expected="a constant number of threads, at least 1",
            got=got,
            hint="bind an axis whose extent is a constant, for example the outer part of split(nparts=2)",
            origin=stmt.origin,
        )
    return stmt.value.value


@deep
def _expand(stmt: Stmt, threads: _Threads) -> Stmt:
    """Return ``stmt`` with its memory divided, and repeated where its parts need it."""
    match stmt:
        case Evaluate() | BufferStore():
            return _repeat(stmt, threads) if not threads.shares or _touches(stmt, threads) else stmt
        case AttrStmt(key=key) if key in _SCOPES and not threads.shares:
            return _repeat(stmt, threads)
        case AttrStmt(key=AttrKey.COPROC_UOP_SCOPE) if _touches(stmt, threads):
            return _repeat(stmt, threads)
        case AttrStmt() | LetStmt() | For() | IfThenElse() | Allocate() if _header_is_touched(stmt, threads):
            return _repeat(stmt, threads)
        case Allocate():
            return _expand_allocation(stmt, threads)
        case BufferRealize():
            raise VirtualThreadError(
                f"buffer {stmt.buffer.name!r}",
                expected="one-dimensional memory",
                got="a region of a tensor",
                hint="run StorageFlatten first",
                origin=stmt.origin,
            )
        case _:
            return map_stmt_children(stmt, lambda child: _expand(child, threads), lambda expr: expr)


def _expand_allocation(stmt: Allocate, threads: _Threads) -> Stmt:
    if threads.shares and stmt.buffer_var not in threads.touched:
        body = _expand(stmt.body, threads)
        return stmt if body is stmt.body else replace(stmt, body=body)
    enlarged = _divide(stmt, threads)
    return replace(enlarged, body=_expand(stmt.body, threads))


def _divide(stmt: Allocate, threads: _Threads) -> Allocate:
    """Return the allocation with room for every thread, and remember the size of one thread's part."""
    if all(isinstance(extent, IntImm) for extent in stmt.extents):
        _check_size(stmt, threads)
    stride: Expr = const(1)
    for extent in stmt.extents:
        stride = stride * extent
    threads.strides[stmt.buffer_var] = stride
    return replace(stmt, extents=(stride * threads.count,))


def _check_size(stmt: Allocate, threads: _Threads) -> None:
    elements = prod(extent.value for extent in stmt.extents if isinstance(extent, IntImm))
    if elements * threads.count > _LARGEST_INDEX:
        raise VirtualThreadError(
            f"buffer {stmt.buffer_var.name!r}",
            expected=f"at most {_LARGEST_INDEX} elements for all threads",
            got=f"{elements} for each of {threads.count} threads of {threads.var.name!r}",
            hint="use fewer threads or smaller tiles",
            origin=stmt.origin,
        )


def _is_divided(stmt: Allocate, threads: _Threads) -> bool:
    """Whether an allocation inside a repeated statement needs room for every thread: all on-chip memory does."""
    if stmt.buffer_var in threads.kept or any(_touches(extent, threads) for extent in stmt.extents):
        return False
    return not threads.shares or stmt.buffer_var in threads.touched


def _header(stmt: Stmt) -> Iterable[Expr]:
    match stmt:
        case For():
            return (stmt.min, stmt.extent)
        case AttrStmt() | LetStmt():
            return (stmt.value,)
        case IfThenElse():
            return (stmt.condition,)
        case Allocate():
            return (*stmt.extents, stmt.condition)
        case _:
            return ()


def _header_is_touched(stmt: Stmt, threads: _Threads) -> bool:
    return any(_touches(expr, threads) for expr in _header(stmt))


def _touches(node: Stmt | Expr, threads: _Threads) -> bool:
    """Whether ``node`` uses the thread, or memory that depends on it or is divided."""
    for item in walk(node):
        match item:
            case Var() if item in threads.touched or item in threads.strides:
                return True
            case BufferLoad(buffer=buffer) | BufferStore(buffer=buffer):
                if buffer.data in threads.touched or buffer.data in threads.strides:
                    return True
            case _:
                continue
    return False


def _repeat(stmt: Stmt, threads: _Threads) -> Stmt:
    """Return ``stmt`` once for every thread, in order."""
    one = _own_part(stmt, threads)
    if threads.count == 1:
        return substitute(one, {threads.var: const(0, threads.var.dtype)})
    if threads.count < _UNROLL_BELOW and not any(isinstance(node, For) for node in walk(stmt)):
        return seq(instances(one, threads.var, [const(i, threads.var.dtype) for i in range(threads.count)]))
    index = Var(f"{threads.var.name}.s", threads.var.dtype)
    extent = const(threads.count, index.dtype)
    return For(index, const(0, index.dtype), extent, substitute(one, {threads.var: index}), origin=stmt.origin)


def _own_part(stmt: Stmt, threads: _Threads) -> Stmt:
    """Return ``stmt`` with every access to divided memory moved to the part of thread ``threads.var``."""

    def on_expr(expr: Expr) -> Expr:
        return map_expr(lambda node: _move_access(node, threads, stmt.origin), expr)

    @deep
    def on_stmt(child: Stmt) -> Stmt:
        match child:
            case Allocate() if _is_divided(child, threads):
                enlarged = _divide(child, threads)
                return map_stmt_children(enlarged, on_stmt, on_expr)
            case BufferStore() if child.buffer.data in threads.strides:
                buffer = _divided_buffer(child.buffer, threads, child.origin)
                index = _moved_index(on_expr(child.indices[0]), threads, child.buffer.data)
                return replace(child, buffer=buffer, value=on_expr(child.value), indices=(index,))
            case _:
                return map_stmt_children(child, on_stmt, on_expr)

    return on_stmt(stmt)


def _move_access(node: Expr, threads: _Threads, origin: Origin | None) -> Expr:
    match node:
        case BufferLoad() if node.buffer.data in threads.strides:
            buffer = _divided_buffer(node.buffer, threads, origin)
            return BufferLoad(buffer, (_moved_index(node.indices[0], threads, node.buffer.data),))
        case Call(op=Builtin.ACCESS_PTR, args=(annotation, Var() as data, offset, extent, mask)):
            if data not in threads.strides:
                return node
            moved = _moved_index(offset, threads, data, lanes=annotation.dtype.lanes)
            return Call(node.dtype, node.op, (annotation, data, moved, extent, mask))
        case Call(op=Builtin.CALL_EXTERN):
            return _move_plain_pointers(node, threads, origin)
        case _:
            return node


def _move_plain_pointers(call: Call, threads: _Threads, origin: Origin | None) -> Call:
    """Return an external call whose offsets into divided memory lead to the thread's part."""
    args = list(call.args)
    for pointer in plain_pointers(call, threads.config):
        if pointer.data not in threads.strides:
            continue
        if pointer.offset is None:
            raise VirtualThreadError(
                f"buffer {pointer.data.name!r}, which every thread of {threads.var.name!r} has a part of",
                expected="an access pointer in every call that uses it",
                got=f"a plain pointer in a call of {args[0]}",
                hint="pass buffer.access_ptr('rw')",
                origin=origin,
            )
        stride = _units(threads.strides[pointer.data], pointer, threads, origin)
        args[pointer.offset] = args[pointer.offset] + threads.var * stride
    return replace(call, args=tuple(args))


def _units(stride: Expr, pointer: PlainPointer, threads: _Threads, origin: Origin | None) -> Expr:
    """Return a thread's part of some memory in the units of a call's offset."""
    if pointer.unit == 1:
        return stride
    if isinstance(stride, IntImm) and stride.value % pointer.unit == 0:
        return const(stride.value // pointer.unit)
    raise VirtualThreadError(
        f"buffer {pointer.data.name!r}, which every thread of {threads.var.name!r} has a part of",
        expected=f"a constant number of whole tiles of {pointer.unit} numbers for each thread, as DMA counts in tiles",
        got=f"{stride} numbers",
        hint="make the innermost dimensions of the tensor a tile",
        origin=origin,
    )


def _moved_index(index: Expr, threads: _Threads, data: Var, *, lanes: int = 1) -> Expr:
    stride = threads.strides[data]
    return index + threads.var * (stride if lanes == 1 else stride // lanes)


def _divided_buffer(buffer: Buffer, threads: _Threads, origin: Origin | None) -> Buffer:
    if buffer not in threads.buffers:
        if len(buffer.shape) != 1:
            raise VirtualThreadError(
                f"buffer {buffer.name!r}",
                expected="one dimension",
                got=f"{len(buffer.shape)} dimensions",
                hint="run StorageFlatten first",
                origin=origin,
            )
        size = threads.strides[buffer.data] * threads.count
        threads.buffers[buffer] = replace(buffer, shape=(size,))
    return threads.buffers[buffer]
