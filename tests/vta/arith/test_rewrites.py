"""Rules beyond the normal form: shorter expressions with the same values, by trying all of them."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings

from tests.support.compiler.tir_eval import SMALL, Domain, X, Y, Z, conditions, domains, evaluate, integers
from vta.arith.const_interval import ConstInterval
from vta.arith.rewrites.rules import size
from vta.arith.simplify import Analyzer
from vta.arith.tvm_analyzer import TvmAnalyzer
from vta.tir import ops
from vta.tir.expr import (
    LT,
    Add,
    And,
    Broadcast,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Sub,
    Var,
    binary,
    const,
)
from vta.tir.interpreter.expressions import lane

x, y, z = (Var(name) for name in "xyz")
REACH = np.arange(-11, 12)
POINTS = dict(zip((x, y, z), (values.ravel() for values in np.meshgrid(REACH, REACH, REACH)), strict=True))


def lanes_of(expr: Expr) -> list[Expr]:
    count = expr.dtype.lanes
    return [expr] if count == 1 else [lane(expr, number) for number in range(count)]


def check(expr: Expr, expected: str) -> None:
    found = TvmAnalyzer().rewrite_simplify(expr)
    assert str(found) == expected
    assert found.dtype == expr.dtype
    for one, other in zip(lanes_of(expr), lanes_of(found), strict=True):
        np.testing.assert_array_equal(evaluate(one, POINTS), np.broadcast_to(evaluate(other, POINTS), POINTS[x].shape))


def ramp(base: Expr | int, stride: int, lanes: int = 4) -> Expr:
    return Ramp(base if isinstance(base, Expr) else const(base), const(stride), lanes)  # type: ignore[arg-type, misc]


def many(value: Expr, lanes: int = 4) -> Expr:
    return Broadcast(value, lanes)


fld, flm, least, most, div, pick = ops.floordiv, ops.floormod, ops.min, ops.max, ops.truncdiv, ops.select

SUMS = [
    (least(x, y - z) + z, "min((x + z), y)"),
    (most(x, y - 10) + 10, "max((x + 10), y)"),
    (least(x + y, z) - x, "min(y, (z - x))"),
    (least(x, y * 2) + most(y * 2, x), "(x + (y*2))"),
    (least(x, y) - least(y, x) + z, "z"),
    (least(x, y) - least(x + 10, y + 10), "-10"),
    (most(x + 10, y + 1) - most(x, y - 9), "10"),
    (x * y + x * 10, "(x*(y + 10))"),
    (x * y - z * x, "(x*(y - z))"),
    (x - div(x, 3) * 3, "(x % 3)"),
    (fld(x + 5, 3) - fld(x + 1, 3), "(floordiv((floormod((x + 1), 3) + 1), 3) + 1)"),
    (least(x, y) * most(x, y), "(x*y)"),
    (div(div(x, 3), 2), "(x / 6)"),
    (pick(x < 0, y, 0) + pick(x < 0, 1, z), "select((x < 0), (y + 1), z)"),
    (least(pick(x < 0, y, 0), pick(x < 0, 1, z)), "select((x < 0), min(y, 1), min(z, 0))"),
]
EXTREMES = [
    (least(x - 1, y - 1), "(min(x, y) - 1)"),
    (least(y + x, z + x), "(min(y, z) + x)"),
    (least(10 - x, 10 - y), "(10 - max(x, y))"),
    (least(most(x, y), most(z, x)), "max(min(y, z), x)"),
    (most(least(x, y), least(x, z)), "min(max(y, z), x)"),
    (least(fld(x, 10), fld(y, 10)), "floordiv(min(x, y), 10)"),
    (least(fld(x + 3, 4) * 4, x), "x"),
    (most(fld(x, 4) * 4, x), "x"),
    (pick(x < y, x, y), "min(x, y)"),
    (pick(x > y, x, y), "max(y, x)"),
]
COMPARISONS = [
    (fld(x, 2) < 3, "(x < 6)"),
    (fld(x, 2) <= 3, "(x < 8)"),
    (const(3) < fld(x, 2), "(8 <= x)"),
    (const(3) <= fld(x, 2), "(6 <= x)"),
    (fld(x, 4) * 4 <= x, "True"),
    (x < fld(x, 4) * 4 + 4, "True"),
    (fld(x, 4) * 4 + 4 < x, "False"),
    (x <= fld(x, 4) * 4, "(floormod(x, 4) == 0)"),
    (least(x, 11) < 10, "(x < 10)"),
    (most(x, 1) < 10, "(x < 10)"),
    (least(x, y) < x, "(y < x)"),
    (most(x, y) < y, "False"),
    (x < most(x, y), "(x < y)"),
    (least(x, y) <= x, "True"),
    (x <= most(x, y), "True"),
    (x <= least(x, y), "(x <= y)"),
]
VECTORS = [
    (Add(ramp(x, 1), ramp(y, 2)), "ramp((x + y), 3, 4)"),
    (Add(many(y), ramp(x, 1)), "ramp((y + x), 1, 4)"),
    (Sub(many(y), ramp(x, 4)), "ramp((y - x), -4, 4)"),
    (Mul(many(const(2)), ramp(x, 4)), "ramp((x*2), 8, 4)"),
    (Max(Max(many(x), many(y)), many(z)), "broadcast(max(max(x, y), z), 4)"),
    (LT(many(x), many(y)), "broadcast((x < y), 4)"),
    (And(many(x < 0), many(y < 0)), "broadcast(((x < 0) && (y < 0)), 4)"),
    (FloorDiv(ramp(x * 2, 4), many(const(2))), "ramp(x, 2, 4)"),
    (FloorDiv(ramp(x * 8, 1), many(const(8))), "broadcast(x, 4)"),
    (FloorDiv(ramp(x * 8 + 5, 1), many(const(8))), "floordiv(ramp(((x*8) + 5), 1, 4), broadcast(8, 4))"),
    (FloorMod(ramp(x * 8, 1), many(const(8))), "ramp(0, 1, 4)"),
    (FloorMod(ramp(x * 4, 1), many(const(64))), "ramp((floormod(x, 16)*4), 1, 4)"),
    (FloorMod(ramp(x, 4), many(const(2))), "broadcast(floormod(x, 2), 4)"),
    (FloorMod(ramp(7, -1), many(const(4))), "ramp(3, -1, 4)"),
    (FloorMod(ramp(5, -1), many(const(4))), "floormod(ramp(5, -1, 4), broadcast(4, 4))"),
    (Not(many(x < y)), "broadcast((y <= x), 4)"),
    (Select(many(x < y), ramp(x, 1), ramp(x, 1)), "ramp(x, 1, 4)"),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "expected"), [*SUMS, *EXTREMES, *COMPARISONS, *VECTORS], ids=str)
def test_it_is_shorter_and_has_the_same_values(expr: Expr, expected: str) -> None:
    check(expr, expected)


def analyzer_of(domain: Domain) -> TvmAnalyzer:
    return TvmAnalyzer({var: ConstInterval(values[0], values[-1]) for var, values in domain.values.items()})


def same_values(domain: Domain, expr: Expr) -> None:
    found = analyzer_of(domain).rewrite_simplify(expr)
    assert found.dtype == expr.dtype
    assert domain.first_difference(found, expr) is None


@settings(max_examples=200, deadline=None)
@given(domains((X, Y, Z)), integers((X, Y, Z)))
def test_random_indices_keep_their_values(domain: Domain, expr: Expr) -> None:
    same_values(domain, expr)


@settings(max_examples=200, deadline=None)
@given(domains((X, Y, Z)), conditions((X, Y, Z)))
def test_random_conditions_keep_their_values(domain: Domain, expr: Expr) -> None:
    same_values(domain, expr)


@settings(max_examples=100, deadline=None)
@given(domains(SMALL), integers(SMALL))
def test_random_numbers_that_wrap_keep_their_values(domain: Domain, expr: Expr) -> None:
    same_values(domain, expr)


def grown(rng: Random, depth: int) -> Expr:
    """Return an expression of what the rules look for: sums, extremes, quotients, choices, few variables."""
    if depth == 0:
        return rng.choice([x, y, z, const(rng.randint(-6, 6))])
    a, b = grown(rng, depth - 1), grown(rng, rng.randrange(depth))
    c = rng.choice([2, 3, 4])
    match rng.randrange(10):
        case 0 | 1:
            return a + b
        case 2 | 3:
            return a - b
        case 4:
            return least(a, b)
        case 5:
            return most(a, b)
        case 6:
            return fld(a, c) * rng.choice([1, c])
        case 7:
            return rng.choice([flm, ops.truncmod, div])(a, c)
        case 8:
            return a * rng.choice([b, const(rng.randint(-3, 3))])
        case _:
            return pick(x < y, a, b)


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(8, 40))])
def test_expressions_of_what_rules_look_for_keep_their_values(seed: int) -> None:
    rng = Random(f"rewrites {seed}")
    for _ in range(12):
        a, b = grown(rng, rng.randint(1, 4)), grown(rng, rng.randint(1, 3))
        for expr in (a, a < b, a <= b, (a == b).asexpr(), Min(a, b), a - b):
            found = TvmAnalyzer().rewrite_simplify(expr)
            got = np.broadcast_to(evaluate(found, POINTS), POINTS[x].shape)
            np.testing.assert_array_equal(got, np.broadcast_to(evaluate(expr, POINTS), got.shape), f"{expr} -> {found}")


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(6, 20))])
def test_random_vectors_keep_their_lanes(seed: int) -> None:
    rng = Random(f"vectors {seed}")

    def vector(depth: int) -> Expr:
        if depth == 0:
            base = grown(rng, 1)
            return ramp(base * rng.choice([1, 4, 8]), rng.randint(-4, 8)) if rng.random() < 0.6 else many(base)
        kind = rng.choice([Add, Sub, Mul, Min, Max, FloorDiv, FloorMod])
        if kind in (FloorDiv, FloorMod):
            return binary(kind, vector(depth - 1), many(const(rng.choice([2, 4, 8, 16]))))
        return binary(kind, vector(depth - 1), vector(0))

    for _ in range(20):
        expr = vector(rng.randint(1, 3))
        for each in (expr, LT(expr, vector(0)), Cast(expr.dtype, expr)):
            found = TvmAnalyzer().rewrite_simplify(each)
            assert size(found) <= size(Analyzer().simplify(each))
            for one, other in zip(lanes_of(each), lanes_of(found), strict=True):
                values = np.broadcast_to(evaluate(other, POINTS), POINTS[x].shape)
                np.testing.assert_array_equal(np.broadcast_to(evaluate(one, POINTS), values.shape), values)


def test_what_is_proved_is_proved_with_the_rules_too() -> None:
    analyzer = TvmAnalyzer()
    assert analyzer.can_prove(fld(x, 4) * 4 <= x)
    assert analyzer.can_prove_equal(least(x, y) + most(x, y), x + y)
    assert not analyzer.can_prove(fld(x, 4) * 4 < x)
    assert str(analyzer.simplify(Or(x < 3, x < 5))) == "(x < 5)"
