"""Micro-op kernels in host code: the body of a micro-op scope becomes a function that the runtime calls to record it.

The function gets its free variables in a packed struct, whose bytes are the kernel's signature: the runtime records one
kernel for each place and signature. A variable that a let computed is computed again inside, where this captures no
more: so the signature does not depend on what was hoisted out of the kernel.
Tests: tests/vta/codegen/test_host_kernels.py.
"""

from collections.abc import Callable
from dataclasses import replace

from llvmlite import ir

from vta.codegen.llvm_types import I32, POINTER, CodegenError, Value, register_type
from vta.codegen.scope import FunctionScope
from vta.tir.expr import BufferLoad, Builtin, Call, Expr, Var
from vta.tir.scopes import ALU_SYMBOL, GEMM_SYMBOL
from vta.tir.stmt import LetStmt, Stmt
from vta.tir.traverse import free_vars, walk

__all__ = ["emit_kernel"]

_KERNEL_ENTRIES = (GEMM_SYMBOL, ALU_SYMBOL)


def emit_kernel(
    scope: FunctionScope, symbol: str, body: Stmt, emit_body: Callable[[FunctionScope, Stmt], None]
) -> None:
    """Write ``symbol(&site, record, captured, bytes)``, where ``record`` is ``body`` as a function of its own."""
    if symbol not in _KERNEL_ENTRIES:
        raise CodegenError(
            f"{scope.where}: micro-ops are pushed through {' or '.join(_KERNEL_ENTRIES)}, not {symbol!r}"
        )
    body = _compute_inside(scope, body)
    captured = tuple(free_vars(body))
    module = scope.unit.module
    name = module.get_unique_name(f"{scope.function.name}.kernel")
    struct = ir.LiteralStructType([register_type(var.dtype) for var in captured], packed=True)
    record = _emit_record(scope, name, body, captured, struct, emit_body)
    site = ir.GlobalVariable(module, POINTER, f"{name}.site")
    site.linkage = "internal"
    site.initializer = ir.Constant(POINTER, None)
    closure, nbytes = _pack(scope, captured, struct)
    status = scope.call_runtime(symbol, site, record, closure, ir.Constant(I32, nbytes))
    succeeded = scope.builder.icmp_signed("==", status, ir.Constant(I32, 0))
    scope.fail_unless(succeeded, f"{scope.where}: the micro-op kernel could not be recorded")


def _emit_record(
    scope: FunctionScope,
    name: str,
    body: Stmt,
    captured: tuple[Var, ...],
    struct: Value,
    emit_body: Callable[[FunctionScope, Stmt], None],
) -> Value:
    """Write ``int name(void *captured)``, which unpacks its variables and runs ``body``."""
    inner = FunctionScope(scope.unit, name, (POINTER,), internal=True)
    inner.origin = scope.origin
    (base,) = inner.arguments
    for place, var in enumerate(captured):
        address = inner.builder.gep(base, [ir.Constant(I32, 0), ir.Constant(I32, place)], source_etype=struct)
        loaded = inner.builder.load(address, typ=register_type(var.dtype))
        loaded.align = 1
        inner.values[var] = loaded
    emit_body(inner, body)
    inner.finish()
    return inner.function


def _pack(scope: FunctionScope, captured: tuple[Var, ...], struct: Value) -> tuple[Value, int]:
    """Store the captured values one after the other; return their address (null for none) and the bytes they take."""
    if not captured:
        return ir.Constant(POINTER, None), 0
    slot = scope.stack(struct)
    for place, var in enumerate(captured):
        path = [ir.Constant(I32, 0), ir.Constant(I32, place)]
        address = scope.builder.gep(slot, path, source_etype=struct)
        scope.builder.store(scope.value_of(var), address).align = 1
    return slot, sum((var.dtype.bits + 7) // 8 for var in captured)


def _compute_inside(scope: FunctionScope, body: Stmt) -> Stmt:
    """Move the definitions of captured lets into ``body`` where the kernel then captures no more variables."""
    while True:
        captured = free_vars(body)
        for var in captured:
            definition = scope.definitions.get(var)
            if definition is None or not _is_arithmetic(definition):
                continue
            moved = LetStmt(var, definition, body)
            if len(free_vars(moved)) <= len(captured):
                body = replace(moved, origin=body.origin)
                break
        else:
            return body


def _is_arithmetic(expr: Expr) -> bool:
    """Whether ``expr`` has the same value wherever it is computed."""
    for node in walk(expr):
        match node:
            case BufferLoad() | Call(op=Builtin.CALL_EXTERN | Builtin.COMMAND_HANDLE | Builtin.THREAD_CONTEXT):
                return False
            case _:
                continue
    return True
