"""Compute indices with 32 bits where their bounds show that these are enough.

Before::

    for (i: int64, 0, 4i64) {
      if (i*16i64 + cast(int64, j) < 60i64) { A[i*16i64 + cast(int64, j)] = 1 }
    }

After::

    for (i: int32, 0, 4) {
      if (i*16 + j < 60) { A[i*16 + j] = 1 }
    }

A loop whose variable has 64 bits, and whose ends fit 32, counts with 32. What is computed from such variables and from
constants gets 32 bits as long as no value on the way can be larger; where 64 bits are wanted still, a cast widens the
result. Sizes that only the caller knows keep the type that they were declared with. This is what lets shapes from
numpy or from a model file, which are int64, name places in scratchpads, whose instructions have 32-bit arguments.
Tests: tests/vta/passes/host/test_narrow_data_type.py.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import cast

from isa.config import VTAConfig
from vta.arith.const_interval import ConstInterval
from vta.arith.simplify import Analyzer
from vta.tir.deep import deep
from vta.tir.dtype import INT32, INT64
from vta.tir.expr import (
    Add,
    Binary,
    BufferLoad,
    Cast,
    Compare,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Range,
    Sub,
    Var,
)
from vta.tir.func import PrimFunc
from vta.tir.stmt import BufferStore, For, LetStmt, Stmt
from vta.tir.traverse import map_expr, map_stmt_children, substitute, walk

__all__ = ["narrow_data_type"]

_FITS = ConstInterval(*INT32.bounds)


def narrow_data_type(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` with 32-bit indices where they suffice."""
    if not any(isinstance(node, Var | IntImm | Cast) and node.dtype == INT64 for node in walk(func.body)):
        return func
    return replace(func, body=_narrow(func.body, Analyzer()))


@deep
def _narrow(stmt: Stmt, analyzer: Analyzer) -> Stmt:
    match stmt:
        case For(loop_var=Var(dtype=dtype)) if dtype == INT64 and _ends_fit(stmt, analyzer):
            return _loop(stmt, analyzer)
        case For():
            analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
        case LetStmt() if stmt.value.dtype.is_int:
            analyzer.bind(stmt.var, analyzer.const_bounds(stmt.value))
        case _:
            pass
    stmt = map_stmt_children(stmt, lambda child: _narrow(child, analyzer), lambda expr: _expr(expr, analyzer))
    if not isinstance(stmt, BufferStore):
        return stmt
    indices = tuple(map(_index, stmt.indices))
    return stmt if all(map(operator.is_, indices, stmt.indices)) else replace(stmt, indices=indices)


def _expr(expr: Expr, analyzer: Analyzer) -> Expr:
    return map_expr(lambda node: _narrow_node(node, analyzer), expr)


def _ends_fit(loop: For, analyzer: Analyzer) -> bool:
    ends = (loop.min, loop.extent, loop.min + loop.extent)
    return all(analyzer.const_bounds(end).within(_FITS) for end in ends)


def _loop(loop: For, analyzer: Analyzer) -> Stmt:
    """Return a loop of 64 bits, whose ends fit 32, with these."""
    var = Var(loop.loop_var.name, INT32)
    low, extent = (_as_narrow(_expr(end, analyzer)) for end in (loop.min, loop.extent))
    analyzer.bind(var, Range(low, extent))
    body = substitute(loop.body, {loop.loop_var: Cast(INT64, var)})
    return replace(loop, loop_var=var, min=low, extent=extent, body=_narrow(body, analyzer))


def _as_narrow(expr: Expr) -> Expr:
    """Return an expression whose values fit as one of 32 bits."""
    inner = _inner(expr)
    return Cast(INT32, expr) if inner is None else inner


def _inner(expr: Expr) -> Expr | None:
    """Return the 32-bit expression that ``expr`` widens, None if it is not one."""
    match expr:
        case Cast(dtype=dtype, value=value) if dtype == INT64 and value.dtype == INT32:
            return value
        case IntImm(value=number, dtype=dtype) if dtype == INT64 and number in _FITS:
            return IntImm(number)
        case _:
            return None


def _narrow_node(node: Expr, analyzer: Analyzer) -> Expr:
    """Return ``node``, whose operands are narrowed already, as a widened 32-bit operation if that has its value."""
    match node:
        case Add() | Sub() | Mul() | FloorDiv() | FloorMod() | Min() | Max() if node.dtype == INT64:
            pair = _pair(node)
            if pair is None or not analyzer.const_bounds(node).within(_FITS):
                return node
            narrow = cast("Expr", type(node)(*pair))
            return Cast(INT64, narrow)
        case Compare() if node.a.dtype == INT64:
            pair = _pair(node)
            return node if pair is None else cast("Expr", type(node)(*pair))
        case Cast(dtype=dtype, value=Cast(dtype=wide, value=inner)) if wide == INT64 and inner.dtype == INT32:
            return inner if dtype == INT32 else node
        case BufferLoad():
            indices = tuple(map(_index, node.indices))
            return node if all(map(operator.is_, indices, node.indices)) else BufferLoad(node.buffer, indices)
        case _:
            return node


def _pair(node: Binary | Compare) -> tuple[Expr, Expr] | None:
    """Return both operands with 32 bits, None unless one of them is a widened expression and the other fits."""
    a, b = _inner(node.a), _inner(node.b)
    if a is None or b is None or (isinstance(a, IntImm) and isinstance(b, IntImm)):
        return None
    return a, b


def _index(index: Expr) -> Expr:
    inner = None if isinstance(index, IntImm) else _inner(index)
    return index if inner is None else inner
