"""Let the host's own accesses to device memory go through the pointer that the runtime gives for it.

A buffer argument is an opaque handle; the address of its first element on the host is ``VTABufferCPUPtr(handle)``.

Before::

for (i, 0, 16) { C[i] = A[i] + 1 }

After::

    let A_ptr = VTABufferCPUPtr(thread_context(command_handle()), A)
    let C_ptr = VTABufferCPUPtr(thread_context(command_handle()), C)
    for (i, 0, 16) { C_ptr[i] = A_ptr[i] + 1 }

Memory that the function allocates gets its pointer inside the allocation, arguments at the beginning of the function.
Tests: tests/vta/passes/host/test_cpu_access_rewrite.py.
"""

from dataclasses import dataclass, field, replace

from isa.config import VTAConfig
from vta.passes.host.set_debug_mode import command_context
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.dtype import HANDLE
from vta.tir.expr import BufferLoad, Builtin, Call, Expr, StringImm, Var
from vta.tir.func import PrimFunc
from vta.tir.stmt import Allocate, BufferStore, LetStmt, Stmt
from vta.tir.traverse import map_expr, map_stmt_children

__all__ = ["cpu_access_rewrite"]


def cpu_access_rewrite(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` with the host's loads and stores redirected."""
    pointers = _Pointers()
    body = pointers.rewrite(func.body)
    for data in pointers.waiting():
        body = pointers.bind(data, body)
    return func if body is func.body else replace(func, body=body)


@dataclass(slots=True)
class _Pointers:
    """The host pointers that are needed, by the handle that they belong to; those bound are done."""

    pointer: dict[Var, Var] = field(default_factory=dict)
    bound: set[Var] = field(default_factory=set)
    buffers: dict[Buffer, Buffer] = field(default_factory=dict)

    def waiting(self) -> list[Var]:
        """Return the handles whose pointer is not bound yet, last one first."""
        return [data for data in reversed(self.pointer) if data not in self.bound]

    def bind(self, data: Var, body: Stmt) -> Stmt:
        """Return ``body`` with the pointer for ``data``."""
        self.bound.add(data)
        value = Call(HANDLE, Builtin.CALL_EXTERN, (StringImm("VTABufferCPUPtr"), command_context(), data))
        return LetStmt(self.pointer[data], value, body)

    @deep
    def rewrite(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Allocate():
                body = self.rewrite(stmt.body)
                if stmt.buffer_var in self.pointer:
                    body = self.bind(stmt.buffer_var, body)
                return stmt if body is stmt.body else replace(stmt, body=body)
            case BufferStore():
                value = self._rewrite_expr(stmt.value)
                indices = tuple(self._rewrite_expr(index) for index in stmt.indices)
                return replace(stmt, buffer=self._redirected(stmt.buffer), value=value, indices=indices)
            case _:
                return map_stmt_children(stmt, self.rewrite, self._rewrite_expr)

    def _rewrite_expr(self, expr: Expr) -> Expr:
        return map_expr(self._rewrite_load, expr)

    def _rewrite_load(self, node: Expr) -> Expr:
        match node:
            case BufferLoad():
                return BufferLoad(self._redirected(node.buffer), node.indices)
            case _:
                return node

    def _redirected(self, buffer: Buffer) -> Buffer:
        if buffer not in self.buffers:
            data = buffer.data
            if data not in self.pointer:
                self.pointer[data] = Var(f"{data.name}_ptr", HANDLE, data.pointer)
            self.buffers[buffer] = replace(buffer, data=self.pointer[data])
        return self.buffers[buffer]
