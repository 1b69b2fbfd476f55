"""Linear systems: rewritten ones have the solutions of the old ones, which all integers of a box say."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tests.support.compiler.tir_eval import evaluate
from vta.arith.int_constraints import IntConstraints, IntConstraintsTransform, LinearSystemError
from vta.arith.linear_equations import solve_linear_equations
from vta.arith.linear_inequalities import solve_linear_inequalities
from vta.tir.expr import EQ, GE, GT, LE, LT, NE, Add, Expr, IntImm, Range, Var, const
from vta.tir.structural import structural_equal

X, Y, Z, P = (Var(name) for name in "xyzp")


def number(expr: Expr) -> int:
    assert isinstance(expr, IntImm), expr
    return expr.value


def solutions(system: IntConstraints, points: Mapping[Var, np.ndarray]) -> np.ndarray:
    """Return which of ``points`` are solutions."""
    shape = next(iter(points.values())).shape if points else (1,)
    holds = np.ones(shape, bool)
    for relation in system.relations:
        holds &= np.broadcast_to(evaluate(relation, points), shape).astype(bool)
    for var, dom in system.ranges.items():
        low = evaluate(dom.min, points)
        holds &= (points[var] >= low) & (points[var] < low + evaluate(dom.extent, points))
    return holds


def box(variables: Sequence[Var], low: int, high: int) -> dict[Var, np.ndarray]:
    grid = np.array(list(itertools.product(range(low, high), repeat=len(variables))), np.int64).T
    return dict(zip(variables, grid, strict=True))


def check(made: IntConstraintsTransform, low: int, high: int, parameters: Sequence[Var] = ()) -> None:
    """Every solution of the old system is one of the new one by the map, and comes back; and the other way round."""
    points = box([*made.src.variables, *parameters], low, high)
    old = solutions(made.src, points)
    if not made.dst.variables and any(isinstance(r, IntImm) for r in made.dst.relations):
        assert not old.any()
        return
    kept = {var: values[old] for var, values in points.items()}
    shape = (int(old.sum()),)
    new = {v: np.broadcast_to(evaluate(e, kept), shape) for v, e in made.dst_to_src.items()}
    new |= {p: kept[p] for p in parameters}
    assert solutions(made.dst, new).all()
    for var, value in made.src_to_dst.items():
        np.testing.assert_array_equal(np.broadcast_to(evaluate(value, new), shape), kept[var])
    free = box([*made.dst.variables, *parameters], -9, 10)
    right = solutions(made.dst, free)
    chosen = {var: values[right] for var, values in free.items()}
    back = {v: np.broadcast_to(evaluate(e, chosen), (int(right.sum()),)) for v, e in made.src_to_dst.items()}
    back |= {p: chosen[p] for p in parameters}
    assert solutions(made.src, back).all()
    for var, value in made.dst_to_src.items():
        np.testing.assert_array_equal(evaluate(value, back), chosen[var])


def random_system(rng: random.Random, kinds: Sequence[type]) -> tuple[list[Expr], list[Var], dict[Var, Range]]:
    variables = [X, Y, Z][: rng.randrange(1, 4)]
    relations: list[Expr] = []
    for _ in range(rng.randrange(1, 4)):
        total: Expr = const(rng.randrange(-6, 7))
        for var in variables:
            total = total + var * rng.randrange(-3, 4)
        relations.append(rng.choice(kinds)(Add(total, const(0)), const(rng.randrange(-3, 4))))
    given = {v: Range(const(-4), const(rng.choice((3, 9)))) for v in variables if rng.random() < 0.8}
    return relations, variables, given


def test_random_equations_keep_their_solutions() -> None:
    rng = random.Random(3)
    for _ in range(120):
        relations, variables, given = random_system(rng, (EQ, EQ, EQ, LE, GT))
        check(solve_linear_equations(relations, variables, given), -6, 7)


def test_random_inequalities_keep_their_solutions() -> None:
    rng = random.Random(4)
    for _ in range(100):
        relations, variables, given = random_system(rng, (LE, LT, GE, GT, EQ))
        made = solve_linear_inequalities(relations, variables, given, deskew_range=True)
        assert isinstance(made, IntConstraintsTransform)
        check(made, -6, 7)
        plain = solve_linear_inequalities(relations, variables, given)
        assert isinstance(plain, IntConstraints)
        points = box(variables, -6, 7)
        same = solutions(IntConstraints(tuple(variables), given, tuple(relations)), points)
        np.testing.assert_array_equal(solutions(plain, points), same)


def test_unique_solutions_and_free_variables() -> None:
    unique = solve_linear_equations([(X + Y == 20).asexpr(), (X - Y == 10).asexpr()], [X, Y])
    assert unique.dst.variables == ()
    assert [number(unique.src_to_dst[var]) for var in (X, Y)] == [15, 5]
    low = solve_linear_equations([(X + Y + Z == 15).asexpr(), (X + Y == 10).asexpr()], [X, Y, Z])
    (n,) = low.dst.variables
    assert structural_equal(low.src_to_dst[X], n + 10)
    assert structural_equal(low.src_to_dst[Y], -n)
    assert number(low.src_to_dst[Z]) == 5
    none = solve_linear_equations([(X + Y == 20).asexpr()])
    assert none.src is none.dst
    assert none.src.variables == ()


def test_ranges_of_free_variables() -> None:
    ranges = {X: Range(const(-5), const(10)), Y: Range(const(0), const(10))}
    made = solve_linear_equations((X + Y == 0).asexpr(), [X, Y], ranges)
    (n,) = made.dst.variables
    assert (number(made.dst.ranges[n].min), number(made.dst.ranges[n].extent)) == (-9, 10)
    (left,) = made.dst.relations
    assert structural_equal(left, LE(const(-5), n))


def test_systems_without_a_solution() -> None:
    for relations in (
        [(X + Y == 0).asexpr(), (X - Y == 0).asexpr(), (X == 5).asexpr()], [(X * 2 + Y * 4 == 3).asexpr()],
    ):  # fmt: skip
        made = solve_linear_equations(relations, [X, Y])
        assert (made.dst.variables, made.src_to_dst, [str(r) for r in made.dst.relations]) == ((), {}, ["False"])
    plain = solve_linear_inequalities([X >= 5, X <= 4], [X])
    assert isinstance(plain, IntConstraints)
    assert [str(r) for r in plain.relations] == ["False"]


def test_parameters_stay() -> None:
    made = solve_linear_equations([(X * 2 + Y == P).asexpr()], [X, Y], {})
    check(made, -5, 6, [P])
    divided = solve_linear_equations([(X * 3 == P).asexpr()], [X], {})
    assert [str(r) for r in divided.dst.relations] == ["(floormod(p, 3) == 0)"]
    ranged = solve_linear_inequalities([X >= P, X < P + 4], [X], {}, deskew_range=True)
    assert isinstance(ranged, IntConstraintsTransform)
    check(ranged, -5, 6, [P])


def test_ranges_depend_on_later_variables() -> None:
    problem = [X + Y <= 20, X - Y >= 10, Y >= 0]
    plain = solve_linear_inequalities(problem, [X, Y], {})
    assert isinstance(plain, IntConstraints)
    assert (number(plain.ranges[Y].min), number(plain.ranges[Y].extent)) == (0, 6)
    assert structural_equal(plain.ranges[X].min, Y + 10)
    assert number(plain.ranges[X].extent) == 11
    moved = solve_linear_inequalities(problem, [X, Y], {}, deskew_range=True)
    assert isinstance(moved, IntConstraintsTransform)
    first, second = moved.dst.variables
    assert structural_equal(moved.src_to_dst[X], first + (second + 10))
    assert moved.src_to_dst[Y] is not Y
    assert len(moved.dst.relations) == 1
    single = solve_linear_inequalities([X + Y >= 10, X - Y >= 2, X <= 6], [X, Y], {}, deskew_range=True)
    assert isinstance(single, IntConstraintsTransform)
    assert single.dst.variables == ()
    assert [number(single.src_to_dst[v]) for v in (X, Y)] == [6, 4]


def test_what_is_no_linear_system_is_refused() -> None:
    products = [(X * Y == 1).asexpr(), X * Y <= 1]
    nonlinear = "is not linear in the variables, with constant factors"
    for solve, relation, text in (
        (solve_linear_equations, products[0], f"((x*y) == 1) {nonlinear}"),
        (solve_linear_equations, X + 1, "expected a comparison of integers, got (x + 1)"),
        (solve_linear_inequalities, products[1], f"((x*y) <= 1) {nonlinear}"),
        (solve_linear_inequalities, NE(X, Y), "(x != y) is no inequality or equation"),
    ):
        with pytest.raises(LinearSystemError) as error:
            solve([relation], [X, Y])  # type: ignore[operator]
        assert str(error.value) == text
    many = [X * (i + 1) + Y * (i * i + 1) <= 3 * i for i in range(20)] + [X * (i + 1) >= Y * (i * i) for i in range(20)]
    with pytest.raises(LinearSystemError) as error:
        solve_linear_inequalities(many, [X, Y])
    assert str(error.value) == "the system grows beyond 200 inequalities; solve for fewer variables"
