"""Whether two computations in the same axes are the same after simplification.

Tests: tests/vta/te/test_tensorize_match.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields

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
    Builtin,
    Call,
    CommReducer,
    Expr,
    FloatImm,
    IntImm,
    Max,
    Min,
    Mul,
    Node,
    Or,
    Reduce,
    Select,
    StringImm,
    Var,
    binary,
    same,
)
from vta.tir.traverse import expr_children, map_expr, substitute

__all__ = ["same_bodies", "same_values", "starts"]


def same_bodies(own: Sequence[Expr], target: Sequence[Expr], conditions: Sequence[Expr], analyzer: Analyzer) -> bool:
    """Whether the expressions are equal where ``conditions`` hold, which ``target`` must then check itself."""
    pairs = zip(own, target, strict=True)
    return all(_same_body(a, b, conditions, analyzer) for a, b in pairs)


def _same_body(own: Expr, target: Expr, conditions: Sequence[Expr], analyzer: Analyzer) -> bool:
    if isinstance(own, Reduce) and isinstance(target, Reduce):
        return _same_reduction(own, target, conditions, analyzer)
    wanted = _canonical(target, analyzer)
    if conditions:
        if not isinstance(wanted, Call) or wanted.op is not Builtin.IF_THEN_ELSE:
            return False
        own = ops.if_then_else(ops.all(*conditions), own, wanted.args[2])
    return _equal(_canonical(own, analyzer), wanted, analyzer)


def _same_reduction(own: Reduce, target: Reduce, conditions: Sequence[Expr], analyzer: Analyzer) -> bool:
    if not _same_combiner(own.combiner, target.combiner) or not same_values(starts(own), starts(target), analyzer):
        return False
    condition = own.condition
    for extra in conditions:
        condition = binary(And, condition, extra)
    pairs = [(condition, target.condition), *zip(own.source, target.source, strict=True)]
    return _all_equal(pairs, analyzer)


def starts(reduce: Reduce) -> tuple[Expr, ...]:
    """Return the values that a reduction begins with: those of ``init``, else the combiner's identity."""
    return reduce.init or reduce.combiner.identity


def same_values(own: Sequence[Expr], target: Sequence[Expr], analyzer: Analyzer) -> bool:
    """Whether two sequences of expressions without reductions are equal."""
    return len(own) == len(target) and _all_equal(zip(own, target, strict=True), analyzer)


def _all_equal(pairs: Iterable[tuple[Expr, Expr]], analyzer: Analyzer) -> bool:
    return all(_equal(_canonical(a, analyzer), _canonical(b, analyzer), analyzer) for a, b in pairs)


@deep
def _equal(a: Expr, b: Expr, analyzer: Analyzer) -> bool:
    """Whether two simplified expressions agree: by structure, operands of a sum or product in any order."""
    if same(a, b):
        return True
    if type(a) is not type(b) or a.dtype != b.dtype:
        return False
    match a, b:
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
    if all(_equal(x, y, analyzer) for x, y in zip(ours, theirs, strict=True)):
        return True
    commutes = isinstance(a, Add | Mul | Min | Max | And | Or | EQ | NE)
    return commutes and _equal(ours[0], theirs[1], analyzer) and _equal(ours[1], theirs[0], analyzer)


def _agree_but_for_operands(a: Expr, b: Expr) -> bool:
    """Whether everything is equal that two nodes of one kind have beside their operands: tensor, callee, lanes, ..."""
    values = ((getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    return all(x is y or x == y for x, y in values if not isinstance(x, Node | tuple))


def _same_combiner(a: CommReducer, b: CommReducer) -> bool:
    ours, theirs = (*a.lhs, *a.rhs), (*b.lhs, *b.rhs)
    if [v.dtype for v in ours] != [v.dtype for v in theirs]:
        return False
    names: dict[Var, Expr] = dict(zip(ours, theirs, strict=True))
    return same(tuple(substitute(e, names) for e in a.result), b.result) and same(a.identity, b.identity)


def _canonical(expr: Expr, analyzer: Analyzer) -> Expr:
    def plain(node: Expr) -> Expr:
        match node:
            case Call(op=Builtin.LIKELY, args=(condition,)):
                return condition
            case Select():
                return ops.if_then_else(node.condition, node.true_value, node.false_value)
            case _:
                return node

    return analyzer.simplify(map_expr(plain, expr))
