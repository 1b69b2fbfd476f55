"""Two copies of a buffer in turn: what the next iteration of a loop needs is made before this one uses its own.

Before and after, for a buffer of 4 elements::

    for (i, 0, 10) {                          allocate T[8]
      allocate T[4]                           T[0..4] = ...         (of i = 0)
      attr [T] double_buffer_scope {          for (i, 0, 10) {
        T[0..4] = ...                           if (i + 1 < 10) {
      }                                           T[(i + 1) % 2*4 + 0..4] = ...    (of i + 1)
      ... = T[0..4]                             }
    }                                           ... = T[i % 2*4 + 0..4]
                                              }

It expects flat buffers (after StorageFlatten). What makes the buffer moves past the rest of the iteration before it, so
it must not read what the loop writes, write anything else, or call what has an effect: all that is refused. With a
``split_loop``, so many iterations are written out one after the other, in which the copies are known.
Tests: tests/vta/passes/optional/test_inject_double_buffer.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from isa.config import VTAConfig
from vta.passes.errors import PassError
from vta.passes.fresh_definitions import instances, with_fresh_definitions
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import (
    Broadcast,
    BufferLoad,
    Builtin,
    Call,
    Expr,
    FloorMod,
    IntImm,
    Mul,
    Ramp,
    Var,
    binary,
    cast_to,
    const,
)
from vta.tir.func import Pass, PrimFunc
from vta.tir.stmt import (
    Allocate,
    AttrKey,
    AttrStmt,
    BufferRealize,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    seq,
)
from vta.tir.traverse import children, free_vars, map_expr, map_stmt, substitute, uses_var, walk

__all__ = ["DoubleBufferError", "inject_double_buffer"]


class DoubleBufferError(PassError):
    """A buffer of which there cannot be two in turn."""


def inject_double_buffer(split_loop: int = 1) -> Pass:
    """Return the pass; ``split_loop`` is how many iterations are written out."""

    def rewrite(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
        def change(stmt: Stmt) -> Stmt:
            return _doubled(stmt, split_loop) if isinstance(stmt, For) else stmt

        return replace(func, body=map_stmt(map_stmt(func.body, change), _without_mark))

    return rewrite


def _is_mark(stmt: object) -> bool:
    return isinstance(stmt, AttrStmt) and stmt.key == AttrKey.DOUBLE_BUFFER


def _without_mark(stmt: Stmt) -> Stmt:
    """Drop a mark that is in no loop: there is no next iteration."""
    return stmt.body if isinstance(stmt, AttrStmt) and _is_mark(stmt) else stmt


def _doubled(loop: For, split_loop: int) -> Stmt:
    """Return ``loop`` with two copies of each buffer that is marked in it."""
    before: list[Stmt] = []
    allocations: list[Allocate] = []
    first = loop
    while (mark := _first_mark(loop.body)) is not None:
        made = _Buffering(loop, mark).done()
        loop = made.loop
        before.append(made.before)
        allocations.append(made.allocation)
    if not allocations:
        if any(map(_is_mark, walk(loop.body))):
            mark = next(node for node in walk(loop.body) if isinstance(node, AttrStmt) and _is_mark(node))
            raise _error(mark, "a buffer that every iteration makes", "one that is made under a condition")
        return loop
    body = seq([*before, _split(loop, split_loop)])
    for allocation in reversed(allocations):
        body = replace(allocation, body=body)
    return body if isinstance(body, Allocate) else replace(first, body=body)


def _first_mark(stmt: Stmt) -> AttrStmt | None:
    """Return the first mark that every iteration of a loop meets once."""
    stack = [stmt]
    while stack:
        match stack.pop():
            case AttrStmt() as found if _is_mark(found):
                return found
            case SeqStmt(stmts=parts):
                stack.extend(reversed(parts))
            case AttrStmt(body=body) | Allocate(body=body) | LetStmt(body=body):
                stack.append(body)
            case _:
                continue
    return None


@dataclass(frozen=True, slots=True)
class _Made:
    loop: For
    before: Stmt
    allocation: Allocate


@dataclass(frozen=True, slots=True)
class _Buffering:
    loop: For
    mark: AttrStmt

    @property
    def data(self) -> Var:
        """The buffer's memory."""
        node = self.mark.node
        if isinstance(node, Buffer):
            return node.data
        if isinstance(node, Var):
            return node
        raise _error(self.mark, "a buffer, or its variable, as what the attribute is about", str(node))

    def done(self) -> _Made:
        """Return the loop with two copies of the buffer, what comes before it, and their memory."""
        loop, mark, var = self.loop, self.mark, self.loop.loop_var
        allocation = self._allocation()
        self._check(allocation)
        size: Expr = const(1, var.dtype)
        for extent in allocation.extents:
            size = binary(Mul, size, cast_to(extent, var.dtype))
        turn = binary(FloorMod, var - loop.min, const(2, var.dtype)) * size
        move = _Moving(self.data, turn, size, mark)
        make = move.redirected(mark.body)
        following = substitute(make, {var: var + 1})
        inside = IfThenElse((var + 1) < (loop.min + loop.extent), following, None, mark.origin)

        @deep
        def placed(stmt: Stmt) -> Stmt:
            if stmt is mark:
                return inside
            if stmt is allocation:
                return placed(allocation.body)
            match stmt:
                case SeqStmt():
                    return seq(map(placed, stmt.stmts))
                case AttrStmt() | Allocate() | LetStmt():
                    moved = move.own_expressions(stmt)
                    return replace(moved, body=placed(stmt.body))
                case _:
                    return move.redirected(stmt)

        first = with_fresh_definitions(substitute(make, {var: loop.min}))
        if not (isinstance(loop.extent, IntImm) and loop.extent.value > 0):
            first = IfThenElse(loop.extent > 0, first, None, mark.origin)
        memory = replace(allocation, extents=(size * 2,))
        return _Made(replace(loop, body=placed(loop.body)), first, memory)

    def _allocation(self) -> Allocate:
        inside = list(walk(self.loop.body))
        for node in inside:
            if isinstance(node, Allocate) and node.buffer_var is self.data:
                return node
        if any(isinstance(node, BufferRealize) and node.buffer.data is self.data for node in inside):
            raise _error(
                self.mark, "a flat buffer", "one of several dimensions", "StorageFlatten runs before this pass"
            )
        raise _error(self.mark, "a buffer that begins to exist in the loop", "one that exists before it")

    def _check(self, allocation: Allocate) -> None:
        loop, mark = self.loop, self.mark
        if loop.kind not in (ForKind.SERIAL, ForKind.UNROLLED):
            raise _error(mark, "a loop whose iterations run in order", f"a {loop.kind} one")
        defined = [loop.loop_var, *_defined_on_the_way(loop.body)]
        for extent in allocation.extents:
            if uses_var(extent, defined):
                raise _error(mark, "a buffer of one size in all iterations", f"one of {extent} elements")
        missing = [var.name for var in free_vars(mark.body) if var in defined[1:] and var is not self.data]
        if missing:
            raise _error(mark, "what can be computed before the iteration begins", f"what needs {missing[0]!r} of it")
        self._check_order()

    def _check_order(self) -> None:
        """Refuse what must not move to the iteration before."""
        mark = self.mark
        own = {node.buffer_var for node in walk(mark.body) if isinstance(node, Allocate)} | {self.data}
        nodes = list(walk(mark.body))
        written = [node.buffer for node in nodes if isinstance(node, BufferStore) and node.buffer.data not in own]
        if written:
            raise _error(mark, "statements that write the buffer alone", f"some that write {written[0].name!r}, too")
        read = {node.buffer.data: node.buffer for node in nodes if isinstance(node, BufferLoad)}
        rest = list(_walk_without(self.loop.body, mark))
        for node in [*nodes, *rest]:
            if isinstance(node, Call) and not node.op.is_pure:
                raise _error(mark, "a loop without calls that may do anything", f"a call of {node.op}")
        for node in rest:
            if isinstance(node, BufferStore) and node.buffer.data in read.keys() - own:
                raise _error(
                    mark, "what does not depend on the loop", f"what reads {node.buffer.name!r}, which the loop writes"
                )


