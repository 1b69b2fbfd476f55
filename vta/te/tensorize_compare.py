"""Whether two computations in the same axes are the same after simplification.

May import ``vta.tir`` and ``vta.arith``. Tests: tests/vta/te/test_tensorize_match.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from vta.arith.simplify import Analyzer
from vta.tir import ops
from vta.tir.expr import And, Builtin, Call, CommReducer, Expr, Reduce, Select, Var, binary, same
from vta.tir.traverse import map_expr, substitute

__all__ = ["same_bodies"]


def same_bodies(own: Sequence[Expr], target: Sequence[Expr], conditions: Sequence[Expr], analyzer: Analyzer) -> bool:
    """Whether the expressions are equal where ``conditions`` hold, which ``target`` must then check itself."""
    pairs = zip(own, target, strict=True)
    return all(_same_body(a, b, conditions, analyzer) for a, b in pairs)


def _same_body(own: Expr, target: Expr, conditions: Sequence[Expr], analyzer: Analyzer) -> bool:
    if isinstance(own, Reduce) or isinstance(target, Reduce):
        return (
            isinstance(own, Reduce)
            and isinstance(target, Reduce)
            and _same_reduction(own, target, conditions, analyzer)
        )
    if not conditions:
        return same(_canonical(own, analyzer), _canonical(target, analyzer))
    wanted = _canonical(target, analyzer)
    if not isinstance(wanted, Call) or wanted.op is not Builtin.IF_THEN_ELSE:
        return False
    guarded = ops.if_then_else(ops.all(*conditions), own, wanted.args[2])
    return same(_canonical(guarded, analyzer), wanted)


def _same_reduction(own: Reduce, target: Reduce, conditions: Sequence[Expr], analyzer: Analyzer) -> bool:
    if not _same_combiner(own.combiner, target.combiner):
        return False
    condition = own.condition
    for extra in conditions:
        condition = binary(And, condition, extra)
    pairs = [(condition, target.condition), *zip(own.source, target.source, strict=True)]
    return all(same(_canonical(a, analyzer), _canonical(b, analyzer)) for a, b in pairs)


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
