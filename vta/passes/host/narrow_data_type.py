"""Compute indices with 32 bits where their bounds show that these are enough.

Before::

    for (i: int64, 0, 4i64) {
      if (i*16i64 + cast(int64, j) < 60i64) { A[i*16i64 + cast(int64, j)] = 1 }
    }

After::

    for (i: int32, 0, 4) {
      if (i*16 + j < 60) { A[i*16 + j] = 1 }
    }

A loop whose variable has 64 bits, and whose ends fit 32, counts with 32. What is computed from such variables and
from constants gets 32 bits as long as no value on the way can be larger; where 64 bits are wanted still, a cast
widens the result. The same with other widths. Sizes that only the caller knows keep the type that they were declared
with. This is what lets shapes from numpy or from a model file, which are int64, name places in scratchpads, whose
instructions have 32-bit arguments.
Tests: tests/vta/passes/host/test_narrow_data_type.py.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from isa.config import VTAConfig
from vta.arith.const_interval import ConstInterval
from vta.arith.simplify import Analyzer
from vta.tir.deep import deep
from vta.tir.dtype import INT32, DType, Kind
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
    IterVar,
    Max,
    Min,
    Mul,
    Ramp,
    Range,
    Sub,
    Var,
    const,
)
from vta.tir.func import PrimFunc
from vta.tir.stmt import AttrKey, AttrStmt, BufferStore, For, LetStmt, Stmt
from vta.tir.traverse import TirNode, children, map_expr, map_stmt_children, substitute, walk

__all__ = ["narrow_data_type", "narrow_to"]


def narrow_data_type(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # noqa: ARG001  # every pass has this signature
    """Return ``func`` with 32-bit indices where they suffice."""
    return narrow_to(func, INT32, mixed=True)


def narrow_to(func: PrimFunc, narrow: DType, *, mixed: bool = False) -> PrimFunc:
    """Return ``func`` with indices of type ``narrow``, signed integers, where they suffice.

    A loop something of which is known to need more keeps its type, unless ``mixed``: then a cast widens its variable.
    """
    narrower = _Narrower(narrow)
    if not any(isinstance(node, Var | IntImm | Cast) and narrower.is_wide(node.dtype) for node in walk(func.body)):
        return func
    narrower.wide_vars = set() if mixed else set(narrower.of_wide_values(func.body))
    return replace(func, body=narrower.stmt(func.body))


_Arithmetic = Add | Sub | Mul | FloorDiv | FloorMod | Min | Max


@dataclass(slots=True)
class _Narrower:
    narrow: DType
    analyzer: Analyzer = field(default_factory=Analyzer)
    wide_vars: set[Var] = field(default_factory=set)

    def is_wide(self, dtype: DType) -> bool:
        """Whether values of a type are integers of more bits."""
        return dtype.kind is Kind.INT and dtype.lanes == 1 and dtype.bits > self.narrow.bits

    def fits(self, expr: Expr) -> bool:
        return self.analyzer.const_bounds(expr).within(ConstInterval(*self.narrow.bounds))

    def of_wide_values(self, body: Stmt) -> Iterator[Var]:
        """Yield the variables from which something is computed that is known not to fit."""
        known = Analyzer()
        stack: list[TirNode] = [body]
        while stack:
            node = stack.pop()
            if isinstance(node, For):
                known.bind(node.loop_var, Range(node.min, node.extent))
            if isinstance(node, AttrStmt) and node.key == AttrKey.THREAD_EXTENT and isinstance(node.node, IterVar):
                known.bind(node.node.var, Range(const(0), node.value))
            if isinstance(node, _Arithmetic) and self.is_wide(node.dtype):
                bounds = known.const_bounds(node)
                finite = bounds.lo is not None and bounds.hi is not None
                if finite and not bounds.within(ConstInterval(*self.narrow.bounds)):
                    yield from (part for part in walk(node) if isinstance(part, Var))
            stack.extend(reversed(children(node)))

    @deep
    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case For(loop_var=var) if self.is_wide(var.dtype) and var not in self.wide_vars and self._ends_fit(stmt):
                return self._loop(stmt)
            case For():
                self.analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
            case AttrStmt(key=AttrKey.THREAD_EXTENT, node=IterVar(var=var)) if self.is_wide(stmt.value.dtype):
                return self._thread(stmt, var)
            case LetStmt() if stmt.value.dtype.is_int:
                self.analyzer.bind(stmt.var, self.analyzer.const_bounds(stmt.value))
            case _:
                pass
        stmt = map_stmt_children(stmt, self.stmt, self._expr)
        if not isinstance(stmt, BufferStore):
            return stmt
        indices = tuple(map(self._index, stmt.indices))
        return stmt if all(map(operator.is_, indices, stmt.indices)) else replace(stmt, indices=indices)

    def _expr(self, expr: Expr) -> Expr:
        return map_expr(self._node, expr)

    def _ends_fit(self, loop: For) -> bool:
        return all(map(self.fits, (loop.min, loop.extent, loop.min + loop.extent)))

    def _loop(self, loop: For) -> Stmt:
        """Return a loop that is wider than it has to be as a narrow one."""
        var = Var(loop.loop_var.name, self.narrow)
        low, extent = (self._as_narrow(self._expr(end)) for end in (loop.min, loop.extent))
        self.analyzer.bind(var, Range(low, extent))
        body = substitute(loop.body, {loop.loop_var: Cast(loop.loop_var.dtype, var)})
        return replace(loop, loop_var=var, min=low, extent=extent, body=self.stmt(body))

    def _thread(self, attr: AttrStmt, var: Var) -> Stmt:
        """Return threads, counted with as many bits as what is computed from their numbers needs."""
        assert isinstance(attr.node, IterVar)
        stays = var in self.wide_vars or not self.fits(attr.value)
        dtype = attr.value.dtype if stays else self.narrow
        extent = self._expr(attr.value) if stays else self._as_narrow(self._expr(attr.value))
        new = Var(var.name, dtype)
        self.analyzer.bind(new, Range(const(0, dtype), extent))
        body = attr.body if new.dtype == var.dtype else substitute(attr.body, {var: Cast(var.dtype, new)})
        if new.dtype == var.dtype:
            body = substitute(attr.body, {var: new})
        return replace(attr, node=replace(attr.node, var=new), value=extent, body=self.stmt(body))

    def _as_narrow(self, expr: Expr) -> Expr:
        """Return an expression whose values fit as a narrow one."""
        inner = self._inner(expr)
        return Cast(self.narrow, expr) if inner is None else inner

    def _inner(self, expr: Expr) -> Expr | None:
        """Return the narrow expression that ``expr`` widens, None if it is not one."""
        match expr:
            case Cast(value=value) if self.is_wide(expr.dtype) and value.dtype == self.narrow:
                return value
            case IntImm(value=number) if self.is_wide(expr.dtype):
                low, high = self.narrow.bounds
                return IntImm(number, self.narrow) if low <= number <= high else None
            case _:
                return None

    def _node(self, node: Expr) -> Expr:
        """Return ``node``, whose operands are narrowed already, as a widened narrow operation if that is its value."""
        match node:
            case Add() | Sub() | Mul() | FloorDiv() | FloorMod() | Min() | Max() if self.is_wide(node.dtype):
                pair = self._pair(node)
                if pair is None or not self.fits(node):
                    return node
                return Cast(node.dtype, cast("Expr", type(node)(*pair)))
            case Compare() if self.is_wide(node.a.dtype):
                pair = self._pair(node)
                return node if pair is None else cast("Expr", type(node)(*pair))
            case Cast(dtype=dtype, value=Cast(dtype=between, value=inner)) if self.is_wide(between):
                if inner.dtype == self.narrow and dtype.kind is Kind.INT and dtype.bits >= self.narrow.bits:
                    return inner if dtype == self.narrow else Cast(dtype, inner)
                return inner if inner.dtype == dtype and self._is_thread_number(inner) else node
            case Ramp(base=base, stride=stride, lanes=lanes):
                parts = self._inner(base), self._inner(stride)
                last = node.base + node.stride * (lanes - 1)
                if parts[0] is None or parts[1] is None or not self.fits(last):
                    return node
                return Ramp(parts[0], parts[1], lanes)
            case BufferLoad():
                indices = tuple(map(self._index, node.indices))
                return node if all(map(operator.is_, indices, node.indices)) else BufferLoad(node.buffer, indices)
            case _:
                return node

    def _is_thread_number(self, expr: Expr) -> bool:
        """Whether a variable of a wide type was read as a narrow one: what it is cast to next is itself."""
        return isinstance(expr, Var) and expr.dtype.bits > self.narrow.bits

    def _pair(self, node: Binary | Compare) -> tuple[Expr, Expr] | None:
        """Return both operands narrow, None unless one of them is a widened expression and the other fits."""
        a, b = self._inner(node.a), self._inner(node.b)
        if a is None or b is None or (isinstance(a, IntImm) and isinstance(b, IntImm)):
            return None
        return a, b

    def _index(self, index: Expr) -> Expr:
        inner = None if isinstance(index, IntImm) else self._inner(index)
        return index if inner is None else inner