def _defined_on_the_way(stmt: Stmt) -> Iterator[Var]:
    for node in walk(stmt):
        match node:
            case LetStmt(var=var) | Allocate(buffer_var=var):
                yield var
            case _:
                continue


def _walk_without(stmt: Stmt, left_out: Stmt) -> Iterator[object]:
    stack: list[Stmt | Expr] = [stmt]
    while stack:
        top = stack.pop()
        if top is not left_out:
            yield top
            stack.extend(children(top))


@dataclass(frozen=True, slots=True)
class _Moving:
    """Puts accesses to the buffer into the copy that begins at ``turn``."""

    data: Var
    turn: Expr
    size: Expr
    mark: AttrStmt
    buffers: dict[Buffer, Buffer] = field(default_factory=dict)

    def redirected(self, stmt: Stmt) -> Stmt:
        """Return a statement with its accesses in the copy."""

        def redirect(part: Stmt) -> Stmt:
            if isinstance(part, BufferStore) and part.buffer.data is self.data:
                return replace(part, buffer=self._buffer(part.buffer), indices=self._indices(part.indices))
            return part

        return map_stmt(stmt, redirect, self.in_copy)

    def own_expressions(self, stmt: AttrStmt | Allocate | LetStmt) -> AttrStmt | Allocate | LetStmt:
        """Return a statement with the accesses in its own expressions in the copy."""
        if isinstance(stmt, Allocate):
            return replace(stmt, extents=tuple(map(self.in_copy, stmt.extents)), condition=self.in_copy(stmt.condition))
        return replace(stmt, value=self.in_copy(stmt.value))

    def in_copy(self, expr: Expr) -> Expr:
        """Return an expression with its accesses in the copy."""
        return map_expr(self._node, expr)

    def _node(self, expr: Expr) -> Expr:
        match expr:
            case BufferLoad() if expr.buffer.data is self.data:
                return BufferLoad(self._buffer(expr.buffer), self._indices(expr.indices))
            case Call(op=Builtin.ACCESS_PTR, args=(kind, data, start, *rest)) if data is self.data:
                return replace(expr, args=(kind, data, start + cast_to(self.turn, start.dtype), *rest))
            case Call() if any(arg is self.data for arg in expr.args):
                raise _error(self.mark, "accesses to elements", f"a pointer to all of {self.data.name!r} in {expr.op}")
            case _:
                return expr

    def _buffer(self, buffer: Buffer) -> Buffer:
        if buffer not in self.buffers:
            self.buffers[buffer] = replace(buffer, shape=(self.size * 2,))
        return self.buffers[buffer]

    def _indices(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        if len(indices) != 1:
            raise _error(
                self.mark, "a flat buffer", f"one of {len(indices)} dimensions", "StorageFlatten runs before this pass"
            )
        (index,) = indices
        turn = cast_to(self.turn, index.dtype.element)
        match index:
            case Ramp():
                return (Ramp(index.base + turn, index.stride, index.lanes),)
            case _ if index.dtype.lanes > 1:
                return (index + Broadcast(turn, index.dtype.lanes),)
            case _:
                return (index + turn,)


def _split(loop: For, count: int) -> Stmt:
    """Return ``loop`` with ``count`` iterations after each other in one, and what is left over after that."""
    if count <= 1:
        return loop
    var, dtype = loop.loop_var, loop.loop_var.dtype
    several, left = loop.extent // count, loop.extent % count
    outer, tail = Var(f"{var.name}_outer", dtype), Var(f"{var.name}_tail", dtype)
    copies = instances(loop.body, var, [loop.min + outer * count + k for k in range(count)])
    main: Stmt = replace(loop, loop_var=outer, min=const(0, dtype), extent=several, body=seq(copies))
    if isinstance(left, IntImm) and left.value == 0:
        return main
    rest = with_fresh_definitions(substitute(loop.body, {var: loop.min + several * count + tail}))
    return seq([main, replace(loop, loop_var=tail, min=const(0, dtype), extent=left, body=rest)])


def _error(mark: AttrStmt, expected: str, got: str, hint: str = "") -> DoubleBufferError:
    name = getattr(mark.node, "name", "")
    return DoubleBufferError(f"double buffer {name!r}", expected=expected, got=got, hint=hint, origin=mark.origin)
