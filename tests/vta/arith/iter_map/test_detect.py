"""Iterator maps: what is found is checked by all values of the iterators."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tests.support.compiler.tir_eval import evaluate
from vta.arith.iter_map import (
    IterMapError,
    IterMapLevel,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    detect_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
)
from vta.tir import ops
from vta.tir.expr import Expr, IntImm, Range, SizeVar, Var, const
from vta.tir.structural import structural_equal

X, Y, Z = Var("x"), Var("y"), Var("z")


def dom(**extents: int) -> dict[Var, Range]:
    return {var: Range(const(0), const(extents[var.name])) for var in (X, Y, Z) if var.name in extents}


def number(expr: Expr) -> int:
    assert isinstance(expr, IntImm), expr
    return expr.value


def values_of(exprs: Sequence[Expr], iters: Mapping[Var, Range], predicate: Expr) -> list[tuple[int, ...]]:
    """Return the values of expressions for all iterators where the predicate holds."""
    ranges = [range(number(r.min), number(r.min) + number(r.extent)) for r in iters.values()]
    points = np.array(list(itertools.product(*ranges)), np.int64).T
    env = dict(zip(iters, points, strict=True))
    kept = np.broadcast_to(evaluate(predicate, env), points[0].shape).astype(bool)
    columns = [np.broadcast_to(evaluate(e, env), points[0].shape)[kept].tolist() for e in exprs]
    return list(zip(*columns, strict=True))


def all_of(total: IterSumExpr) -> set[int]:
    """Return the values that an index is said to have."""
    base = number(total.base)
    if not total.args:
        return {base}
    (split,) = total.args
    return {base + number(split.scale) * k for k in range(number(split.extent))}


def check(
    indices: Sequence[Expr], iters: Mapping[Var, Range], predicate: Expr, level: IterMapLevel
) -> tuple[IterSumExpr, ...]:
    """Compare what is found with all values; return it."""
    found = detect_iter_map(indices, iters, predicate, level).indices
    if not found:
        return found
    values = values_of(indices, iters, predicate)
    again = values_of([normalize_iter_map_to_expr(index) for index in found], iters, predicate)
    assert values == again
    places = set(itertools.product(*map(all_of, found)))
    assert set(values) == places
    if level is IterMapLevel.Bijective:
        assert len(values) == len(places)
    return found


def random_index(rng: random.Random, digits: list[tuple[Expr, int]]) -> Expr:
    """Return an index of some digits, fused, split and shifted."""
    value: Expr = const(0)
    extent = 1
    for expr, size in digits:
        value, extent = value * size + expr, extent * size
    match rng.randrange(5):
        case 0:
            return value // rng.choice((1, 2, 3, 4, 6))
        case 1:
            return value % rng.choice((1, 2, 3, 4, 6)) * rng.choice((1, 2)) + rng.choice((0, 3))
        case 2:
            return (value + rng.choice((1, 2, 4))) // 4 if rng.random() < 0.5 else (value + 2) % 4
        case _:
            return value


def test_random_maps_have_the_values_that_are_said() -> None:
    rng = random.Random(5)
    accepted = 0
    for _ in range(400):
        iters = dom(x=rng.choice((1, 2, 4, 6)), y=rng.choice((2, 3, 4)), z=rng.choice((2, 5, 8)))
        digits: list[tuple[Expr, int]] = []
        for var, r in iters.items():
            size = number(r.extent)
            factor = rng.choice((1, 2, 3, 4))
            if rng.random() < 0.5 and size % factor == 0:
                digits += [(var // factor, size // factor), (var % factor, factor)]
            else:
                digits.append((var, size))
        rng.shuffle(digits)
        cuts = sorted(rng.sample(range(len(digits) + 1), 2))
        groups = [digits[: cuts[0]], digits[cuts[0] : cuts[1]], digits[cuts[1] :]]
        indices = [random_index(rng, group) for group in groups]
        total, extent = const(0), 1
        for expr, size in groups[2]:
            total, extent = total * size + expr, extent * size
        limits = [const(True, "bool"), total < extent - 1, ops.all(total >= 1, total < extent)]
        predicate = rng.choice(limits) if extent > 2 else limits[0]
        level = rng.choice((IterMapLevel.Bijective, IterMapLevel.Surjective))
        accepted += bool(check(indices, iters, predicate, level))
    assert accepted > 80


@pytest.mark.parametrize(
    ("indices", "predicate", "level", "result"),
    [
        ([X * 20 + Y * 5 + Z], True, "bijective", [(60, 1, 0)]),
        ([X * 20 + Y * 5 + Z + 7], True, "bijective", [(60, 1, 7)]),
        ([(X * 20 + Y * 5 + Z) // 4, Z * 0 + (X * 20 + Y * 5 + Z) % 4 * 3], True, "bijective", [(15, 1, 0), (4, 3, 0)]),
        ([X, Y // 2, Y % 2], True, "surjective", [(3, 1, 0), (2, 1, 0), (2, 1, 0)]),
        ([X, const(4)], True, "surjective", [(3, 1, 0), (1, 1, 4)]),
        ([Z // 2], True, "surjective", [(3, 1, 0)]),
        ([X * 4 + Z], True, "surjective", [(13, 1, 0)]),
        ([Y * 5 + Z], Y * 5 + Z < 18, "surjective", [(18, 1, 0)]),
        ([Y * 5 + Z], ops.all(Y * 5 + Z >= 3, Y * 5 + Z < 17), "surjective", [(14, 1, 3)]),
        ([X * 20 + Y * 5 + Z], Y * 5 + Z <= 19, "bijective", [(60, 1, 0)]),
        ([X, Y * 5 + Z], ops.all(X >= 1, X < 9), "bijective", [(2, 1, 1), (20, 1, 0)]),
        ([Y], (Y == 2).asexpr(), "surjective", [(1, 1, 2)]),
        ([X, X + 1 - 1], True, "surjective", []),
        ([X], True, "bijective", []),
        ([Z // 2, Z % 2], True, "surjective", []),
        ([X * 4 + Z], True, "bijective", []),
        ([Y * 6 + Z], True, "surjective", []),
        ([X, Y, Z], Y * 5 + Z < 18, "surjective", []),
        ([X * Y], True, "surjective", []),
        ([X // Y], True, "surjective", []),
        ([ops.max(X, 1)], True, "surjective", []),
        ([0 - X], True, "surjective", []),
        ([Y * 5 - Z], True, "surjective", []),
    ],
)
def test_maps(indices: list[Expr], predicate: Expr, level: str, result: list[tuple[int, int, int]]) -> None:
    iters = dom(x=3, y=4, z=5)
    found = check(indices, iters, const(True, "bool") if predicate is True else predicate, IterMapLevel.of(level))
    shown = [
        (number(f.args[0].extent), number(f.args[0].scale), number(f.base)) if f.args else (1, 1, number(f.base))
        for f in found
    ]
    assert shown == result


@pytest.mark.parametrize(
    ("indices", "predicate", "error"),
    [
        ([X * Y], True, "a product of iterators is no sum of them"),
        ([X // Y], True, "floordiv(x, y): it is divided by an iterator"),
        ([ops.max(X, 1)], True, "max(x, 1) is no sum, quotient or remainder of iterators"),
        ([X // const(-2)], True, "it is divided by -2"),
        ([0 - X], True, "an iterator runs backwards, or not at all"),
        ([X * 3 + Y * 2], True, "scale 3 is no multiple of 2"),
        ([Y * 6 + Z], True, "scale 6 does not go with the 5 values of the digits below"),
        ([X, X], True, "indices have x in several ways, or not all of it"),
        ([X, Y, Z], Y * 5 + Z < 18, "a predicate is about iterators that indices do not have in that sum"),
        ([X], X % 2 < Y, "predicate (floormod(x, 2) < y) has iterators that run against each other"),
        ([X], ops.max(X, 1) < 2, "max(x, 1) is no sum, quotient or remainder of iterators"),
        ([X], (X != 1), "predicate (x != 1) is no comparison of sums of iterators"),
        ([X], X < 0, "iterator 'x' has no values"),
        ([X], Y * 2 + 2 * Z < 9, "a predicate is about a multiple of an iterator"),
        ([X], Var("q") < 1, "predicate (q < 1) is not about the iterators"),
        ([Z // 2, Z % 2], True, "the values of z do not fill 6 places"),
    ],
)
def test_what_is_no_map_says_why(indices: list[Expr], predicate: Expr, error: str) -> None:
    found = detect_iter_map(indices, dom(x=3, y=4, z=5), predicate)
    assert (found.indices, found.errors) == ((), (error,))


def test_ranges_begin_anywhere_and_sizes_may_be_names() -> None:
    n, free = SizeVar("n"), Var("free")
    (total,) = detect_iter_map([X + 1], {X: Range(const(3), const(5))}).indices
    assert (number(total.base), number(total.args[0].extent)) == (4, 5)
    assert structural_equal(total.args[0].source.source, X - 3)
    (wide,) = detect_iter_map([X * n + Y + free], {X: Range(const(0), const(4)), Y: Range(const(0), n)}).indices
    assert wide.base is free
    assert structural_equal(wide.args[0].extent, n * 4)
    (bound,) = detect_iter_map([X], {X: Range(const(0), Y), Y: Range(const(0), const(4))}).errors
    assert bound == "the range of 'x' depends on another iterator"


def test_trivial_iterators_are_constants_or_stay() -> None:
    iters = dom(x=1, y=4)
    (short,) = detect_iter_map([X * 4 + Y], iters).indices
    assert structural_equal(normalize_iter_map_to_expr(short), Y)
    (long,) = detect_iter_map([X * 4 + Y], iters, simplify_trivial_iterators=False).indices
    assert structural_equal(normalize_iter_map_to_expr(long), X * 4 + Y)


def test_padding_without_a_check() -> None:
    found = detect_iter_map([(X + 1) // 4, (X + 1) % 4], dom(x=6), check_level="no_check")
    padded = values_of([found.padding_predicate], {X: Range(const(-1), const(8))}, const(True, "bool"))
    assert [p for (p,) in padded] == [1, 0, 0, 0, 0, 0, 0, 1]
    values = values_of([normalize_iter_map_to_expr(i) for i in found.indices], dom(x=6), const(True, "bool"))
    assert values == [((x + 1) // 4, (x + 1) % 4) for x in range(6)]
    assert str(detect_iter_map([X], dom(x=6)).padding_predicate) == "False"


def test_simplified_maps() -> None:
    iters = dom(x=3, y=4)
    assert structural_equal(iter_map_simplify([(X * 4 + Y) // 4, (X * 4 + Y) % 4], iters)[0], X)
    assert structural_equal(iter_map_simplify([X + 0, X], iters)[1], X)


def test_levels_and_nodes() -> None:
    assert IterMapLevel.from_str("Bijective") is IterMapLevel.Bijective
    with pytest.raises(IterMapError) as error:
        IterMapLevel.of("some")
    assert str(error.value) == "check_level: expected 'bijective', 'surjective' or 'nocheck', got 'some'"
    mark = IterMark(X, const(12))
    split = IterSplitExpr(mark, const(3), const(2), const(5))
    assert str(normalize_iter_map_to_expr(split)) == "(floordiv(floormod(x, 6), 3)*5)"
    assert number(IterSplitExpr(mark).extent) == 12
    with pytest.raises(IterMapError) as error:
        normalize_iter_map_to_expr(mark)  # type: ignore[arg-type]
    assert str(error.value).startswith("expected a split or a sum of iterators, got IterMark(")
