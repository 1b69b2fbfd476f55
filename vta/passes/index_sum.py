"""Index expressions as a person reads them: simplified, the term with the longest stride first, the constant last.

May import ``vta.arith``, ``vta.tir``. Tests: tests/vta/passes/test_index_sum.py.
"""

from vta.arith.simplify import Analyzer
from vta.tir.expr import Add, Expr, ExprLike, IntImm, Mul, Sub

__all__ = ["index_sum"]


def index_sum(expr: ExprLike, analyzer: Analyzer) -> Expr:
    """Return ``expr`` simplified, its terms in the order of their constant factors (equal ones as they come)."""
    simplified = analyzer.simplify(expr)
    if not isinstance(simplified, Add | Sub):
        return simplified
    terms = list(_terms(simplified, 1))
    constant = sum(factor * term.value for factor, term in terms if isinstance(term, IntImm))
    result: Expr | None = None
    for factor, term in sorted((t for t in terms if not isinstance(t[1], IntImm)), key=_stride, reverse=True):
        result = _plus(result, factor, term)
    if result is None or constant == 0:
        return simplified if result is None else result
    return result + constant if constant > 0 else result - -constant


def _terms(expr: Expr, sign: int) -> list[tuple[int, Expr]]:
    match expr:
        case Add():
            return [*_terms(expr.a, sign), *_terms(expr.b, sign)]
        case Sub():
            return [*_terms(expr.a, sign), *_terms(expr.b, -sign)]
        case _:
            return [(sign, expr)]


def _stride(term: tuple[int, Expr]) -> int:
    match term[1]:
        case Mul(b=IntImm(value=factor)):
            return abs(factor)
        case _:
            return 1


def _plus(total: Expr | None, sign: int, term: Expr) -> Expr:
    if total is None:
        return term if sign > 0 else 0 - term
    return total + term if sign > 0 else total - term
