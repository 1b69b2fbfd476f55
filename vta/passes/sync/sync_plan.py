"""Where the host must wait for the accelerator: the synchronise calls of a program.

The accelerator runs when the host synchronises, not before. So the host waits

- before it touches memory that queued work uses: a read of what the work writes, a write of what it reads or writes.
  The call stands after the statement before; where the next iteration of a loop needs it, at the end of the body;
- before DRAM that queued work uses is freed;
- at the end of the function, if any work may still be queued.

An explicit synchronise counts. One inside a condition or loop without accelerator work is followed by an unconditional
one, because tokens must not be left behind.

Tests: tests/vta/passes/sync/test_coproc_sync_plan.py and the rest of tests/vta/passes/sync.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import assert_never

from isa.config import VTAConfig
from vta.passes.coproc_axis import is_coproc_scope
from vta.passes.sync.access import MemoryAccess, accesses
from vta.passes.sync.calls import is_sync
from vta.tir.blocks import misplaced, unlowered_block
from vta.tir.buffer import is_global
from vta.tir.deep import deep
from vta.tir.expr import Expr, IntImm
from vta.tir.stmt import (
    Allocate,
    AssertStmt,
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
)
from vta.tir.traverse import walk

__all__ = ["SyncPlan", "plan_syncs"]


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """``after``: statements that a synchronise follows; ``at_end``: whether one follows the whole body."""

    after: tuple[Stmt, ...]
    at_end: bool


@dataclass(frozen=True, slots=True)
class _Summary:
    """A statement as the planner sees it from outside.

    ``host``: accesses of the host that no synchronise inside certainly precedes. ``queued``: accesses of the
    accelerator that may be left undone at the end. ``work``: whether any work may be. ``syncs``: whether a synchronise
    certainly happens, ``may_sync``: whether one may.
    """

    host: tuple[MemoryAccess, ...] = ()
    queued: tuple[MemoryAccess, ...] = ()
    work: bool = False
    syncs: bool = False
    may_sync: bool = False

    def then(self, other: "_Summary") -> "_Summary":
        """Return the summary of this statement followed by ``other``."""
        return _Summary(
            host=self.host if self.syncs else self.host + other.host,
            queued=other.queued if other.syncs else self.queued + other.queued,
            work=other.work or (self.work and not other.syncs),
            syncs=self.syncs or other.syncs,
            may_sync=self.may_sync or other.may_sync,
        )

    def blocked_by(self, queued: Iterable[MemoryAccess]) -> bool:
        """Whether the host must wait for ``queued`` before this statement."""
        return any(own.conflicts(other) for other in queued for own in self.host)


_SYNC = _Summary(syncs=True, may_sync=True)


def plan_syncs(body: Stmt, config: VTAConfig) -> SyncPlan:
    """Return where ``body`` synchronises."""
    planner = _SyncPlanner(config)
    summary = planner.visit(body)
    return SyncPlan(tuple(planner.places), summary.work)


@dataclass(slots=True)
class _SyncPlanner:
    config: VTAConfig
    places: list[Stmt] = field(default_factory=list)

    @deep
    def visit(self, stmt: Stmt) -> _Summary:
        """Plan inside of ``stmt`` and return its summary."""
        match stmt:
            case AttrStmt() if is_coproc_scope(stmt):
                return _Summary(queued=tuple(accesses(stmt.body, self.config)), work=True)
            case Evaluate() if is_sync(stmt):
                return _SYNC
            case Evaluate() | BufferStore():
                return _Summary(host=tuple(accesses(stmt, self.config)))
            case SeqStmt():
                return self._sequence(stmt)
            case For():
                return self._host(stmt.min, stmt.extent).then(self._loop(stmt))
            case IfThenElse():
                return self._host(stmt.condition).then(self._condition(stmt))
            case Allocate():
                return self._host(*stmt.extents, stmt.condition).then(self._allocation(stmt))
            case AttrStmt() | LetStmt():
                return self._host(stmt.value).then(self.visit(stmt.body))
            case AssertStmt():
                return self._host(stmt.condition).then(self.visit(stmt.body))
            case BufferRealize():
                return self.visit(stmt.body)
            case Block():
                raise unlowered_block(stmt)
            case While() | Prefetch() | ProducerStore() | ProducerRealize():
                raise misplaced(stmt)
            case _:
                assert_never(stmt)

    def _host(self, *exprs: Expr) -> _Summary:
        return _Summary(host=tuple(a for e in exprs for a in accesses(e, self.config)))

    def _sync_after(self, place: Stmt) -> _Summary:
        self.places.append(place)
        return _SYNC

    def _sequence(self, stmt: SeqStmt) -> _Summary:
        total = _Summary()
        previous: Stmt | None = None
        for child in stmt.stmts:
            summary = self.visit(child)
            if previous is not None and summary.blocked_by(total.queued):
                total = total.then(self._sync_after(previous))
            total = total.then(summary)
            # Whether the launch ended here is not known, so what tokens are pending is not known either.
            if summary.may_sync and not summary.syncs and not _has_work(child):
                total = total.then(self._sync_after(child))
            previous = child
        return total

    def _loop(self, loop: For) -> _Summary:
        body = self.visit(loop.body)
        # What the body leaves queued meets the host's part of the next iteration.
        if body.blocked_by(body.queued):
            body = body.then(self._sync_after(loop.body))
        runs = isinstance(loop.extent, IntImm) and loop.extent.value > 0
        return body if runs else replace(body, syncs=False)

    def _condition(self, stmt: IfThenElse) -> _Summary:
        first = self.visit(stmt.then_case)
        second = _Summary() if stmt.else_case is None else self.visit(stmt.else_case)
        return _Summary(
            host=first.host + second.host,
            queued=first.queued + second.queued,
            work=first.work or second.work,
            syncs=first.syncs and second.syncs,
            may_sync=first.may_sync or second.may_sync,
        )

    def _allocation(self, stmt: Allocate) -> _Summary:
        body = self.visit(stmt.body)
        # DRAM is freed at the end of its body: queued work would read what somebody else allocates there next.
        if is_global(stmt.scope) and any(access.data is stmt.buffer_var for access in body.queued):
            body = body.then(self._sync_after(stmt.body))
        return body


def _has_work(stmt: Stmt) -> bool:
    return any(is_coproc_scope(node) for node in walk(stmt))
