"""Residues of expressions: brute force over all values of their variables."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.compiler.tir_eval import Domain, X, Y, Z, domains, evaluate, integers
from vta.arith.modular import EVERY_INTEGER, ModularSet, modular_set
from vta.tir import expr as tir
from vta.tir import ops
from vta.tir.expr import Expr, Var

INDICES = (X, Y, Z)
STEPS = st.integers(1, 12)


@settings(max_examples=120, deadline=None)
@given(domains(INDICES), integers(INDICES))
def test_every_value_is_among_the_residues(domain: Domain, expr: Expr) -> None:
    found = modular_set(expr, {})
    values = (
        np.broadcast_to(evaluate(expr, domain.points()), ()) if not domain.values else evaluate(expr, domain.points())
    )
    assert all(int(value) in found for value in np.unique(values)), f"{expr} is not {found}"


@settings(max_examples=120, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=3, max_size=3), STEPS, STEPS, integers(INDICES))
def test_what_is_known_of_variables_is_used_soundly(at: list[int], step: int, other: int, expr: Expr) -> None:
    x, y, z = at
    env = {X: ModularSet(step, x), Y: ModularSet(other, y), Z: ModularSet(0, z)}
    found = modular_set(expr, env)
    points = {
        X: np.array([x, x + step, x - 3 * step]),
        Y: np.array([y, y - other, y + 2 * other]),
        Z: np.array([z, z, z]),
    }
    assert all(int(value) in found for value in np.atleast_1d(evaluate(expr, points))), f"{expr} is not {found}"


def test_the_sets_that_one_expects() -> None:
    x, y = Var("x"), Var("y")
    assert modular_set(x * 4 + y * 6 + 1, {}) == ModularSet(2, 1)
    assert modular_set((x * 8 + 4) // 2, {}) == ModularSet(4, 2)
    assert modular_set((x * 8 + 5) % 4, {}) == ModularSet(0, 1)
    assert modular_set(ops.min(x * 8 + 1, y * 12 + 5), {}) == ModularSet(4, 1)
    assert modular_set(ops.select(x > 3, x * 6, y * 9 + 3), {}) == ModularSet(3, 0)
    assert modular_set(x << 3, {}) == ModularSet(8, 0)
    assert modular_set(x, {}) == EVERY_INTEGER
    assert modular_set(x * y, {x: ModularSet(4, 0), y: ModularSet(3, 0)}) == ModularSet(12, 0)


def test_what_wraps_keeps_powers_of_two_alone() -> None:
    u = Var("u", "uint8")
    assert modular_set(u * 3, {}) == EVERY_INTEGER
    assert modular_set(u * 12, {}) == ModularSet(4, 0)
    assert modular_set(tir.Cast("int32", u * 12), {}) == EVERY_INTEGER


@given(STEPS, st.integers(-20, 20), STEPS, st.integers(-20, 20))
def test_unions_and_intersections(a: int, b: int, c: int, d: int) -> None:
    first, second = ModularSet(a, b), ModularSet(c, d)
    joined, common = first.union(second), first.intersect(second)
    for value in range(-150, 150):
        if value in first or value in second:
            assert value in joined
        if value in first and value in second:
            assert value in common
