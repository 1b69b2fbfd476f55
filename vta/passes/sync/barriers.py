"""Where caches must be written back or dropped, because host and accelerator use the same memory in one function.

- The host reads what the accelerator wrote: ``VTAWriteBarrier`` (drop the host's cached copy) after the statement
  before the read, for what was written.
- The accelerator uses what the host wrote: ``VTAReadBarrier`` (write the host's cache back) after the host's statement,
  for what will be used.

Where the two are in different iterations of a loop, the barrier is at the end of the body.

Tests: tests/vta/passes/sync/test_coproc_barriers.py and the rest of tests/vta/passes/sync.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import assert_never

from isa.config import VTAConfig
from vta.arith.bounds import Interval
from vta.arith.simplify import Analyzer, simplify
from vta.passes.coproc_axis import is_coproc_scope
from vta.passes.sync.access import Extent, MemoryAccess, accesses, relaxed
from vta.passes.sync.calls import is_sync, read_barrier, write_barrier
from vta.passes.sync.insertions import Insertions
from vta.tir.blocks import misplaced, unlowered_block
from vta.tir.deep import deep
from vta.tir.expr import Expr, IntImm, IterVar, Max, Min, Range, Var, binary
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
)
from vta.tir.traverse import children

__all__ = ["plan_barriers"]


def plan_barriers(
    body: Stmt, config: VTAConfig, extents: Mapping[Var, Extent], synced: Collection[int], plan: Insertions
) -> None:
    """Add the barriers of ``body`` to ``plan``.

    ``extents`` tells the size of every memory, ``synced`` the ids of the statements that a synchronise follows.
    """
    shared = frozenset(_host_memory(body, config))
    if shared:
        _BarrierPlanner(config, extents, synced, plan, shared, Analyzer()).visit(body)


def _host_memory(stmt: Stmt, config: VTAConfig) -> Iterator[Var]:
    """Yield the memory that the host touches."""
    work = [stmt]
    while work:
        part = work.pop()
        if is_coproc_scope(part):
            continue
        for child in reversed(children(part)):
            if isinstance(child, Stmt):
                work.append(child)
            else:
                yield from (access.data for access in accesses(child, config))
        if isinstance(part, BufferStore):
            yield part.buffer.data


@dataclass(frozen=True, slots=True)
class _Touches:
    """What a statement touches, for all values of the variables that it defines.

    ``reads``: memory that the host reads, no synchronise inside being certain to come first; ``late_reads``: after one,
    with the statement after which a barrier can stand. ``writes``: memory that the host writes. ``written``: the
    accelerator's writes that no barrier inside has shown to the host; ``used``: its accesses that no barrier inside
    precedes. ``syncs``: whether a synchronise is certain.
    """

    reads: tuple[Var, ...] = ()
    late_reads: tuple[tuple[Stmt, Var], ...] = ()
    writes: tuple[Var, ...] = ()
    written: tuple[MemoryAccess, ...] = ()
    used: tuple[MemoryAccess, ...] = ()
    syncs: bool = False

    def relaxed(self, var: Var, domain: Interval) -> "_Touches":
        """Return the touches for all values of ``var`` in ``domain``."""
        written, used = (tuple(relaxed(a, var, domain) for a in part) for part in (self.written, self.used))
        return replace(self, written=written, used=used)

    def either(self, other: "_Touches") -> "_Touches":
        """Return the touches of one of two statements."""
        return _Touches(
            reads=_union(self.reads, other.reads),
            late_reads=self.late_reads + other.late_reads,
            writes=_union(self.writes, other.writes),
            written=self.written + other.written,
            used=self.used + other.used,
            syncs=self.syncs and other.syncs,
        )


@dataclass(frozen=True, slots=True)
class _BarrierPlanner:
    config: VTAConfig
    extents: Mapping[Var, Extent]
    synced: Collection[int]
    plan: Insertions
    shared: frozenset[Var]
    analyzer: Analyzer

    @deep
    def visit(self, stmt: Stmt) -> _Touches:
        """Plan inside of ``stmt`` and return what it touches."""
        touches = self._inside(stmt)
        return replace(touches, syncs=True) if id(stmt) in self.synced or is_sync(stmt) else touches

    def _inside(self, stmt: Stmt) -> _Touches:
        match stmt:
            case AttrStmt() if is_coproc_scope(stmt):
                return self._scope(stmt.body)
            case Evaluate() | BufferStore():
                return self._host(stmt)
            case SeqStmt():
                return self._sequence(stmt)
            case For():
                self.analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
                return self._with_header(self._loop(stmt), stmt.min, stmt.extent)
            case AttrStmt(key=AttrKey.VIRTUAL_THREAD, node=IterVar(var=var)):
                self.analyzer.bind(var, Range(IntImm(0), stmt.value))
                return self.visit(stmt.body).relaxed(var, Interval(IntImm(0), stmt.value - 1))
            case IfThenElse():
                other = _Touches() if stmt.else_case is None else self.visit(stmt.else_case)
                return self._with_header(self.visit(stmt.then_case).either(other), stmt.condition)
            case LetStmt():
                return self._with_header(self.visit(stmt.body).relaxed(stmt.var, Interval()), stmt.value)
            case AttrStmt() | Allocate() | AssertStmt() | BufferRealize():
                return self.visit(stmt.body)
            case Block():
                raise unlowered_block(stmt)
            case While() | Prefetch() | ProducerStore() | ProducerRealize():
                raise misplaced(stmt)
            case _:
                assert_never(stmt)

    def _host(self, *nodes: Stmt | Expr) -> _Touches:
        found = [a for node in nodes for a in accesses(node, self.config)]
        return _Touches(
            reads=_union(a.data for a in found if not a.write), writes=_union(a.data for a in found if a.write)
        )

    def _with_header(self, touches: _Touches, *exprs: Expr) -> _Touches:
        """Return the touches of a statement that first computes ``exprs``."""
        return replace(touches, reads=_union(self._host(*exprs).reads, touches.reads))

    @deep
    def _scope(self, stmt: Stmt) -> _Touches:
        """Return what a statement of the accelerator touches."""
        match stmt:
            case For():
                return self._scope(stmt.body).relaxed(stmt.loop_var, _domain(stmt))
            case SeqStmt():
                return reduce(_Touches.either, map(self._scope, stmt.stmts))
            case IfThenElse():
                other = _Touches() if stmt.else_case is None else self._scope(stmt.else_case)
                return self._scope(stmt.then_case).either(other)
            case LetStmt():
                return self._scope(stmt.body).relaxed(stmt.var, Interval())
            case AttrStmt() | Allocate() | BufferRealize() | AssertStmt():
                return self._scope(stmt.body)
            case Evaluate() | BufferStore():
                found = tuple(a for a in accesses(stmt, self.config) if a.data in self.shared)
                return _Touches(written=tuple(a for a in found if a.write), used=found)
            case Block():
                raise unlowered_block(stmt)
            case While() | Prefetch() | ProducerStore() | ProducerRealize():
                raise misplaced(stmt)
            case _:
                assert_never(stmt)

    def _sequence(self, stmt: SeqStmt) -> _Touches:
        total = _Touches()
        previous: Stmt | None = None
        touches: list[_Touches] = []
        for child in stmt.stmts:
            own = self.visit(child)
            touches.append(own)
            if previous is not None:
                total = self._shown(total, own, previous)
            total = replace(
                total,
                reads=total.reads if total.syncs else _union(total.reads, own.reads),
                late_reads=total.late_reads + own.late_reads + _late(own.reads, previous if total.syncs else None),
                writes=_union(total.writes, own.writes),
                written=total.written + own.written,
                syncs=total.syncs or own.syncs,
            )
            previous = child
        # Backwards: what a statement of the host must hand over is decided by what the accelerator uses after it.
        used: tuple[MemoryAccess, ...] = ()
        for child, own in zip(reversed(stmt.stmts), reversed(touches), strict=True):
            used = own.used + self._hand_over(child, used, own.writes)
        return replace(total, used=used)

    def _shown(self, before: _Touches, own: _Touches, previous: Stmt) -> _Touches:
        """Show the host what was written before a statement that reads it; return what remains."""
        self._show_late(own.late_reads, before.written)
        return replace(before, written=self._show(previous, before.written, own.reads))

    def _loop(self, loop: For) -> _Touches:
        body = self.visit(loop.body)
        # An iteration reads what any other one wrote, so what is shown or handed over covers them all.
        every = body.relaxed(loop.loop_var, _domain(loop))
        self._show_late(body.late_reads, every.written)
        remaining = self._show(loop.body, body.written, body.reads)
        self._hand_over(loop.body, every.used, body.writes)
        written = tuple(relaxed(a, loop.loop_var, _domain(loop)) for a in remaining)
        runs = isinstance(loop.extent, IntImm) and loop.extent.value > 0
        return replace(every, written=written, syncs=body.syncs and runs)

    def _show_late(self, reads: Iterable[tuple[Stmt, Var]], written: tuple[MemoryAccess, ...]) -> None:
        for place, data in reads:
            if any(a.data is data for a in written):
                self.plan.after(place, self._barrier(write_barrier, data, written))

    def _show(self, place: Stmt, written: tuple[MemoryAccess, ...], reads: Collection[Var]) -> tuple[MemoryAccess, ...]:
        """After ``place``, show the host what it is going to read; return what remains."""
        for data in dict.fromkeys(a.data for a in written if a.data in reads):
            self.plan.after(place, self._barrier(write_barrier, data, written))
        return tuple(a for a in written if a.data not in reads)

    def _hand_over(
        self, place: Stmt, used: tuple[MemoryAccess, ...], writes: Collection[Var]
    ) -> tuple[MemoryAccess, ...]:
        """After ``place``, hand over to the accelerator what it is going to use; return what remains."""
        for data in dict.fromkeys(a.data for a in used if a.data in writes):
            self.plan.after(place, self._barrier(read_barrier, data, used))
        return tuple(a for a in used if a.data not in writes)

    def _barrier(
        self, make: Callable[[Var, int, Expr, Expr], Stmt], data: Var, touched: Iterable[MemoryAccess]
    ) -> Stmt:
        extent = self.extents[data]
        low, high = _hull(a.region for a in touched if a.data is data)
        if low is None or high is None:
            return make(data, extent.bits, IntImm(0), extent.count)
        count = self.analyzer.simplify(high - low + 1)
        if self.analyzer.can_prove(low >= 0) and self.analyzer.can_prove(low + count <= extent.count):
            return make(data, extent.bits, low, count)
        # A bound of what may be touched can be wider than the memory.
        start = self.analyzer.simplify(binary(Min, binary(Max, low, 0), extent.count))
        end = binary(Max, binary(Min, low + count, extent.count), start)
        return make(data, extent.bits, start, self.analyzer.simplify(end - start))


def _union(*parts: Iterable[Var]) -> tuple[Var, ...]:
    """Return the variables of all parts, each once, in order."""
    return tuple(dict.fromkeys(chain.from_iterable(parts)))


def _late(reads: Iterable[Var], place: Stmt | None) -> tuple[tuple[Stmt, Var], ...]:
    return () if place is None else tuple((place, data) for data in reads)


def _domain(loop: For) -> Interval:
    return Interval(loop.min, loop.min + loop.extent - 1)


def _hull(regions: Iterable[Interval]) -> tuple[Expr | None, Expr | None]:
    """Return the ends of the smallest interval around ``regions``."""
    low: Expr | None = None
    high: Expr | None = None
    for region in regions:
        if region.min is None or region.max is None:
            return None, None
        low = region.min if low is None else binary(Min, low, region.min)
        high = region.max if high is None else binary(Max, high, region.max)
    return (None, None) if low is None or high is None else (simplify(low), simplify(high))
