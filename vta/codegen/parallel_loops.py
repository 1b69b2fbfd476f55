"""Parallel loops in host code: the body becomes a function of a range, which the pool of threads calls for parts of it.

    for (i, 0, n) "parallel" { body }      ->      code = __vta_parallel_for(part, &{captured}, 0, n)

    part(captured..., from, to):    for (i, from, to - from) { body }

A failure in a part is the loop's: of several, the first one by place, so the error is that of the loop in order. What
cannot run on another thread runs in order on the caller's, like any loop: what asks the accelerator or Python for
something (both belong to a thread), what ends the function, a loop inside a parallel one (whose threads are at work
already), and a loop that is known to be over sooner than another thread would have woken up. The pool:
``runtime.native.thread_pool``. Tests: tests/vta/codegen/test_parallel_loops.py.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf

from llvmlite import ir

from runtime.native.thread_pool import PARALLEL_FOR_SYMBOL
from vta.codegen import arithmetic
from vta.codegen.expressions import emit_expr
from vta.codegen.llvm_types import I32, I64, POINTER, Value, register_type
from vta.codegen.runtime_calls import RUNTIME_CALLS, Signature
from vta.codegen.scope import FunctionScope
from vta.tir.deep import deep
from vta.tir.dtype import INT64
from vta.tir.expr import BufferLoad, Builtin, Call, IntImm, StringImm, Var
from vta.tir.stmt import AttrKey, AttrStmt, BufferStore, Evaluate, For, ForKind, Stmt, While
from vta.tir.traverse import TirNode, children, free_vars, walk

__all__ = ["emit_parallel", "runs_in_parallel"]

_CALL = Signature(I32, (POINTER, POINTER, I64, I64))
_EmitLoop = Callable[[FunctionScope, For], None]


def runs_in_parallel(scope: FunctionScope, loop: For) -> bool:
    """Whether ``loop`` is given to the pool of threads."""
    if loop.kind is not ForKind.PARALLEL or scope.in_parallel:
        return False
    return not any(map(_belongs_to_the_thread, walk(loop.body))) and _work(loop) >= scope.unit.least_parallel_work


def _belongs_to_the_thread(node: TirNode) -> bool:
    match node:
        case AttrStmt(key=AttrKey.COPROC_UOP_SCOPE) | Call(op=Builtin.CALL_PACKED | Builtin.RET):
            return True
        case Call(op=Builtin.CALL_EXTERN, args=(StringImm(value=name), *_)):
            return name in RUNTIME_CALLS
        case Call(op=op):
            return op.is_ordered or op in (Builtin.COMMAND_HANDLE, Builtin.THREAD_CONTEXT)
        case _:
            return False


@deep
def _work(stmt: Stmt) -> float:
    """Return how many nodes a statement computes; no limit where that is not known."""
    match stmt:
        case For(extent=IntImm(value=count), body=body):
            return count * _work(body)
        case For() | While():
            return inf
        case BufferStore() | Evaluate():
            return sum(1 for _ in walk(stmt))
        case _:
            return sum(_work(child) for child in children(stmt) if isinstance(child, Stmt))


def emit_parallel(scope: FunctionScope, loop: For, emit_loop: _EmitLoop) -> None:
    """Write ``loop`` as a call of the pool; ``emit_loop`` writes a loop in order."""
    builder = scope.builder
    begin = arithmetic.convert(builder, emit_expr(scope, loop.min), loop.min.dtype, INT64)
    extent = arithmetic.convert(builder, emit_expr(scope, loop.extent), loop.extent.dtype, INT64)
    captured = tuple(dict.fromkeys(_captured(loop, scope)))
    struct = ir.LiteralStructType([register_type(var.dtype) for var in captured])
    name = scope.unit.module.get_unique_name(f"{scope.function.name}.part")
    part = _emit_entry(scope, name, struct, _emit_part(scope, f"{name}.body", loop, captured, emit_loop))
    slot = scope.stack(struct)
    for place, var in enumerate(captured):
        builder.store(scope.value_of(var), _field(builder, slot, struct, place))
    some = builder.icmp_signed(">", extent, ir.Constant(I64, 0))
    before, call, done = builder.block, *(scope.function.append_basic_block(name) for name in ("share", "shared"))
    builder.cbranch(some, call, done)
    builder.position_at_end(call)
    status = builder.call(scope.unit.extern(PARALLEL_FOR_SYMBOL, _CALL), [part, slot, begin, extent])
    builder.branch(done)
    builder.position_at_end(done)
    result = builder.phi(I32)
    result.add_incoming(ir.Constant(I32, 0), before)
    result.add_incoming(status, call)
    scope.fail_with(result)


def _captured(loop: For, scope: FunctionScope) -> Iterator[Var]:
    """Yield what the body of ``loop`` uses of the function around; buffers' places may have variables of their own."""
    used = free_vars(replace(loop, min=IntImm(0, loop.min.dtype), extent=IntImm(1, loop.extent.dtype)))
    for node in walk(loop.body):
        if isinstance(node, BufferLoad | BufferStore):
            used += free_vars(node.buffer.offset_of(node.indices))
    return (var for var in used if var in scope.values)


def _emit_part(
    scope: FunctionScope, name: str, loop: For, captured: tuple[Var, ...], emit_loop: _EmitLoop
) -> ir.Function:
    """Write ``int32 name(captured..., from, to)``, which runs that part of ``loop``."""
    kinds = tuple(register_type(var.dtype) for var in captured)
    inner = FunctionScope(scope.unit, name, (*kinds, I64, I64), internal=True)
    inner.in_parallel, inner.origin = True, scope.origin
    inner.distinct, inner.moved_by_dma = scope.distinct, scope.moved_by_dma
    *values, low, high = inner.arguments
    for var, value in zip(captured, values, strict=True):
        value.name = var.name
        if var in scope.distinct:
            value.add_attribute("noalias")
        inner.values[var] = value
        if var in scope.definitions:
            inner.definitions[var] = scope.definitions[var]
    begin, extent = Var("from", INT64), Var("count", INT64)
    inner.values[begin], inner.values[extent] = low, inner.builder.sub(high, low)
    kind = loop.loop_var.dtype
    emit_loop(inner, replace(loop, min=begin.astype(str(kind)), extent=extent.astype(str(kind)), kind=ForKind.SERIAL))
    inner.finish()
    return inner.function


def _emit_entry(scope: FunctionScope, name: str, struct: Value, body: ir.Function) -> ir.Function:
    """Write ``int32 name(&captured, from, to)``, which the pool calls."""
    function = ir.Function(scope.unit.module, ir.FunctionType(I32, (POINTER, I64, I64)), name)
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    base, low, high = function.args
    values = [
        builder.load(_field(builder, base, struct, place), typ=kind) for place, kind in enumerate(struct.elements)
    ]
    builder.ret(builder.call(body, [*values, low, high]))
    return function


def _field(builder: ir.IRBuilder, base: Value, struct: Value, place: int) -> Value:
    return builder.gep(base, [ir.Constant(I32, 0), ir.Constant(I32, place)], source_etype=struct)
