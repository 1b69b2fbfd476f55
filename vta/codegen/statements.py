"""TIR statements to LLVM IR: loops, stores, temporaries, micro-op kernels.

Loops run in order, but for parallel ones (``parallel_loops``); what is left to vectorise is LLVM's business. A
temporary that a DMA call touches lives in device memory until the function ends; another one on the stack if it is
small and constant, else on the heap. Tests: tests/vta/codegen/test_host_*.py.
"""

from collections.abc import Iterator
from typing import assert_never

from llvmlite import ir

from vta.codegen import arithmetic, vectors
from vta.codegen.closures import emit_kernel
from vta.codegen.element import store_element
from vta.codegen.expressions import emit_expr, emit_offset, emit_place, first_neighbour
from vta.codegen.llvm_types import I8, I64, POINTER, CodegenError, Value, bytes_of, constant, register_type
from vta.codegen.parallel_loops import emit_parallel, runs_in_parallel
from vta.codegen.results import emit_return
from vta.codegen.runtime_calls import DMA_CALLS
from vta.codegen.scope import FunctionScope
from vta.tir.blocks import misplaced, unlowered_block
from vta.tir.deep import deep
from vta.tir.dtype import INT64
from vta.tir.expr import Builtin, Call, Expr, IntImm, IterVar, StringImm, Var
from vta.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrKey,
    AttrStmt,
    Block,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Prefetch,
    ProducerRealize,
    ProducerStore,
    SeqStmt,
    Stmt,
    While,
)  # fmt: skip
from vta.tir.traverse import walk

__all__ = ["STACK_LIMIT", "emit_stmt", "moved_by_dma"]

STACK_LIMIT = 16384
"""Bytes up to which a temporary of constant size lives on the stack."""

_ALIGNMENT = 64


@deep
def emit_stmt(scope: FunctionScope, stmt: Stmt) -> None:
    """Write ``stmt`` at the builder's place."""
    with scope.at(stmt.origin):
        match stmt:
            case SeqStmt():
                for child in stmt.stmts:
                    emit_stmt(scope, child)
            case Evaluate(value=Call(op=Builtin.RET, args=(value,))):
                emit_return(scope, value)
            case Evaluate():
                if not isinstance(stmt.value, IntImm):
                    emit_expr(scope, stmt.value)
            case For() if runs_in_parallel(scope, stmt):
                emit_parallel(scope, stmt, _emit_loop)
            case For():
                _emit_loop(scope, stmt)
            case BufferStore():
                _emit_store(scope, stmt)
            case AttrStmt():
                _emit_attr(scope, stmt)
            case LetStmt():
                scope.values[stmt.var] = emit_expr(scope, stmt.value)
                scope.definitions[stmt.var] = stmt.value
                emit_stmt(scope, stmt.body)
            case IfThenElse():
                _emit_if(scope, stmt)
            case Allocate():
                _emit_allocate(scope, stmt)
            case AssertStmt():
                scope.fail_unless(emit_expr(scope, stmt.condition), f"{scope.where}: {stmt.message.value}")
                emit_stmt(scope, stmt.body)
            case BufferRealize():
                raise CodegenError(f"{scope.where}: buffer {stmt.buffer.name!r} is not flattened yet")
            case Block():
                raise unlowered_block(stmt)
            case While():
                _emit_while(scope, stmt)
            case Prefetch() | ProducerStore() | ProducerRealize():
                raise misplaced(stmt)
            case _:
                assert_never(stmt)


