"""Which module waits for which: pushes and pops of dependency tokens between the accelerator's statements.

Every statement under a ``coproc_scope`` runs on the queue that the scope names; the queues run beside each other.
Neighbours in program order on different queues (and the end of a loop's body with its beginning) are ordered by a
token: the first one pushes when it is done, the second one pops before it starts. Statements of one queue are in order
anyway, so any two statements are ordered through those between them.

A loop whose iterations are linked pops, in its first one, a token that nothing inside has pushed, and leaves one behind
after its last. Its neighbours push and pop those if they need that edge too; otherwise a push before the loop and a pop
after it balance the books. A condition is balanced on each side by itself, so that both sides look alike from outside;
where a side (or a loop that does not run) has no work, tokens alone lead through it.

The body of virtual threads, which become many copies of it, is balanced by itself too.

A synchronise ends a launch, and tokens do not survive it: nothing is linked across one. Load and store are no
neighbours in hardware: between them the token passes through compute.

Tests: tests/vta/passes/sync/test_coproc_dependencies.py and the rest of tests/vta/passes/sync.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import assert_never

from isa.instructions import Module
from isa.origin import Origin
from vta.passes.coproc_axis import is_coproc_scope
from vta.passes.errors import PassError
from vta.passes.sync.calls import dep_pop, dep_push, is_sync
from vta.passes.sync.insertions import Insertions
from vta.tir.blocks import misplaced, unlowered_block
from vta.tir.deep import deep
from vta.tir.expr import IntImm
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
from vta.tir.traverse import children

__all__ = ["QueueError", "plan_dependencies"]

Edge = tuple[int, int]
"""From queue, to queue."""

_COMPUTE = int(Module.COMPUTE)


class QueueError(PassError):
    """A statement for a module that the accelerator does not have."""


@dataclass(frozen=True, slots=True)
class _QueueStep:
    """A statement (a scope's body, a loop, a condition) as its neighbours see it.

    ``enter`` and ``leave`` are the queues that may run its first and last part; ``pops`` are tokens that it takes
    without having pushed them, ``pushes`` those that it leaves behind.
    """

    place: Stmt
    enter: frozenset[int]
    leave: frozenset[int]
    pops: tuple[Edge, ...] = ()
    pushes: tuple[Edge, ...] = ()


def plan_dependencies(body: Stmt, synced: Collection[int], plan: Insertions) -> None:
    """Add the pushes and pops of ``body`` to ``plan``; ``synced`` holds the ids of statements that a sync follows."""
    planner = _TokenPlanner(synced, plan)
    planner.close(*planner.chain(planner.steps(body)))


@dataclass(frozen=True, slots=True)
class _TokenPlanner:
    synced: Collection[int]
    plan: Insertions

    @deep
    def steps(self, stmt: Stmt) -> list[_QueueStep | None]:
        """Return the steps of ``stmt`` in program order; None stands for a synchronise."""
        found = self._own_steps(stmt)
        return [*found, None] if id(stmt) in self.synced or is_sync(stmt) else found

    def _own_steps(self, stmt: Stmt) -> list[_QueueStep | None]:
        match stmt:
            case AttrStmt() if is_coproc_scope(stmt):
                queue = frozenset({_queue(stmt)})
                return [_QueueStep(stmt.body, queue, queue)]
            case AttrStmt(key=AttrKey.VIRTUAL_THREAD):
                return self._threads(stmt)
            case SeqStmt():
                return [step for child in stmt.stmts for step in self.steps(child)]
            case AttrStmt() | Allocate() | BufferRealize() | LetStmt() | AssertStmt():
                return self.steps(stmt.body)
            case For():
                return self._loop(stmt)
            case IfThenElse():
                return self._condition(stmt)
            case Evaluate() | BufferStore():
                return []
            case Block():
                raise unlowered_block(stmt)
            case While() | Prefetch() | ProducerStore() | ProducerRealize():
                raise misplaced(stmt)
            case _:
                assert_never(stmt)

    def _loop(self, loop: For) -> list[_QueueStep | None]:
        inner = self.steps(loop.body)
        body = [step for step in inner if step is not None]
        if not body:
            return inner[:1]
        enter, leave = body[0].enter, body[-1].leave
        first, last = self.chain(inner)
        # The end of one iteration is linked with the beginning of the next one as two neighbours are. The tokens of
        # that link are one iteration late: the first one has none to pop, the last one leaves its own behind.
        pushes: tuple[Edge, ...] = ()
        pops: tuple[Edge, ...] = ()
        if first is None or last is None:
            self.close(first, last)
        else:
            pushes, pops = self.link(last, first)
        # A loop that may not run must still pass on the order between what is before and what is after it.
        if not (isinstance(loop.extent, IntImm) and loop.extent.value > 0) and (passage := _passage(enter, leave)):
            self.plan.after(loop, IfThenElse(loop.extent < 1, seq(passage)))
        return [_QueueStep(loop, enter, leave, pops=pops, pushes=pushes)]

    def _threads(self, threads: AttrStmt) -> list[_QueueStep | None]:
        """Balance the body by itself: its tokens are as many as there are threads, those outside are not."""
        inner = self.steps(threads.body)
        body = [step for step in inner if step is not None]
        if not body:
            return inner[:1]
        self.close(*self.chain(inner))
        return [_QueueStep(threads, body[0].enter, body[-1].leave)]

    def _condition(self, stmt: IfThenElse) -> list[_QueueStep | None]:
        cases = [self.steps(stmt.then_case), [] if stmt.else_case is None else self.steps(stmt.else_case)]
        work = [[step for step in case if step is not None] for case in cases]
        enter = frozenset(queue for case in work if case for queue in case[0].enter)
        leave = frozenset(queue for case in work if case for queue in case[-1].leave)
        # Each side is closed by itself: a token that only one side pushes would be missed, or left over, on the other.
        for case in cases:
            self.close(*self.chain(case))
        if not enter:
            return []
        if passage := _passage(enter, leave):
            if not work[0]:
                self.plan.after(stmt.then_case, *passage)
            if not work[1]:
                self.plan.otherwise(stmt, *passage)
        return [_QueueStep(stmt, enter, leave)]

    def chain(self, steps: Iterable[_QueueStep | None]) -> tuple[_QueueStep | None, _QueueStep | None]:
        """Link neighbours; return the first and the last step, None where a synchronise comes before or after it."""
        first: _QueueStep | None = None
        previous: _QueueStep | None = None
        synced = False
        for step in steps:
            if step is None:
                self.close(None, previous)
                previous, synced = None, True
                continue
            if previous is not None:
                self.link(previous, step)
            elif synced:
                self.close(step, None)
            else:
                first = step
            previous = step
        return first, previous

    def close(self, first: _QueueStep | None, last: _QueueStep | None) -> None:
        """Push what ``first`` pops, and pop what ``last`` leaves behind."""
        if first is not None:
            self._before(first, [dep_push(*edge) for edge in first.pops])
        if last is not None:
            self._after(last, [dep_pop(*edge) for edge in last.pushes])

    def link(self, before: _QueueStep, after: _QueueStep) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
        """Make ``after`` wait for ``before``; return the tokens that go from one to the other, as (pushes, pops)."""
        wanted, detours = _edges(before.leave, after.enter)
        pushes, pops = list(before.pushes), list(after.pops)
        # Load and store have no queue between them: compute takes the token of one and gives the other a new one.
        tail = [s for source, _ in detours for s in (dep_push(source, _COMPUTE), dep_pop(source, _COMPUTE))]
        head: list[Evaluate] = []
        through = {(_COMPUTE, target) for _, target in detours}
        for edge in wanted:
            # What a loop leaves behind orders its neighbour already; one token more would be one too many. But a token
            # that a detour has to wait for must be pushed after the detour's pop, not within the loop.
            if edge in through or edge not in before.pushes:
                pushes.append(edge)
                tail.append(dep_push(*edge))
            if edge not in after.pops:
                pops.append(edge)
                head.append(dep_pop(*edge))
        # Every push needs one pop: what one side leaves or wants beyond that is balanced between the two.
        given, unclaimed = _match(pushes, pops)
        taken, unpaid = _match(pops, pushes)
        self._after(before, [*tail, *(dep_pop(*edge) for edge in unclaimed)])
        self._before(after, [*head, *(dep_push(*edge) for edge in unpaid)])
        return given, taken

    def _before(self, step: _QueueStep, stmts: Iterable[Evaluate]) -> None:
        """Insert ``stmts`` before a step, as part of the stage that it begins with."""
        origin = next(_origins(step.place), None)
        self.plan.before(step.place, *(replace(stmt, origin=origin) for stmt in stmts))

    def _after(self, step: _QueueStep, stmts: Iterable[Evaluate]) -> None:
        """Insert ``stmts`` after a step, as part of the stage that it ends with."""
        origin = next(reversed(list(_origins(step.place))), None)
        self.plan.after(step.place, *(replace(stmt, origin=origin) for stmt in stmts))


def _origins(stmt: Stmt) -> Iterator[Origin]:
    """Yield the origin of ``stmt`` or, if it has none of its own, those of what it consists of."""
    work = [stmt]
    while work:
        part = work.pop()
        if part.origin is not None:
            yield part.origin
        else:
            work += [child for child in reversed(children(part)) if isinstance(child, Stmt)]


def _edges(sources: Iterable[int], targets: Iterable[int]) -> tuple[list[Edge], list[Edge]]:
    """Return the edges between the queues that hardware has, and those that must pass through compute."""
    pairs = [(s, t) for s, t in product(sorted(sources), sorted(targets)) if s != t]
    detours = [(s, t) for s, t in pairs if _COMPUTE not in (s, t)]
    edges = [(s, t) if _COMPUTE in (s, t) else (_COMPUTE, t) for s, t in pairs]
    return list(dict.fromkeys(edges)), detours


def _passage(enter: frozenset[int], leave: frozenset[int]) -> list[Stmt]:
    """Return the tokens that lead from ``enter`` to ``leave`` where no work does; none if a queue is in both."""
    if enter & leave:
        return []
    source, target = min(enter), min(leave)
    hops = [(source, target)] if _COMPUTE in (source, target) else [(source, _COMPUTE), (_COMPUTE, target)]
    return [stmt for edge in hops for stmt in (dep_push(*edge), dep_pop(*edge))]


def _match(tokens: Iterable[Edge], others: Iterable[Edge]) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """Split ``tokens`` into those that have a partner in ``others``, one each, and the rest."""
    free = Counter(others)
    matched, rest = [], []
    for edge in tokens:
        if free[edge]:
            free[edge] -= 1
            matched.append(edge)
        else:
            rest.append(edge)
    return tuple(matched), tuple(rest)


def _queue(scope: AttrStmt) -> int:
    """Return the queue that a scope names."""
    match scope.value:
        case IntImm(value=queue) if queue in set(Module):
            return queue
        case value:
            got = str(value.value) if isinstance(value, IntImm) else type(value).__name__
            raise QueueError(
                "coproc_scope names no module of the accelerator",
                expected=", ".join(f"{m.value} ({m.name.lower()})" for m in Module),
                got=got,
                origin=scope.origin,
            )
