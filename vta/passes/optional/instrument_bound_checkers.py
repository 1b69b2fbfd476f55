"""Check, before each statement, that the elements which it reads and writes are there.

Expects buffers with their dimensions, before storage flattening. A check that certainly holds is left out; an element
that is read under a condition of ``if_then_else`` is checked under that condition.

Before::

    for (i, 0, n) { C[i] = A[i + 1] }         // A has n elements

After::

    for (i, 0, n) {
      assert((i + 1) < n, "element of 'A' outside of its bounds is read")
      C[i] = A[i + 1]
    }

Memory behind a bare pointer has no known bounds, so its elements are not checked.
Tests: tests/vta/passes/optional/test_instrument_bound_checkers.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from isa.config import VTAConfig
from vta.arith.simplify import Analyzer
from vta.passes.errors import PassError
from vta.tir import ops
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.dtype import BOOL
from vta.tir.expr import (
    Broadcast,
    BufferLoad,
    Builtin,
    Call,
    Expr,
    IntImm,
    IterVar,
    Let,
    Not,
    Ramp,
    Range,
    StringImm,
    Var,
)
from vta.tir.func import PrimFunc
from vta.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrKey,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
    is_noop,
    seq,
)
from vta.tir.traverse import expr_children, map_stmt_children, substitute

__all__ = ["BoundCheckError", "instrument_bound_checkers"]

_TRUE = IntImm(1, BOOL)


class BoundCheckError(PassError):
    """An access whose place cannot be compared with a bound."""


def instrument_bound_checkers(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
    """Return ``func`` with assertions about the elements that it touches."""
    return replace(func, body=_Checker(Analyzer(), {}, set(func.params)).visit(func.body))


@dataclass(frozen=True, slots=True)
class _Access:
    """Elements of ``buffer`` that are read or written where ``conditions`` hold."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    conditions: tuple[Expr, ...] = ()
    verb: str = "read"


@dataclass(frozen=True, slots=True)
class _Checker:
    analyzer: Analyzer
    realized: dict[Buffer, tuple[Range, ...]]
    bare: set[Var]

    @deep
    def visit(self, stmt: Stmt) -> Stmt:
        """Return ``stmt`` with checks before each access."""
        match stmt:
            case BufferStore():
                store = _Access(stmt.buffer, stmt.indices, verb="written")
                return self._checked(stmt, stmt, [store, *_reads((*stmt.indices, stmt.value))])
            case For():
                self.analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
            case AttrStmt(key=AttrKey.VIRTUAL_THREAD | AttrKey.THREAD_EXTENT, node=IterVar(var=thread)):
                self.analyzer.bind(thread, Range(IntImm(0, thread.dtype), stmt.value))
            case BufferRealize():
                self.realized[stmt.buffer] = stmt.bounds
            case IfThenElse():
                return self._branches(stmt)
            case While():
                reads = list(_reads((stmt.condition,)))
                again = self._checked(stmt, Evaluate(IntImm(0)), reads)
                body = self.visit(stmt.body)
                new = stmt if body is stmt.body and is_noop(again) else replace(stmt, body=seq([body, again]))
                return self._checked(stmt, new, reads)
            case _:
                pass
        inside = map_stmt_children(stmt, self.visit, lambda expr: expr)
        return self._checked(stmt, inside, list(_reads(_own_expressions(stmt))))

    def _branches(self, stmt: IfThenElse) -> Stmt:
        with self.analyzer.constraint(stmt.condition):
            then_case = self.visit(stmt.then_case)
        else_case = None
        if stmt.else_case is not None:
            with self.analyzer.constraint(Not(stmt.condition)):
                else_case = self.visit(stmt.else_case)
        new = replace(stmt, then_case=then_case, else_case=else_case)
        return self._checked(stmt, new, list(_reads((stmt.condition,))))

    def _checked(self, old: Stmt, new: Stmt, accesses: Sequence[_Access]) -> Stmt:
        """Return ``new`` after the checks; those of what an index reads come before those of the index."""
        for access in accesses:
            condition = self.analyzer.simplify(self._inside(access, old))
            if not (isinstance(condition, IntImm) and condition.value):
                message = f"element of {access.buffer.name!r} outside of its bounds is {access.verb}"
                new = AssertStmt(condition, StringImm(message), new, old.origin)
        return new

    def _inside(self, access: _Access, stmt: Stmt) -> Expr:
        if access.buffer.data in self.bare:
            return _TRUE
        whole = tuple(Range(IntImm(0, extent.dtype), extent) for extent in access.buffer.shape)
        result: Expr = _TRUE
        for index, bound in zip(access.indices, self.realized.get(access.buffer, whole), strict=True):
            for place in _places(index, access, stmt):
                result = ops.all(result, place >= bound.min, place < bound.min + bound.extent)
        for condition in reversed(access.conditions):
            result = ops.if_then_else(condition, result, _TRUE)
        return result


def _places(index: Expr, access: _Access, stmt: Stmt) -> list[Expr]:
    """Return the smallest and the largest of the places that an index names, in either order."""
    match index:
        case Ramp():
            return [index.base, index.base + index.stride * (index.lanes - 1)]
        case Broadcast():
            return [index.value]
        case _ if index.dtype.lanes == 1:
            return [index]
        case _:
            raise BoundCheckError(
                f"an index of buffer {access.buffer.name!r}",
                expected="a number, or a vector of evenly spaced ones",
                got=str(index),
                hint="such an access cannot be checked; leave tir.instrument_bound_checkers out",
                origin=stmt.origin,
            )


def _own_expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """Return what a statement computes before anything inside of it runs."""
    match stmt:
        case For():
            return (stmt.min, stmt.extent)
        case Evaluate() | LetStmt() | AttrStmt():
            return (stmt.value,)
        case AssertStmt():
            return (stmt.condition,)
        case Allocate():
            return stmt.extents
        case _:
            return ()


def _reads(exprs: Sequence[Expr]) -> Iterator[_Access]:
    """Yield the elements that expressions read, an index's after those of which it is the index."""
    stack: list[tuple[Expr, tuple[Expr, ...]]] = [(expr, ()) for expr in reversed(exprs)]
    while stack:
        node, conditions = stack.pop()
        match node:
            case Call(op=Builtin.IF_THEN_ELSE, args=(test, first, second)):
                stack += [(test, conditions), (first, (*conditions, test)), (second, (*conditions, Not(test)))]
            case Call(op=Builtin.ADDRESS_OF):
                continue
            case Let():
                stack += [(node.value, conditions), (substitute(node.body, {node.var: node.value}), conditions)]
            case _:
                if isinstance(node, BufferLoad):
                    yield _Access(node.buffer, node.indices, conditions)
                stack += [(child, conditions) for child in expr_children(node)]
