"""Order the work of the accelerator's modules by tokens, and make the host wait where it must.

Expects: statements of the modules under ``coproc_scope``. Functions without any stay as they are.

Before::

    attr [IterVar(vta)] "coproc_scope" = 2 {
      VTALoadBuffer2D(..., A_buf, 3)
      ...
    }
    attr [IterVar(vta)] "coproc_scope" = 3;
    VTAStoreBuffer2D(..., C, ...)

After::

    attr [IterVar(vta)] "coproc_scope" = 2 {
      VTALoadBuffer2D(..., A_buf, 3)
      ...
      coproc_dep_push(2, 3)
    }
    attr [IterVar(vta)] "coproc_scope" = 3 {
      coproc_dep_pop(2, 3)
      VTAStoreBuffer2D(..., C, ...)
    }
    coproc_sync()

A function with "rotate" axes (``inject_virtual_thread``) gets no tokens here: it tells the runtime to plan them.

Two pragmas are executed first: after the statement of ``coproc_sync`` the host waits for the accelerator, and a loop
under ``trim_loop`` runs at most twice (to look at a long program's beginning).

What follows one statement stands in this order: dependencies, the synchronise, barriers. Only the synchronise at the
end of the function comes before the dependencies: a pop that balances the last iteration of a loop is then still
pending when the program ends, and the runtime drops it.

Tests: tests/vta/passes/sync/test_coproc_sync_plan.py and the rest of tests/vta/passes/sync.
"""

from dataclasses import replace
from typing import assert_never

from isa.config import VTAConfig
from vta.passes.coproc_axis import is_coproc_axis, is_coproc_scope
from vta.passes.errors import PassError
from vta.passes.host.host_access import check_host_access
from vta.passes.pragma import SYNC_PRAGMA, is_pragma
from vta.passes.sync.access import extents_of
from vta.passes.sync.barriers import plan_barriers
from vta.passes.sync.calls import is_sync, plan_tokens, sync
from vta.passes.sync.dependencies import plan_dependencies
from vta.passes.sync.insertions import Insertions, distinct
from vta.passes.sync.sync_plan import plan_syncs
from vta.passes.vthread.inject_virtual_thread import ROTATE_TAG
from vta.tir.blocks import misplaced, unlowered_block
from vta.tir.deep import deep
from vta.tir.expr import Builtin, Call, IterVar, Min, binary
from vta.tir.func import PrimFunc
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
    seq,
)
from vta.tir.traverse import map_stmt, walk

__all__ = ["TRIM_PRAGMA", "CoprocessorError", "inject_coproc_sync"]

TRIM_PRAGMA = "trim_loop"
_TRIMMED = 2


class CoprocessorError(PassError):
    """Work for an accelerator that is not this one, or a pragma about it that makes no sense."""


def inject_coproc_sync(func: PrimFunc, config: VTAConfig) -> PrimFunc:
    """Return ``func`` with its dependencies, synchronise calls and barriers.

    Raises ``HostAccessError`` for host code that touches on-chip memory, ``CoprocessorError``, ``QueueError``.
    """
    body = distinct(map_stmt(func.body, _execute_pragma))
    check_host_access(body, config)
    if not _check_axes(body):
        return replace(func, body=body)
    func = replace(func, body=body)
    syncs = plan_syncs(body, config)
    plan = Insertions()
    if syncs.at_end:
        plan.after(body, sync())
    synced = frozenset(map(id, syncs.after))
    if _rotates(body):
        plan.before(body, plan_tokens())
    else:
        plan_dependencies(body, synced, plan)
    for place in syncs.after:
        plan.after(place, sync())
    plan_barriers(body, config, extents_of(func), synced, plan)
    body = plan.apply(body)
    if not syncs.at_end and _may_leave_pushes(body, queued=False):
        body = seq([body, sync()])
    return replace(func, body=body)


def _rotates(body: Stmt) -> bool:
    """Whether there are axes whose iterations use copies of their memory in turn."""
    nodes = (node.node for node in walk(body) if isinstance(node, AttrStmt) and node.key == AttrKey.VIRTUAL_THREAD)
    return any(isinstance(axis, IterVar) and axis.thread_tag == ROTATE_TAG for axis in nodes)


@deep
def _may_leave_pushes(stmt: Stmt, *, queued: bool) -> bool:
    """Whether pushes may be queued after ``stmt`` that no synchronise launches; ``queued``: some were before it.

    That is so if a loop hands a token over a synchronise inside of it: the last iteration pushes one too.
    """
    match stmt:
        case Evaluate(value=Call(op=Builtin.COPROC_DEP_PUSH)):
            return True
        case Evaluate() if is_sync(stmt):
            return False
        case SeqStmt():
            for child in stmt.stmts:
                queued = _may_leave_pushes(child, queued=queued)
            return queued
        case For():
            return queued or _may_leave_pushes(stmt.body, queued=queued)
        case IfThenElse(else_case=other):
            missed = queued if other is None else _may_leave_pushes(other, queued=queued)
            return missed or _may_leave_pushes(stmt.then_case, queued=queued)
        case AttrStmt() | Allocate() | LetStmt() | AssertStmt() | BufferRealize():
            return _may_leave_pushes(stmt.body, queued=queued)
        case Evaluate() | BufferStore():
            return queued
        case Block():
            raise unlowered_block(stmt)
        case While() | Prefetch() | ProducerStore() | ProducerRealize():
            raise misplaced(stmt)
        case _:
            assert_never(stmt)


def _execute_pragma(stmt: Stmt) -> Stmt:
    if is_pragma(stmt, SYNC_PRAGMA):
        assert isinstance(stmt, AttrStmt)
        return seq([stmt.body, replace(sync(), origin=stmt.origin)])
    if is_pragma(stmt, TRIM_PRAGMA):
        assert isinstance(stmt, AttrStmt)
        return _trimmed(stmt.body, stmt)
    return stmt


def _trimmed(stmt: Stmt, pragma: AttrStmt) -> Stmt:
    if not isinstance(stmt, For):
        raise CoprocessorError(
            f"pragma {TRIM_PRAGMA} stands on no loop",
            expected="a loop",
            got=type(stmt).__name__,
            hint="put it on an axis of extent 2 or more",
            origin=pragma.origin,
        )
    return replace(stmt, extent=binary(Min, stmt.extent, _TRIMMED))


def _check_axes(body: Stmt) -> bool:
    """Whether there is work for the accelerator; refuses work for another one."""
    found = False
    for node in walk(body):
        if isinstance(node, AttrStmt) and is_coproc_scope(node):
            if not is_coproc_axis(node.node):
                got = f"thread tag {node.node.thread_tag!r}" if isinstance(node.node, IterVar) else "no axis"
                raise CoprocessorError(
                    "a coproc_scope of another accelerator",
                    expected="the axis with thread tag 'vta'",
                    got=got,
                    origin=node.origin,
                )
            found = True
    return found
