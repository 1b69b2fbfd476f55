"""Well-formedness of functions: what every pass may rely on and has to keep.

* A variable is defined (parameter, shape of a parameter, loop, let, allocation, thread axis, view) where it is used,
  and is not defined again inside its own scope; so is the memory of every buffer that is accessed.
* Operands have one type, conditions are bool, stored values have the buffer's type, indices are integers, one for each
  dimension.
* A sequence has at least two statements, none of them a sequence. Nothing of te is left (tensor reads, reductions).

Tests: tests/vta/tir/test_verify.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn, assert_never

from isa.errors import VTAError
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.dtype import DType, Kind
from vta.tir.expr import (
    And,
    Binary,
    BufferLoad,
    Builtin,
    Call,
    Compare,
    Expr,
    IterVar,
    Let,
    Not,
    Or,
    ProducerLoad,
    Ramp,
    Reduce,
    Select,
    Var,
)
from vta.tir.func import PrimFunc
from vta.tir.printer import to_text
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
from vta.tir.traverse import expr_children, free_vars

__all__ = ["VerifyError", "verify"]

_SHIFTS = (Builtin.SHIFT_LEFT, Builtin.SHIFT_RIGHT, Builtin.BITWISE_AND, Builtin.BITWISE_OR, Builtin.BITWISE_XOR)


class VerifyError(VTAError, ValueError):
    """A function that is not well-formed."""


def verify(func: PrimFunc) -> PrimFunc:
    """Return ``func`` if it is well-formed; raise ``VerifyError``, naming the statement, if it is not."""
    if len(set(func.params)) != len(func.params):
        raise VerifyError(f"{func.name}: a parameter occurs twice")
    unknown = [param.name for param in func.buffer_map if param not in func.params]
    if unknown:
        raise VerifyError(f"{func.name}: buffer_map has {unknown[0]!r}, which is no parameter")
    checker = _Checker(func.name, func.params)
    for buffer in (*func.buffer_map.values(), *func.declared.values()):
        checker.defined.add(buffer.data)
        for expr in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            checker.defined.update(free_vars(expr))
    checker.statement(func.body)
    return func


class _Checker:
    def __init__(self, name: str, params: Iterable[Var]) -> None:
        self.defined = set(params)
        self._name = name
        self._stmt: Stmt | None = None
        self._checked: set[int] = set()

    def _fail(self, message: str) -> NoReturn:
        where = "" if self._stmt is None else f", in: {to_text(self._stmt).splitlines()[0].strip()}"
        origin = getattr(self._stmt, "origin", None)
        raise VerifyError(f"{self._name}: {message}{where}{'' if origin is None else f' [{origin}]'}")

    @contextmanager
    def _defining(self, variables: Iterable[Var]) -> Iterator[None]:
        new = list(variables)
        for var in new:
            if var in self.defined:
                self._fail(f"variable {var.name!r} is defined inside its own scope")
        self.defined.update(new)
        yield
        self.defined.difference_update(new)
        self._checked.clear()

    # Statements

    @deep
    def statement(self, stmt: Stmt) -> None:
        """Check a statement and everything in it."""
        outer, self._stmt = self._stmt, stmt
        self._check(stmt)
        self._stmt = outer

    def _check(self, stmt: Stmt) -> None:
        match stmt:
            case SeqStmt():
                self._sequence(stmt)
            case For():
                self._same_type(stmt.loop_var.dtype, stmt.min.dtype, "loop variable", "min")
                self._same_type(stmt.loop_var.dtype, stmt.extent.dtype, "loop variable", "extent")
                self._scope((stmt.min, stmt.extent), (stmt.loop_var,), stmt.body)
            case BufferStore():
                self._store(stmt)
            case Evaluate():
                self.expr(stmt.value)
            case IfThenElse():
                self._condition(stmt.condition)
                self.statement(stmt.then_case)
                if stmt.else_case is not None:
                    self.statement(stmt.else_case)
            case AttrStmt():
                self._attribute(stmt)
            case Allocate():
                self._condition(stmt.condition)
                self._scope(stmt.extents, (stmt.buffer_var,), stmt.body)
            case BufferRealize():
                self._realize(stmt)
            case LetStmt():
                self._same_type(stmt.var.dtype, stmt.value.dtype, "variable", "value")
                self._scope((stmt.value,), (stmt.var,), stmt.body)
            case AssertStmt():
                self._condition(stmt.condition)
                self.statement(stmt.body)
            case Block():
                self._block(stmt)
            case While():
                self._condition(stmt.condition)
                self.statement(stmt.body)
            case Prefetch():
                self._memory(stmt.buffer)
                for bound in stmt.bounds:
                    self.expr(bound.min)
                    self.expr(bound.extent)
            case ProducerStore() | ProducerRealize():
                self._fail(f"{type(stmt).__name__} of {stmt.producer.name!r} belongs to te; lowering replaces it")
            case _:
                assert_never(stmt)

    def _block(self, block: Block) -> None:
        if len(block.iter_vars) != len(block.values):
            self._fail(f"block {block.name!r} has {len(block.iter_vars)} axes and {len(block.values)} values for them")
        for axis, value in zip(block.iter_vars, block.values, strict=True):
            self._same_type(axis.var.dtype, value.dtype, f"axis {axis.name!r}", "value")
            self.expr(value)
        self._condition(block.predicate)
        with self._defining([*(a.var for a in block.iter_vars), *(b.data for b in block.alloc_buffers)]):
            for part in (*(block.reads or ()), *(block.writes or ())):
                self._access(part.buffer, tuple(e for r in part.region for e in (r.min, r.extent))[::2])
            if block.init is not None:
                self.statement(block.init)
            self.statement(block.body)

    def _scope(self, outside: Iterable[Expr], variables: Iterable[Var], body: Stmt) -> None:
        for expr in outside:
            self.expr(expr)
        with self._defining(variables):
            self.statement(body)

    def _sequence(self, stmt: SeqStmt) -> None:
        if len(stmt.stmts) < 2:
            self._fail(f"a sequence has {len(stmt.stmts)} statements; expected at least two (build it with tir.seq)")
        for item in stmt.stmts:
            self.statement(item)

    def _store(self, stmt: BufferStore) -> None:
        self.expr(stmt.value)
        self._access(stmt.buffer, stmt.indices)
        lanes = max([index.dtype.lanes for index in stmt.indices], default=1)
        self._same_type(stmt.buffer.dtype.with_lanes(lanes), stmt.value.dtype, f"buffer {stmt.buffer.name!r}", "value")

    def _realize(self, stmt: BufferRealize) -> None:
        if len(stmt.bounds) != len(stmt.buffer.shape):
            self._fail(
                f"buffer {stmt.buffer.name!r} has {len(stmt.buffer.shape)} dimensions, {len(stmt.bounds)} are realised"
            )
        self._condition(stmt.condition)
        outside = [e for bound in stmt.bounds for e in (bound.min, bound.extent)]
        is_parameter = stmt.buffer.data in self.defined
        self._scope(outside, () if is_parameter else (stmt.buffer.data,), stmt.body)

    def _attribute(self, stmt: AttrStmt) -> None:
        variables: tuple[Var, ...] = ()
        match stmt.node:
            case IterVar(var=var) if stmt.key in (AttrKey.VIRTUAL_THREAD, AttrKey.THREAD_EXTENT):
                variables = (var,)
            case (Buffer() as view, Buffer() as target):
                self._memory(target)
                own = [view.data, *(e for e in (view.elem_offset, *view.strides) if isinstance(e, Var))]
                variables = tuple(own)
            case _:
                pass
        self._scope((stmt.value,), variables, stmt.body)

    # Expressions

    @deep
    def expr(self, expr: Expr) -> None:
        """Check an expression and everything in it; one that stands in several places once."""
        if id(expr) in self._checked:
            return
        match expr:
            case Var():
                if expr not in self.defined:
                    self._fail(f"variable {expr.name!r} is used where it is not defined")
                return
            case Let():
                self._same_type(expr.var.dtype, expr.value.dtype, f"variable {expr.var.name!r}", "value")
                self.expr(expr.value)
                with self._defining((expr.var,)):
                    self.expr(expr.body)
                return
            case BufferLoad():
                self._access(expr.buffer, expr.indices)
                return
            case ProducerLoad() | Reduce():
                self._fail(f"{type(expr).__name__} {expr} belongs to te; lowering replaces it")
            case And() | Or() | Not():
                for operand in expr_children(expr):
                    self._is_bool(operand)
            case Binary() | Compare():
                self._same_type(expr.a.dtype, expr.b.dtype, "left of ", "right", expr)
            case Select():
                self._is_bool(expr.condition)
                self._same_type(expr.true_value.dtype, expr.false_value.dtype, "true value of ", "false value", expr)
            case Ramp():
                self._same_type(expr.base.dtype, expr.stride.dtype, "base of ", "stride", expr)
            case Call():
                self._call(expr)
            case _:
                pass
        for operand in expr_children(expr):
            self.expr(operand)
        self._checked.add(id(expr))

    def _call(self, call: Call) -> None:
        match call.op, call.args:
            case Builtin.IF_THEN_ELSE, (condition, first, second):
                self._is_bool(condition)
                self._same_type(first.dtype, second.dtype, "true value of ", "false value", call)
            case Builtin.LIKELY, (condition,):
                self._is_bool(condition)
                self._same_type(call.dtype, condition.dtype, "", "its condition", call)
            case op, (a, b) if op in _SHIFTS:
                self._same_type(a.dtype, b.dtype, "left of ", "right", call)
            case _:
                pass

    def _access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> None:
        self._memory(buffer)
        if len(indices) != len(buffer.shape):
            self._fail(f"buffer {buffer.name!r} has {len(buffer.shape)} dimensions, not {len(indices)}")
        for index in indices:
            if not index.dtype.is_int:
                self._fail(f"index {index} of buffer {buffer.name!r} is {index.dtype}; expected an integer")
            self.expr(index)

    def _memory(self, buffer: Buffer) -> None:
        if buffer.data not in self.defined:
            self._fail(f"buffer {buffer.name!r} is used where its memory {buffer.data.name!r} does not exist")

    def _condition(self, expr: Expr) -> None:
        self._is_bool(expr)
        self.expr(expr)

    def _is_bool(self, expr: Expr) -> None:
        if expr.dtype.kind is not Kind.BOOL:
            self._fail(f"condition {expr} is {expr.dtype}; expected bool")

    def _same_type(self, a: DType, b: DType, what: str, other: str, expr: Expr | None = None) -> None:
        if a != b:
            self._fail(f"{what}{'' if expr is None else expr} is {a}, but {other} is {b}")
