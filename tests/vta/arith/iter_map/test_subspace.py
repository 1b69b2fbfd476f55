"""Indices divided by an inner nest: outer * extent + inner is the index, and each part has its own iterators."""

import itertools
import random

import numpy as np
import pytest

from tests.support.compiler.tir_eval import evaluate
from vta.arith.iter_map import normalize_iter_map_to_expr, subspace_divide
from vta.arith.iter_map.nodes import IterMark, IterSumExpr
from vta.tir.expr import Expr, IntImm, Range, Var, const
from vta.tir.structural import structural_equal
from vta.tir.traverse import uses_var

W, X, Y, Z = (Var(name) for name in "wxyz")
DOM = {W: 4, X: 3, Y: 4, Z: 5}
RANGES = {var: Range(const(0), const(extent)) for var, extent in DOM.items()}
POINTS = np.array(list(itertools.product(*map(range, DOM.values()))), np.int64).T
ENV = dict(zip(DOM, POINTS, strict=True))


def expr_of(mark: IterMark) -> Expr:
    assert isinstance(mark.source, IterSumExpr)
    return normalize_iter_map_to_expr(mark.source)


def check(indices: list[Expr], inner: list[Var]) -> bool:
    """Compare a division with all values; return whether there is one."""
    found = subspace_divide(indices, RANGES, inner)
    if not found:
        return False
    outer = [var for var in DOM if var not in inner]
    for index, (high, low) in zip(indices, found, strict=False):
        first, second = expr_of(high), expr_of(low)
        assert not uses_var(first, inner)
        assert not uses_var(second, outer)
        assert isinstance(low.extent, IntImm)
        whole = evaluate(first, ENV) * low.extent.value + evaluate(second, ENV)
        np.testing.assert_array_equal(*np.broadcast_arrays(whole, evaluate(index, ENV)))
    return True


def test_random_divisions() -> None:
    rng = random.Random(9)
    done = 0
    for _ in range(150):
        digits: list[tuple[Expr, int]] = [(X, 3), (Z, 5), (W // 2, 2), (W % 2, 2), (Y // 2, 2), (Y % 2, 2)]
        rng.shuffle(digits)
        cut = rng.randrange(1, 6)
        indices = []
        for group in (digits[:cut], digits[cut:]):
            value: Expr = const(rng.choice((0, 0, 7)))
            for expr, size in group:
                value = value * size + expr
            indices.append(value)
        done += check(indices, rng.sample(list(DOM), rng.randrange(0, 4)))
    assert done > 20


def test_a_predicate_is_divided_too() -> None:
    index = Z * 12 + Y * 3 + X + 2
    found = subspace_divide([index], {v: RANGES[v] for v in (X, Y, Z)}, [X], Z * 4 + Y < 18)
    ((outer, inner), (first, second)) = found
    assert structural_equal(expr_of(outer), Z * 4 + Y)
    assert structural_equal(expr_of(inner), X + 2)
    assert structural_equal(first.extent, Z * 4 + Y < 18)
    assert str(second.extent) == "True"


@pytest.mark.parametrize(
    ("indices", "inner", "predicate"),
    [
        ([X * 4 + Y], [X], True), ([X * 12 + W * 3 + Y], [Y], True), ([X, X], [X], True),
        ([Z * 12 + Y * 3 + X], [X], Z * 12 + Y * 3 + X < 45), ([(W * 5 + Z) * 2], [Z], True),
        ([(X * 3 + W) // 2], [W], True),
    ],
)  # fmt: skip
def test_what_cannot_be_divided_gives_nothing(indices: list[Expr], inner: list[Var], predicate: Expr) -> None:
    assert subspace_divide(indices, RANGES, inner, predicate) == []
