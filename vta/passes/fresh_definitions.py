"""Copies of a statement in which a variable has several values, each copy with its own variables.

A variable is defined once in a program, so copies of a statement that defines some (loops, lets, allocations) must not
share them. Tests: tests/vta/passes/generic/test_clean_up.py.
"""

from collections.abc import Sequence
from dataclasses import replace

from vta.tir.buffer import Buffer
from vta.tir.expr import BufferLoad, Expr, Let, Var
from vta.tir.stmt import Allocate, BufferStore, For, LetStmt, Stmt
from vta.tir.traverse import substitute, walk

__all__ = ["instances", "with_fresh_definitions"]


def instances(stmt: Stmt, var: Var, values: Sequence[Expr]) -> list[Stmt]:
    """Return a copy of ``stmt`` for each of ``values``, ``var`` replaced by it; no two copies share definitions."""
    copies = [substitute(stmt, {var: value}) for value in values]
    return [copies[0], *(with_fresh_definitions(copy) for copy in copies[1:])] if copies else []


def with_fresh_definitions(stmt: Stmt) -> Stmt:
    """Return ``stmt`` with new variables (of the same names) in place of those that it defines."""
    renamed: dict[Var, Expr] = {}
    buffers: dict[Buffer, Buffer] = {}
    for node in walk(stmt):
        match node:
            case For(loop_var=var) | LetStmt(var=var) | Allocate(buffer_var=var) | Let(var=var):
                renamed[var] = Var(var.name, var.dtype, var.pointer)
            case BufferLoad(buffer=buffer) | BufferStore(buffer=buffer) if buffer.data in renamed:
                data = renamed[buffer.data]
                if isinstance(data, Var) and buffer not in buffers:
                    buffers[buffer] = replace(buffer, data=data)
            case _:
                continue
    return substitute(stmt, renamed, buffers=buffers) if renamed else stmt
