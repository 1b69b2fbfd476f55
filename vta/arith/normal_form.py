"""Sums of integer expressions, see ``vta.arith.sums``: the part of the analyser that knows arithmetic.

Tests: tests/vta/arith/test_simplify*.py.
"""

from __future__ import annotations

from itertools import islice

from vta.arith.const_bounds import is_index, type_bounds
from vta.arith.division import floordiv, floormod, truncdiv, truncmod
from vta.arith.extremes import extreme
from vta.arith.knowledge import Knowledge
from vta.arith.splits import merge_splits
from vta.arith.sums import Sum, factors
from vta.tir.deep import deep
from vta.tir.dtype import Kind
from vta.tir.expr import (
    Add,
    Binary,
    Builtin,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Select,
    Sub,
    Var,
)
from vta.tir.traverse import expr_children

__all__ = ["NormalForm", "is_scalar_int"]

_EXPANDED_PRODUCT = 8
"""A product of sums is multiplied out if it has at most this many terms."""


class NormalForm(Knowledge):
    """Turns integer expressions into sums of simplified atoms."""

    @deep
    def sum_of(self, expr: Expr) -> Sum:
        """Return the normal form of a scalar integer expression."""
        total = Sum(expr.dtype)
        self._accumulate(expr, 1, total)
        return self._finish(total)

    def _finish(self, total: Sum) -> Sum:
        total.wrap_constants()
        total = merge_splits(total, self) if total.has_division else total
        if self._facts and not total.is_const:
            bounds = self.bounds_of(total)
            if bounds.is_point and bounds.lo is not None and bounds.lo in type_bounds(total.dtype):
                return Sum(total.dtype, bounds.lo)
        return total

    def _accumulate(self, expr: Expr, factor: int, total: Sum) -> None:
        """Add ``factor * expr`` to ``total``."""
        work = [(expr, factor)]
        while work:
            part, times = work.pop()
            match part:
                case Var():
                    value = self._values.get(part)
                    if value is None:
                        self._add_variable(part, times, total)
                    else:
                        work.append((value, times))
                case IntImm():
                    total.const += times * part.value
                case Add():
                    work += ((part.b, times), (part.a, times))
                case Mul(b=IntImm(value=value)):
                    work.append((part.a, times * value))
                case Sub():
                    work += ((part.b, -times), (part.a, times))
                case Mul():
                    total.add(self._product(self.sum_of(part.a), self.sum_of(part.b)), times)
                case FloorDiv() | FloorMod() | Div() | Mod() | Min() | Max():
                    total.add(self._operation(part), times)
                case _:
                    atom = self.simplify(part)
                    if isinstance(atom, Var | IntImm | Binary):
                        work.append((atom, times))
                    else:
                        total.add_term(atom, times, index=_made_of_indices(atom))

    def _add_variable(self, var: Var, factor: int, total: Sum) -> None:
        bounds = self._bounds.get(var)
        if bounds is not None and bounds.lo is not None and bounds.lo == bounds.hi:
            total.const += factor * bounds.lo
            return
        total.add_term(var, factor, index=is_index(var.dtype))

    def _operation(self, expr: FloorDiv | FloorMod | Div | Mod | Min | Max) -> Sum:
        a, b = self.sum_of(expr.a), self.sum_of(expr.b)
        match expr:
            case FloorDiv():
                return floordiv(a, b, self)
            case FloorMod():
                return floormod(a, b, self)
            case Min() | Max():
                return extreme(type(expr), a, b, self)
            case Div():
                return truncdiv(a, b, self)
            case Mod():
                return truncmod(a, b, self)

    def _product(self, a: Sum, b: Sum) -> Sum:
        if a.is_const or b.is_const:
            return b.scaled(a.const) if a.is_const else a.scaled(b.const)
        index = a.index and b.index
        result = Sum(a.dtype, a.const * b.const)
        size_a, size_b = len(a.terms) + bool(a.const), len(b.terms) + bool(b.const)
        if size_a * size_b > _EXPANDED_PRODUCT:
            result.const = 0
            result.add_term(Mul(a.emit(), b.emit()), 1, index=index)
            return result
        for atom_a, c_a in a:
            for atom_b, c_b in b:
                product = factors(atom_a)[0]
                for other in (*islice(factors(atom_a), 1, None), *factors(atom_b)):
                    product = Mul(product, other)
                result.add_term(product, c_a * c_b, index=index)
            result.add_term(atom_a, c_a * b.const, index=index)
        for atom_b, c_b in b:
            result.add_term(atom_b, c_b * a.const, index=index)
        return result


def is_scalar_int(expr: Expr) -> bool:
    """Whether ``expr`` is an integer of one lane, which has a sum."""
    dtype = expr.dtype
    return dtype.lanes == 1 and dtype.kind in (Kind.INT, Kind.UINT)


def _made_of_indices(expr: Expr) -> bool:
    """Whether only indices, constants and choices among them make the value (see ``vta.arith.const_bounds``)."""
    work = [expr]
    while work:
        part = work.pop()
        match part:
            case Var() if is_index(part.dtype):
                continue
            case IntImm():
                continue
            case Cast() if is_index(part.dtype) and part.value.dtype.bits <= part.dtype.bits:
                work.append(part.value)
            case Select() | Call(op=Builtin.IF_THEN_ELSE):
                work += expr_children(part)[1:]
            case Add() | Sub() | Mul() | FloorDiv() | FloorMod() | Min() | Max() | Div() | Mod() if is_index(
                part.dtype
            ):
                work += (part.a, part.b)
            case _:
                return False
    return True
