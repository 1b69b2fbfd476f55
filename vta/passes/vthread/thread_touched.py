"""Which memory and variables depend on a thread's variable.

Tests: tests/vta/passes/vthread and tests/vta/passes/sync/test_statements_that_do_not_belong.py.
"""

from collections.abc import Iterator
from typing import assert_never

from isa.config import VTAConfig
from vta.passes.plain_pointers import written_memory
from vta.tir.blocks import misplaced, unlowered_block
from vta.tir.buffer import Access
from vta.tir.deep import deep
from vta.tir.expr import BufferLoad, Builtin, Call, Expr, IntImm, Var
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
from vta.tir.traverse import children, walk

__all__ = ["touched_variables"]


def touched_variables(stmt: Stmt, thread: Var, config: VTAConfig) -> set[Var]:
    """Return ``thread`` and every variable or memory of ``stmt`` whose contents depend on it, by data or by control."""
    affects: dict[Var, list[Var]] = {}
    _collect(stmt, (), affects, config)
    touched = {thread}
    pending = [thread]
    while pending:
        for var in affects.get(pending.pop(), []):
            if var not in touched:
                touched.add(var)
                pending.append(var)
    return touched


@deep
def _collect(stmt: Stmt, control: tuple[Var, ...], affects: dict[Var, list[Var]], config: VTAConfig) -> None:
    """Record what each variable of ``stmt`` affects; ``control`` decides whether the statement runs."""
    match stmt:
        case BufferStore():
            _record(stmt.buffer.data, [stmt.value, *stmt.indices], control, affects)
        case Evaluate():
            for var in _written(stmt.value, config):
                _record(var, [stmt.value], control, affects)
        case LetStmt():
            _record(stmt.var, [stmt.value], control, affects)
        case For():
            _record(stmt.loop_var, [stmt.min, stmt.extent], control, affects)
            control = (*control, stmt.loop_var)
        case Allocate():
            _record(stmt.buffer_var, [*stmt.extents], (), affects)
        case IfThenElse():
            control = (*control, *_used([stmt.condition]))
        case SeqStmt() | AttrStmt() | BufferRealize() | AssertStmt():
            pass
        case Block():
            raise unlowered_block(stmt)
        case While() | Prefetch() | ProducerStore() | ProducerRealize():
            raise misplaced(stmt)
        case _:
            assert_never(stmt)
    for child in children(stmt):
        if isinstance(child, Stmt):
            _collect(child, control, affects, config)


def _record(target: Var, sources: list[Expr], control: tuple[Var, ...], affects: dict[Var, list[Var]]) -> None:
    for var in (*_used(sources), *control):
        affects.setdefault(var, []).append(target)


def _used(exprs: list[Expr]) -> Iterator[Var]:
    for expr in exprs:
        for node in walk(expr):
            match node:
                case Var():
                    yield node
                case BufferLoad():
                    yield node.buffer.data
                case _:
                    continue


def _written(expr: Expr, config: VTAConfig) -> Iterator[Var]:
    """Yield the memory that a call may write through a pointer or an address."""
    for node in walk(expr):
        match node:
            case Call(op=Builtin.ACCESS_PTR, args=(_, Var() as data, _, _, IntImm(value=mask))) if mask & Access.WRITE:
                yield data
            case Call(op=Builtin.ADDRESS_OF, args=(BufferLoad(buffer=buffer),)):
                yield buffer.data
            case Call(op=Builtin.CALL_EXTERN):
                yield from written_memory(node, config)
            case _:
                continue
