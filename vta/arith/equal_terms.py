"""Whether two expressions compute the same: equal after simplification, operands of a sum or product in any order.

Loads of two programs can stand for each other, as the pairing of them decides.
Tests: tests/vta/arith/test_equal_terms.py.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Protocol

from vta.arith.simplify import Analyzer
from vta.tir import ops
from vta.tir.deep import deep
from vta.tir.expr import (
    EQ,
    LE,
    LT,
    NE,
    Add,
    And,
    BufferLoad,
    Builtin,
    Call,
    Expr,
    FloatImm,
    IntImm,
    Max,
    Min,
    Mul,
    Node,
    Or,
    Select,
    StringImm,
    Var,
    same,
)
from vta.tir.traverse import expr_children, map_expr

__all__ = ["LoadPairing", "canonical", "equal_terms"]


class LoadPairing(Protocol):
    """Which loads of one program stand for which of another; it learns as it is asked."""

    def pair(self, own: BufferLoad, other: BufferLoad) -> bool:
        """Return whether the two stand for each other, and remember what follows from that."""

    def known(self) -> object:
        """Return what was learnt so far."""

    def forget(self, known: object) -> None:
        """Go back to what was known."""


def canonical(expr: Expr, analyzer: Analyzer) -> Expr:
    """Return ``expr`` simplified, without hints, with one way to write a choice."""

    def plain(node: Expr) -> Expr:
        match node:
            case Call(op=Builtin.LIKELY, args=(condition,)):
                return condition
            case Select():
                return ops.if_then_else(node.condition, node.true_value, node.false_value)
            case _:
                return node

    return analyzer.simplify(map_expr(plain, expr))


@deep
def equal_terms(a: Expr, b: Expr, analyzer: Analyzer, loads: LoadPairing | None = None) -> bool:
    """Whether two canonical expressions agree: by structure, operands of a sum or product in any order."""
    if same(a, b):
        return True
    if type(a) is not type(b) or a.dtype != b.dtype:
        return False
    match a, b:
        case (BufferLoad(), BufferLoad()) if loads is not None:
            return loads.pair(a, b)
        case (LT() | LE(), LT() | LE()) if a.a.dtype == b.a.dtype and analyzer.can_prove_equal(a.b - a.a, b.b - b.a):
            return True
        case (Var() | IntImm() | FloatImm() | StringImm(), _):
            return False
        case _:
            agree = _agree_but_for_operands(a, b)
    if a.dtype.is_int and analyzer.can_prove_equal(a, b):
        return True
    ours, theirs = expr_children(a), expr_children(b)
    if not agree or len(ours) != len(theirs):
        return False
    before = None if loads is None else loads.known()
    if all(equal_terms(x, y, analyzer, loads) for x, y in zip(ours, theirs, strict=True)):
        return True
    if not isinstance(a, Add | Mul | Min | Max | And | Or | EQ | NE):
        return False
    if loads is not None:
        loads.forget(before)
    return equal_terms(ours[0], theirs[1], analyzer, loads) and equal_terms(ours[1], theirs[0], analyzer, loads)


def _agree_but_for_operands(a: Expr, b: Expr) -> bool:
    """Whether everything is equal that two nodes of one kind have beside their operands: tensor, callee, lanes, ..."""
    values = ((getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    return all(x is y or x == y for x, y in values if not isinstance(x, Node | tuple))
