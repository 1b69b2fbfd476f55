"""When memory is in use: the statements of a function in a line, with the allocations that each one touches.

A compound statement (loop, branch, let, virtual thread) gives two points, its beginning and its end; a simple one gives
one. A touch counts at the level where the memory was allocated: what a loop touches of the outside is touched by the
loop, so memory that is allocated outside of a loop is in use for all its iterations.
Tests: tests/vta/passes/storage/test_liveness.py and the rest of tests/vta/passes/storage.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from vta.tir.blocks import misplaced, unlowered_block
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import BufferLoad, Builtin, Call, Expr, IterVar, Let, Var
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
    ForKind,
    IfThenElse,
    LetStmt,
    Prefetch,
    ProducerRealize,
    ProducerStore,
    SeqStmt,
    Stmt,
    While,
)
from vta.tir.traverse import children, expr_children, walk

__all__ = ["Liveness", "Point", "PointKind", "is_attach_scope", "liveness"]


class PointKind(Enum):
    """What a point is of its statement."""

    WHOLE = "whole"
    BEGIN = "begin"
    END = "end"


@dataclass(slots=True)
class Point:
    """One step of the function. ``touched`` (in order) is known at both ends of a statement; ``partner`` is the other.

    ``begins`` is memory touched here for the first time, ``ends`` memory touched by this statement for the last time;
    both are the statement's, so both of its points have them.
    """

    stmt: Stmt
    kind: PointKind
    partner: int
    touched: tuple[Var, ...] = ()
    begins: tuple[Var, ...] = ()
    ends: tuple[Var, ...] = ()


@dataclass(frozen=True, slots=True)
class Liveness:
    """The points of a function, its allocations in order, and the memory that is used as a bare address somewhere.

    ``defined`` are the variables of its loops and lets.
    """

    points: list[Point]
    allocations: dict[Var, Allocate]
    addressed: set[Var]
    defined: frozenset[Var] = frozenset()


def is_attach_scope(stmt: Stmt) -> bool:
    """Whether memory that is allocated inside ``stmt`` cannot be allocated outside of it: each thread has its own."""
    match stmt:
        case AttrStmt(key=AttrKey.VIRTUAL_THREAD | AttrKey.THREAD_EXTENT) | For(kind=ForKind.PARALLEL):
            return True
        case _:
            return False


def liveness(body: Stmt) -> Liveness:
    """Return when the allocations of ``body`` are in use."""
    walker = _Walker([], {}, set(), {}, [])
    walker.visit(body)
    _mark_first_and_last(walker.points)
    return Liveness(walker.points, walker.allocations, walker.addressed, frozenset(_defined(body)))


def _defined(body: Stmt) -> Iterator[Var]:
    for node in walk(body):
        match node:
            case For(loop_var=var) | LetStmt(var=var) | Let(var=var) | AttrStmt(node=IterVar(var=var)):
                yield var
            case _:
                continue


@dataclass(slots=True)
class _Walker:
    points: list[Point]
    allocations: dict[Var, Allocate]
    addressed: set[Var]
    levels: dict[Var, int]
    open_levels: list[dict[Var, None]]
    """What each open statement touched, outermost first."""

    @deep
    def visit(self, stmt: Stmt) -> None:
        match stmt:
            case BufferStore() | Evaluate():
                self._visit_simple(stmt)
            case Allocate():
                self.allocations[stmt.buffer_var] = stmt
                self.levels[stmt.buffer_var] = len(self.open_levels)
                self.visit(stmt.body)
            case For() | While() | IfThenElse() | LetStmt() | AssertStmt():
                self._visit_compound(stmt)
            case AttrStmt() if is_attach_scope(stmt):
                self._visit_compound(stmt)
            case SeqStmt() | AttrStmt() | BufferRealize():
                for child in children(stmt):
                    if isinstance(child, Stmt):
                        self.visit(child)
            case Block():
                raise unlowered_block(stmt)
            case Prefetch() | ProducerStore() | ProducerRealize():
                raise misplaced(stmt)
            case _:
                assert_never(stmt)

    def _visit_simple(self, stmt: BufferStore | Evaluate) -> None:
        self.open_levels.append({})
        for expr in (stmt.value, *(stmt.indices if isinstance(stmt, BufferStore) else ())):
            self._touch_all(expr)
        if isinstance(stmt, BufferStore):
            self._touch(stmt.buffer.data)
        touched = self.open_levels.pop()
        if touched:
            self.points.append(Point(stmt, PointKind.WHOLE, len(self.points), tuple(touched)))

    def _visit_compound(self, stmt: Stmt) -> None:
        self.open_levels.append({})
        begin = Point(stmt, PointKind.BEGIN, 0)
        at = len(self.points)
        self.points.append(begin)
        for child in children(stmt):
            if isinstance(child, Stmt):
                self.visit(child)
            else:
                self._touch_all(child)
        begin.touched = tuple(self.open_levels.pop())
        begin.partner = len(self.points)
        self.points.append(Point(stmt, PointKind.END, at, begin.touched))

    def _touch_all(self, expr: Expr) -> None:
        for var, is_address in _uses(expr):
            self._touch(var)
            if is_address:
                self.addressed.add(var)

    def _touch(self, var: Var) -> None:
        level = self.levels.get(var)
        if level is not None:
            self.open_levels[level][var] = None


def _uses(expr: Expr) -> Iterator[tuple[Var, bool]]:
    """Yield (variable, whether it is used as a bare address) in the order of evaluation."""
    work: list[Expr | Buffer] = [expr]
    seen: set[int] = set()
    while work:
        item = work.pop()
        match item:
            case Buffer():
                yield item.data, False
            case Var():
                yield item, True
            case _ if id(item) in seen:
                continue
            case Call(op=Builtin.ACCESS_PTR, args=(_, Var() as data, *rest)):
                yield data, False
                work += reversed(rest)
            case _:
                seen.add(id(item))
                if isinstance(item, BufferLoad):
                    work.append(item.buffer)
                work += reversed(expr_children(item))


def _mark_first_and_last(points: list[Point]) -> None:
    seen: set[Var] = set()
    for point in reversed(points):
        if point.kind is not PointKind.BEGIN:
            point.ends = tuple(var for var in point.touched if var not in seen)
            points[point.partner].ends = point.ends
            seen.update(point.touched)
    seen.clear()
    for point in points:
        if point.kind is not PointKind.END:
            point.begins = tuple(var for var in point.touched if var not in seen)
            points[point.partner].begins = point.begins
            seen.update(point.touched)
