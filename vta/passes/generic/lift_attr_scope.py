"""Lift an attribute out of loops and conditions, and let neighbours with the same one share it.

``lift_attr_scope(COPROC_UOP_SCOPE)`` turns a nest of tensorised GEMM statements into one micro-op kernel;
``lift_attr_scope(COPROC_SCOPE)`` lets consecutive statements of one module share their dependency tokens.

Before::

    for (co, 0, 16) {
      attr [IterVar(vta)] "coproc_uop_scope" = "VTAPushGEMMOp";
      uop_push(0, 0, ...)
    }

After::

    attr [IterVar(vta)] "coproc_uop_scope" = "VTAPushGEMMOp";
    for (co, 0, 16) {
      uop_push(0, 0, ...)
    }

It passes loops, conditions without else, other attributes and ``let``; it stays inside allocations. In a sequence, runs
of neighbours that agree share one attribute; only if one run is everything does it go further out. In a condition with
else it goes out if both sides agree.

What agrees: modules by number. Micro-op kernels: GEMM statements whose reset flags are equal, because a kernel is one
instruction; two ALU statements never do. An explicit synchronise (pragma ``coproc_sync``) is no module's work: nothing
is lifted over it.

Tests: tests/vta/passes/generic/test_lift_attr_scope.py.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from isa.config import VTAConfig
from vta.passes.pragma import SYNC_PRAGMA, is_pragma
from vta.tir.blocks import misplaced, unlowered_block
from vta.tir.deep import deep
from vta.tir.effects import reads_memory
from vta.tir.expr import Builtin, Call, Expr, IntImm, StringImm
from vta.tir.func import Pass, PrimFunc
from vta.tir.scopes import GEMM_SYMBOL
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
    seq,
)
from vta.tir.traverse import walk

__all__ = ["lift_attr_scope"]


@dataclass(frozen=True, slots=True)
class _Lifted:
    """An attribute on its way out: the statement it was taken from, and what another one must equal to share it."""

    attr: AttrStmt
    group: Hashable

    def wrap(self, body: Stmt) -> AttrStmt:
        """Return ``body`` under the attribute."""
        return replace(self.attr, body=body)


def lift_attr_scope(key: str) -> Pass:
    """Return the pass that lifts attributes ``key`` (``AttrKey.COPROC_SCOPE`` or ``COPROC_UOP_SCOPE``)."""

    def lift(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # a pass's signature
        return replace(func, body=_settle(*_lift(func.body, key)))

    return lift


def _settle(stmt: Stmt, lifted: _Lifted | None) -> Stmt:
    """Return ``stmt`` under the attribute that was lifted out of it."""
    return stmt if lifted is None else lifted.wrap(stmt)


@deep
def _lift(stmt: Stmt, key: str) -> tuple[Stmt, _Lifted | None]:
    """Return ``stmt`` without the attribute that all of it shares, and that attribute."""
    match stmt:
        case AttrStmt() if stmt.key == key:
            body, inner = _lift(stmt.body, key)
            group = _group(stmt)
            return body if inner is None or inner.group == group else inner.wrap(body), _Lifted(stmt, group)
        case Allocate() | BufferRealize() | AssertStmt():
            return _keep_inside(stmt, key), None
        case AttrStmt() if is_pragma(stmt, SYNC_PRAGMA):
            return _keep_inside(stmt, key), None
        case For() | AttrStmt() | LetStmt():
            if _reads_memory(_header(stmt)):
                return _keep_inside(stmt, key), None
            body, lifted = _lift(stmt.body, key)
            return stmt if body is stmt.body else replace(stmt, body=body), lifted
        case SeqStmt():
            return _lift_from_sequence(stmt, key)
        case IfThenElse():
            return _lift_from_condition(stmt, key)
        case Evaluate() | BufferStore():
            return stmt, None
        case Block():
            raise unlowered_block(stmt)
        case While() | Prefetch() | ProducerStore() | ProducerRealize():
            raise misplaced(stmt)
        case _:
            assert_never(stmt)


def _keep_inside(stmt: Allocate | BufferRealize | AssertStmt | AttrStmt | For | LetStmt, key: str) -> Stmt:
    body = _settle(*_lift(stmt.body, key))
    return stmt if body is stmt.body else replace(stmt, body=body)


def _lift_from_sequence(stmt: SeqStmt, key: str) -> tuple[Stmt, _Lifted | None]:
    runs: list[tuple[list[Stmt], _Lifted | None]] = []
    for child in stmt.stmts:
        body, lifted = _lift(child, key)
        previous = runs[-1][1] if runs else None
        if previous is not None and lifted is not None and previous.group == lifted.group:
            runs[-1][0].append(body)
        else:
            runs.append(([body], lifted))
    if len(runs) == 1:
        return _sequence(stmt, runs[0][0]), runs[0][1]
    return _sequence(stmt, [_settle(seq(stmts), lifted) for stmts, lifted in runs]), None


def _sequence(old: SeqStmt, stmts: list[Stmt]) -> Stmt:
    if len(stmts) == len(old.stmts) and all(a is b for a, b in zip(stmts, old.stmts, strict=True)):
        return old
    return seq(stmts)


def _lift_from_condition(stmt: IfThenElse, key: str) -> tuple[Stmt, _Lifted | None]:
    then_case, lifted = _lift(stmt.then_case, key)
    else_case, other = (None, lifted) if stmt.else_case is None else _lift(stmt.else_case, key)
    agree = lifted is not None and other is not None and lifted.group == other.group
    if not agree or _reads_memory((stmt.condition,)):
        then_case = _settle(then_case, lifted)
        else_case = None if else_case is None else _settle(else_case, other)
        lifted = None
    if then_case is stmt.then_case and else_case is stmt.else_case:
        return stmt, lifted
    return replace(stmt, then_case=then_case, else_case=else_case), lifted


def _group(attr: AttrStmt) -> Hashable:
    """Return what two attributes must have in common to be one."""
    match attr.value:
        case IntImm(value=queue):
            return queue
        case StringImm(value=symbol) if symbol == GEMM_SYMBOL and (kind := _kind_of_gemm(attr.body)) is not None:
            return symbol, kind
        case _:
            return "unlike any other", id(attr)


def _kind_of_gemm(body: Stmt) -> tuple[int, int] | None:
    """Return mode and reset flag that all micro-ops of ``body`` have, None if they differ or there are none."""
    found = {n.args[:2] for n in walk(body) if isinstance(n, Call) and n.op is Builtin.UOP_PUSH}
    match list(found):
        case [(IntImm(value=mode), IntImm(value=reset))]:
            return mode, reset
        case _:
            return None


def _header(stmt: For | AttrStmt | LetStmt) -> tuple[Expr, ...]:
    return (stmt.min, stmt.extent) if isinstance(stmt, For) else (stmt.value,)


def _reads_memory(exprs: Iterable[Expr]) -> bool:
    """Whether the host reads memory for ``exprs``: such a statement must stay outside of the accelerator's scope."""
    return any(map(reads_memory, exprs))
