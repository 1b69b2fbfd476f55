"""Inverse maps give the iterators back."""

import itertools

import numpy as np
import pytest

from tests.support.compiler.tir_eval import evaluate
from vta.arith.iter_map import IterMapError, detect_iter_map, inverse_affine_iter_map
from vta.arith.iter_map.nodes import IterSumExpr
from vta.tir.expr import Expr, Range, Var, const

X, Y, Z = Var("x"), Var("y"), Var("z")
DOM = {X: Range(const(0), const(6)), Y: Range(const(2), const(4)), Z: Range(const(0), const(5))}


@pytest.mark.parametrize(
    "indices",
    [
        [X, Y, Z], [X * 20 + (Y - 2) * 5 + Z], [X // 3, X % 3 * 4 + Y + 7, Z], [Z * 2 + X % 2, X // 2 * 4 + (Y - 2)],
        [(X * 4 + Y - 2) // 8, (X * 4 + Y - 2) % 8 * 3, Z * 2 + 1],
    ],
)  # fmt: skip
def test_every_iterator_comes_back(indices: list[Expr]) -> None:
    found = detect_iter_map(indices, DOM, check_level="bijective").indices
    assert len(found) == len(indices)
    outputs = [Var(f"o{i}") for i in range(len(indices))]
    inverse = inverse_affine_iter_map(found, outputs)
    points = np.array(list(itertools.product(range(6), range(2, 6), range(5))), np.int64).T
    env = dict(zip(DOM, points, strict=True))
    given = {output: evaluate(index, env) for output, index in zip(outputs, indices, strict=True)}
    assert set(inverse) == set(DOM)
    for var, expr in inverse.items():
        np.testing.assert_array_equal(evaluate(expr, given), env[var])


def test_what_has_no_inverse_is_refused() -> None:
    overlapping = detect_iter_map([X * 4 + Z], DOM).indices
    with pytest.raises(IterMapError) as error:
        inverse_affine_iter_map(overlapping, [Var("o")])
    assert str(error.value) == "inverse_affine_iter_map: digits overlap, so several iterators have one index"
    with pytest.raises(IterMapError) as error:
        inverse_affine_iter_map(overlapping, [])
    assert str(error.value) == "inverse_affine_iter_map: expected 1 outputs, got 0"
    several = IterSumExpr((*overlapping[0].args, *overlapping[0].args), 0)
    with pytest.raises(IterMapError, match=r"^inverse_affine_iter_map: expected indices of at most one split, as "):
        inverse_affine_iter_map([several], [Var("o")])
