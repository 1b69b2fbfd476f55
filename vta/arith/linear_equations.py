"""Integer solutions of linear equations, in new variables that are free.

``x + y == 10`` has the solutions x = n + 10, y = -n. The coefficients' columns are made a lower triangle by unimodular
steps (Hermite's normal form); the columns that become zero give the free variables.
Tests: tests/vta/arith/test_linear_system.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from vta.arith.int_constraints import (
    IntConstraints,
    IntConstraintsTransform,
    LinearSystemError,
    as_relations,
    impossible,
    rewritten,
)
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.tir.expr import EQ, Expr, ExprLike, IntImm, Range, Var, const

__all__ = ["solve_linear_equations"]

_Matrix = list[list[int]]


def solve_linear_equations(
    equations: ExprLike | Sequence[ExprLike],
    variables: Sequence[Var] | None = None,
    ranges: Mapping[Var, Range] | None = None,
) -> IntConstraintsTransform:
    """Return the system with as few variables as its equations leave; other relations are kept, in those variables.

    A system without solutions has the relation False. Raises ``LinearSystemError`` for an equation that is not linear
    with constant factors.
    """
    relations = as_relations(equations)
    solved = tuple(variables or ())
    domains = {var: dom for var, dom in (ranges or {}).items() if var in solved}
    src = IntConstraints(solved, domains, relations)
    if not solved:
        return IntConstraintsTransform(src, src, {}, {})
    rows: _Matrix = []
    rests: list[Expr] = []
    others: list[Expr] = []
    for relation in relations:
        if not isinstance(relation, EQ):
            others.append(relation)
            continue
        form = detect_linear_equation(relation.a - relation.b, solved)
        if form is None or not all(isinstance(c, IntImm) for c in form[:-1]):
            raise LinearSystemError(f"{relation} is not linear in the variables, with constant factors")
        rows.append([c.value for c in form[:-1] if isinstance(c, IntImm)])
        rests.append(form[-1])
    values, conditions, free, inverse = _solved(rows, rests, len(solved))
    simple = [Analyzer().simplify(condition) for condition in conditions]
    if any(isinstance(condition, IntImm) and not condition.value for condition in simple):
        return impossible(src)
    fresh = [Var(f"n{i}") for i in range(len(free))]
    src_to_dst = {
        var: _sum([(column[i], n) for column, n in zip(free, fresh, strict=True)], values[i])
        for i, var in enumerate(solved)
    }
    dst_to_src = {n: _sum(list(zip(row, solved, strict=True)), const(0)) for n, row in zip(fresh, inverse, strict=True)}
    return rewritten(src, fresh, src_to_dst, dst_to_src, [*simple, *others])


def _solved(rows: _Matrix, rests: Sequence[Expr], count: int) -> tuple[list[Expr], list[Expr], _Matrix, _Matrix]:
    """Solve ``rows * x + rests == 0``.

    Returns one solution, the conditions under which there is one, the free columns that may be added to it, and how
    these follow from x.
    """
    matrix = [list(row) for row in rows]
    columns = [[int(i == j) for i in range(count)] for j in range(count)]
    pivots = _triangle(matrix, columns)
    analyzer = Analyzer()
    found: list[Expr] = []
    conditions: list[Expr] = []
    for r, row in enumerate(matrix):
        total = rests[r]
        for c, value in enumerate(found):
            total = total + value * row[c]
        total = analyzer.simplify(0 - total)
        if r not in pivots:
            conditions.append((total == 0).asexpr())
            continue
        divisor = row[pivots[r]]
        conditions.append((total % abs(divisor) == 0).asexpr())
        quotient = total // abs(divisor)
        found.append(analyzer.simplify(quotient if divisor > 0 else 0 - quotient))
    free = _settled(columns, len(found))
    inverse = _inverse(columns)
    values: list[Expr] = []
    for i in range(count):
        known: Expr = const(0)
        for c, value in enumerate(found):
            known = known + value * columns[c][i]
        values.append(analyzer.simplify(known))
    return values, conditions, free, inverse[len(found) :]


def _triangle(matrix: _Matrix, columns: _Matrix) -> dict[int, int]:
    """Make the columns of ``matrix`` a lower triangle; return the pivot column of each row that has one.

    What is done to its columns is done to ``columns``, too.
    """
    pivots: dict[int, int] = {}
    at = 0
    count = len(columns)
    for r, row in enumerate(matrix):
        while True:
            nonzero = [c for c in range(at, count) if row[c]]
            if len(nonzero) < 2:
                break
            least = min(nonzero, key=lambda c: abs(row[c]))
            for c in nonzero:
                if c != least:
                    _add(matrix, columns, c, least, -(row[c] // row[least]))
        if nonzero:
            _exchange(matrix, columns, nonzero[0], at)
            pivots[r] = at
            at += 1
    return pivots


def _add(matrix: _Matrix, columns: _Matrix, to: int, source: int, factor: int) -> None:
    for row in matrix:
        row[to] += factor * row[source]
    columns[to] = [a + factor * b for a, b in zip(columns[to], columns[source], strict=True)]


def _exchange(matrix: _Matrix, columns: _Matrix, a: int, b: int) -> None:
    for row in matrix:
        row[a], row[b] = row[b], row[a]
    columns[a], columns[b] = columns[b], columns[a]


def _settled(columns: _Matrix, rank: int) -> _Matrix:
    """Choose free columns whose variable is one of x's where that is possible; the first of x has its sign, then."""
    for k in range(rank, len(columns)):
        units = [i for i, value in enumerate(columns[k]) if abs(value) == 1]
        if units:
            place = units[-1]
            for c in range(len(columns)):
                if c != k and columns[c][place]:
                    factor = -columns[c][place] * columns[k][place]
                    columns[c] = [a + factor * b for a, b in zip(columns[c], columns[k], strict=True)]
    for k in range(rank, len(columns)):
        first = next(value for value in columns[k] if value)
        if first < 0:
            columns[k] = [-value for value in columns[k]]
    return columns[rank:]


def _inverse(columns: _Matrix) -> _Matrix:
    """Return the inverse of the matrix with these columns, whose determinant is 1 or -1."""
    size = len(columns)
    work = [
        [Fraction(columns[c][r]) for c in range(size)] + [Fraction(int(r == c)) for c in range(size)]
        for r in range(size)
    ]
    for i in range(size):
        pivot = next(r for r in range(i, size) if work[r][i])
        work[i], work[pivot] = work[pivot], work[i]
        work[i] = [value / work[i][i] for value in work[i]]
        for r in range(size):
            if r != i and work[r][i]:
                work[r] = [a - work[r][i] * b for a, b in zip(work[r], work[i], strict=True)]
    return [[int(value) for value in row[size:]] for row in work]


def _sum(terms: Sequence[tuple[int, Var]], rest: Expr) -> Expr:
    """Return a sum of variables with factors, and a rest."""
    total: Expr = const(0)
    for factor, var in terms:
        total = total - var if factor == -1 else total + var * factor
    return total + rest
