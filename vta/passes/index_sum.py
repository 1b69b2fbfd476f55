"""Index expressions as a person reads them: simplified, the term with the longest stride first, the constant last.

Tests: tests/vta/passes/alu/test_index_sum.py.
"""

from vta.arith.simplify import Analyzer
from vta.tir.expr import Add, Expr, ExprLike, IntImm, Mul, Sub

__all__ = ["index_sum"]


def index_sum(expr: ExprLike, analyzer: Analyzer) -> Expr:
    """Return ``expr`` simplified, its terms in the order of their constant factors (equal ones as they come).

    A term that is subtracted does not come first if another one is added.
    """
    simplified = analyzer.simplify(expr)
    if not isinstance(simplified, Add | Sub):
        return simplified
    terms = list(_terms(simplified, 1))
    constant = sum(sign * term.value for sign, term in terms if isinstance(term, IntImm))
    ordered = sorted((t for t in terms if not isinstance(t[1], IntImm)), key=_stride, reverse=True)
    first = next((i for i, (sign, _) in enumerate(ordered) if sign == 1), 0)
    result: Expr | None = None
    for sign, term in [*ordered[first : first + 1], *ordered[:first], *ordered[first + 1 :]]:
        result = _plus(result, sign, term)
    if result is None or constant == 0:
        return simplified if result is None else result
    return result + constant if constant > 0 else result - -constant


def _terms(expr: Expr, sign: int) -> list[tuple[int, Expr]]:
    found: list[tuple[int, Expr]] = []
    work = [(sign, expr)]
    while work:
        own, part = work.pop()
        match part:
            case Add():
                work += ((own, part.b), (own, part.a))
            case Sub():
                work += ((-own, part.b), (own, part.a))
            case _:
                found.append((own, part))
    return found


def _stride(term: tuple[int, Expr]) -> int:
    match term[1]:
        case Mul(b=IntImm(value=factor)):
            return abs(factor)
        case _:
            return 1


def _plus(total: Expr | None, sign: int, term: Expr) -> Expr:
    if total is None:
        return term if sign == 1 else 0 - term
    return total + term if sign == 1 else total - term
