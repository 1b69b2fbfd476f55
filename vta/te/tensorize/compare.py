"""Whether two computations in the same axes are the same after simplification.

Tests: tests/vta/te/test_tensorize_match.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vta.arith.equal_terms import canonical, equal_terms
from vta.arith.simplify import Analyzer
from vta.tir import ops
from vta.tir.expr import And, Builtin, Call, CommReducer, Expr, Reduce, binary, same
from vta.tir.traverse import substitute

__all__ = ["same_bodies", "same_values", "starts"]


def same_bodies(own: Sequence[Expr], target: Sequence[Expr], conditions: Sequence[Expr], analyzer: Analyzer) -> bool:
    """Whether the expressions are equal where ``conditions`` hold, which ``target`` must then check itself."""
    pairs = zip(own, target, strict=True)
    return all(_same_body(a, b, conditions, analyzer) for a, b in pairs)


def _same_body(own: Expr, target: Expr, conditions: Sequence[Expr], analyzer: Analyzer) -> bool:
    if isinstance(own, Reduce) and isinstance(target, Reduce):
        return _same_reduction(own, target, conditions, analyzer)
    wanted = canonical(target, analyzer)
    if conditions:
        if not isinstance(wanted, Call) or wanted.op is not Builtin.IF_THEN_ELSE:
            return False
        own = ops.if_then_else(ops.all(*conditions), own, wanted.args[2])
    return equal_terms(canonical(own, analyzer), wanted, analyzer)


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
    return all(equal_terms(canonical(a, analyzer), canonical(b, analyzer), analyzer) for a, b in pairs)


def _same_combiner(a: CommReducer, b: CommReducer) -> bool:
    ours, theirs = (*a.lhs, *a.rhs), (*b.lhs, *b.rhs)
    if [v.dtype for v in ours] != [v.dtype for v in theirs]:
        return False
    names = dict(zip(ours, theirs, strict=True))
    return same(tuple(substitute(e, names) for e in a.result), b.result) and same(a.identity, b.identity)
