"""Pull allocations to the beginning of the loop, virtual thread or function that they are in.

So the statements between two allocations become neighbours, which the grouping of scopes needs, and every buffer of a
loop body lives exactly as long as the body. An allocation stays outside of those that it contained; of two neighbours,
the later one comes first (the order decides where buffers lie in the scratchpad). A DRAM allocation also leaves serial
loops, because the accelerator may use it until the end of the launch; it never leaves a virtual thread, which has its
own.

Before::

    for (i, 0, 4) {
      A()
      allocate(b, int32, [256]), storage_scope = local.acc_buffer {
        B(b)
      }
    }

After::

    for (i, 0, 4) {
      allocate(b, int32, [256]), storage_scope = local.acc_buffer {
        A()
        B(b)
      }
    }

An allocation whose extents use a variable that a ``let`` defines stays inside it.

Tests: tests/vta/passes/storage/test_lift_alloc_to_scope_begin.py and the rest of tests/vta/passes/storage.
"""

from collections.abc import Iterable
from dataclasses import replace

from isa.config import VTAConfig
from vta.tir.buffer import is_global
from vta.tir.deep import deep
from vta.tir.expr import Var
from vta.tir.func import PrimFunc
from vta.tir.stmt import Allocate, AttrKey, AttrStmt, For, ForKind, LetStmt, Stmt
from vta.tir.traverse import free_vars, map_stmt_children, uses_var

__all__ = ["lift_alloc_to_scope_begin"]


def lift_alloc_to_scope_begin(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
    """Return ``func`` with each allocation at the beginning of its scope."""
    body, allocations = _lift(func.body)
    return replace(func, body=_attach(allocations, body))


@deep
def _lift(stmt: Stmt) -> tuple[Stmt, list[Allocate]]:
    """Return ``stmt`` without the allocations that leave it, and those, in order."""
    match stmt:
        case Allocate():
            body, inner = _lift(stmt.body)
            return body, [stmt, *inner]
        case For() | AttrStmt(key=AttrKey.VIRTUAL_THREAD):
            return _close_scope(stmt)
        case LetStmt():
            body, inner = _lift(stmt.body)
            return _keep(stmt, body, inner, [_depends_on(a, stmt.var) for a in inner])
        case _:
            return _lift_from_children(stmt)


def _lift_from_children(stmt: Stmt) -> tuple[Stmt, list[Allocate]]:
    found: list[Allocate] = []

    def on_stmt(child: Stmt) -> Stmt:
        body, inner = _lift(child)
        found[:0] = inner
        return body

    return map_stmt_children(stmt, on_stmt, lambda expr: expr), found


def _close_scope(stmt: For | AttrStmt) -> tuple[Stmt, list[Allocate]]:
    """Keep a body's allocations at its beginning; let DRAM ones that do not vary leave serial loops."""
    body, inner = _lift(stmt.body)
    serial = isinstance(stmt, For) and stmt.kind is ForKind.SERIAL
    return _keep(stmt, body, inner, [not (serial and is_global(a.scope) and _is_constant(a)) for a in inner])


def _keep(
    stmt: For | AttrStmt | LetStmt, body: Stmt, allocations: list[Allocate], stays: list[bool]
) -> tuple[Stmt, list[Allocate]]:
    """Return ``stmt`` with the allocations that stay at the beginning of ``body``, and the others."""
    kept = [a for a, stay in zip(allocations, stays, strict=True) if stay]
    body = _attach(kept, body)
    leaving = [a for a, stay in zip(allocations, stays, strict=True) if not stay]
    return stmt if body is stmt.body else replace(stmt, body=body), leaving


def _attach(allocations: Iterable[Allocate], body: Stmt) -> Stmt:
    """Return ``body`` inside ``allocations``, the first one outermost."""
    for allocation in reversed(list(allocations)):
        body = allocation if body is allocation.body else replace(allocation, body=body)
    return body


def _depends_on(allocation: Allocate, var: Var) -> bool:
    return any(uses_var(e, var) for e in (*allocation.extents, allocation.condition))


def _is_constant(allocation: Allocate) -> bool:
    """Whether the allocation's size is the same wherever it stands."""
    return not any(free_vars(e) for e in (*allocation.extents, allocation.condition))