def _emit_loop(scope: FunctionScope, loop: For) -> None:
    """Write a loop with the test at its end, entered if it has at least one iteration."""
    builder, dtype = scope.builder, loop.loop_var.dtype
    begin, extent = emit_expr(scope, loop.min), emit_expr(scope, loop.extent)
    end = builder.add(begin, extent)
    body, done = scope.function.append_basic_block("loop"), scope.function.append_basic_block("done")
    before = builder.block
    if isinstance(loop.extent, IntImm) and loop.extent.value > 0:
        builder.branch(body)
    else:
        builder.cbranch(builder.icmp_signed(">", extent, constant(loop.extent.dtype, 0)), body, done)
    builder.position_at_end(body)
    counter = builder.phi(register_type(dtype), loop.loop_var.name)
    counter.add_incoming(begin, before)
    scope.values[loop.loop_var] = counter
    emit_stmt(scope, loop.body)
    following = builder.add(counter, constant(dtype, 1), flags=["nsw"])
    counter.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, end), body, done)
    builder.position_at_end(done)


def _emit_while(scope: FunctionScope, loop: While) -> None:
    builder = scope.builder
    test, body, done = (scope.function.append_basic_block(name) for name in ("test", "again", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    builder.cbranch(emit_expr(scope, loop.condition), body, done)
    builder.position_at_end(body)
    emit_stmt(scope, loop.body)
    builder.branch(test)
    builder.position_at_end(done)


def _emit_store(scope: FunctionScope, store: BufferStore) -> None:
    value = emit_expr(scope, store.value)
    lanes = max((index.dtype.lanes for index in store.indices), default=1)
    dtype = store.buffer.dtype if lanes == 1 else store.buffer.dtype.with_lanes(lanes)
    if store.value.dtype != dtype:
        raise CodegenError(
            f"{scope.where}: a value of {store.value.dtype} is stored into buffer {store.buffer.name!r} of "
            f"{store.buffer.dtype}; cast it first"
        )
    first = first_neighbour(store.buffer, store.indices) if lanes > 1 else None
    if first is not None:
        base, offset = emit_offset(scope, store.buffer, first)
        vectors.store_neighbours(scope.builder, base, offset, dtype, value)
        return
    base, offset = emit_place(scope, store.buffer, store.indices)
    if lanes > 1:
        vectors.scatter(scope.builder, base, offset, dtype, value)
    else:
        store_element(scope.builder, base, offset, dtype, value)


def _emit_attr(scope: FunctionScope, attr: AttrStmt) -> None:
    match attr.key, attr.value:
        case AttrKey.COPROC_UOP_SCOPE, StringImm(value=symbol):
            emit_kernel(scope, symbol, attr.body, emit_stmt)
        case AttrKey.THREAD_EXTENT, _ if isinstance(attr.node, IterVar) and "Idx." in attr.node.thread_tag:
            raise CodegenError(
                f"{scope.where}: a loop is bound to {attr.node.thread_tag!r}, a GPU's threads; the program was "
                "lowered, and code is made for the CPU and the accelerator alone"
            )
        case (
            (AttrKey.VIRTUAL_THREAD | AttrKey.THREAD_EXTENT | AttrKey.BUFFER_BIND_SCOPE | AttrKey.COPROC_UOP_SCOPE),
            _,
        ):
            raise CodegenError(
                f"{scope.where}: attribute {attr.key!s} should have been lowered before host code is made"
            )
        case _:
            emit_stmt(scope, attr.body)


def _emit_if(scope: FunctionScope, stmt: IfThenElse) -> None:
    condition = emit_expr(scope, stmt.condition)
    if stmt.else_case is None:
        with scope.builder.if_then(condition):
            emit_stmt(scope, stmt.then_case)
        return
    with scope.builder.if_else(condition) as (then, otherwise):
        with then:
            emit_stmt(scope, stmt.then_case)
        with otherwise:
            emit_stmt(scope, stmt.else_case)


def _constant_elements(extents: tuple[Expr, ...]) -> int | None:
    elements = 1
    for extent in extents:
        if not isinstance(extent, IntImm):
            return None
        elements *= extent.value
    return elements


def _emit_allocate(scope: FunctionScope, stmt: Allocate) -> None:
    if stmt.scope.startswith("local.") and stmt.scope.count(".") == 1:
        raise CodegenError(
            f"{scope.where}: {stmt.buffer_var.name!r} is in the accelerator's memory {stmt.scope!r}, which host code "
            "cannot address; its accesses should have become DMA, GEMM or ALU operations"
        )
    elements = _constant_elements(stmt.extents)
    scope.distinct.add(stmt.buffer_var)
    if stmt.buffer_var in scope.moved_by_dma:
        _emit_device_temporary(scope, stmt)
    elif elements is not None and bytes_of(stmt.dtype, elements) <= STACK_LIMIT:
        kind = ir.ArrayType(I8, max(1, bytes_of(stmt.dtype, elements)))
        scope.values[stmt.buffer_var] = scope.stack(kind, _ALIGNMENT)
        emit_stmt(scope, stmt.body)
    else:
        _emit_heap_temporary(scope, stmt)


def moved_by_dma(body: Stmt) -> Iterator[Var]:
    """Yield the buffers of each LOAD and STORE in ``body``, which must be handles of device memory."""
    for node in walk(body):
        match node:
            case Call(op=Builtin.CALL_EXTERN, args=(StringImm(value=name), *arguments)) if name in DMA_CALLS:
                moved = arguments[DMA_CALLS[name]]
                if isinstance(moved, Var):
                    yield moved
            case _:
                continue


def _emit_bytes(scope: FunctionScope, stmt: Allocate) -> Value:
    """Return the bytes of an allocation as a 64-bit value; at least one, because malloc(0) may give null."""
    builder, total = scope.builder, ir.Constant(I64, 1)
    for extent in stmt.extents:
        wide = arithmetic.convert(builder, emit_expr(scope, extent), extent.dtype, INT64)
        total = builder.mul(total, wide)
    scope.fail_unless(
        builder.icmp_signed(">=", total, ir.Constant(I64, 0)),
        f"{scope.where}: the extent of {stmt.buffer_var.name!r} is negative",
    )
    bits = builder.mul(total, ir.Constant(I64, bytes_of(stmt.dtype, 8)))
    return builder.add(builder.lshr(bits, ir.Constant(I64, 3)), ir.Constant(I64, 1))


def _emit_heap_temporary(scope: FunctionScope, stmt: Allocate) -> None:
    slot, size = scope.heap_slot("free"), _emit_bytes(scope, stmt)
    pointer = scope.builder.call(scope.unit.extern("malloc"), [size])
    scope.builder.store(pointer, slot)
    _check_memory(scope, stmt, pointer)
    scope.values[stmt.buffer_var] = pointer
    emit_stmt(scope, stmt.body)
    scope.release(slot)


def _emit_device_temporary(scope: FunctionScope, stmt: Allocate) -> None:
    """Allocate device memory once a call, however often this code runs; the runtime's queue may still need it later."""
    slot = scope.heap_slot("VTABufferFree")
    size = _emit_bytes(scope, stmt)
    constant_size = _constant_elements(stmt.extents) is not None
    missing = scope.builder.icmp_unsigned("==", scope.builder.load(slot, typ=POINTER), ir.Constant(POINTER, None))
    with scope.builder.if_then(missing):
        scope.builder.store(scope.call_runtime("VTABufferAlloc", size), slot)
    pointer = scope.builder.load(slot, typ=POINTER)
    _check_memory(scope, stmt, pointer)
    scope.values[stmt.buffer_var] = pointer
    emit_stmt(scope, stmt.body)
    if not constant_size:
        scope.call_runtime("VTASynchronize", scope.command, ir.Constant(ir.IntType(32), 1 << 31))
        scope.release(slot)


def _check_memory(scope: FunctionScope, stmt: Allocate, pointer: Value) -> None:
    there = scope.builder.icmp_unsigned("!=", pointer, ir.Constant(POINTER, None))
    scope.fail_unless(there, f"{scope.where}: no memory for the temporary {stmt.buffer_var.name!r}")
