"""What a region covers for certain: every member is covered by some values of the loops."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tests.support.compiler.tir_eval import evaluate
from vta.arith.region_lower_bound import estimate_region_lower_bound
from vta.tir.expr import Expr, IntImm, Range, Var, const

I, J, K = Var("i"), Var("j"), Var("k")  # noqa: E741


def covered(region: Sequence[Range], doms: Mapping[Var, int], predicate: Expr) -> set[tuple[int, ...]]:
    points = np.array(list(itertools.product(*map(range, doms.values()))), np.int64).T
    env = dict(zip(doms, points, strict=True))
    holds = np.broadcast_to(evaluate(predicate, env), points[0].shape).astype(bool)
    lows = [np.broadcast_to(evaluate(r.min, env), points[0].shape)[holds] for r in region]
    sizes = [r.extent.value for r in region if isinstance(r.extent, IntImm)]
    found: set[tuple[int, ...]] = set()
    for place in zip(*(low.tolist() for low in lows), strict=True):
        found.update(itertools.product(*(range(p, p + s) for p, s in zip(place, sizes, strict=True))))
    return found


def check(region: Sequence[Range], doms: Mapping[Var, int], predicate: Expr) -> bool:
    ranges = {var: Range(const(0), const(extent)) for var, extent in doms.items()}
    sets = estimate_region_lower_bound(region, ranges, predicate)
    if sets is None:
        return False
    ends = []
    for each in sets:
        assert isinstance(each.min_value, IntImm)
        assert isinstance(each.max_value, IntImm)
        ends.append(range(each.min_value.value, each.max_value.value + 1))
    assert set(itertools.product(*ends)) <= covered(region, doms, predicate)
    return True


def test_random_regions_cover_what_is_said() -> None:
    rng = random.Random(2)
    found = 0
    for _ in range(300):
        doms = {I: rng.randrange(1, 5), J: rng.randrange(2, 5), K: rng.randrange(1, 4)}
        region = []
        for variables in rng.choice(([I, J], [I], [J, K], [K])), rng.choice(([K], [J], [I, K])):
            low: Expr = const(rng.randrange(-3, 4))
            scale = rng.choice((1, 2, 3))
            for var in variables:
                low = low + var * (scale * rng.choice((1, 1, 1, -1)))
                scale *= doms[var]
            region.append(Range(low, const(rng.randrange(1, 5))))
        limit = const(True, "bool") if rng.random() < 0.7 else I * doms[J] + J < doms[I] * doms[J] - 1
        found += check(region, doms, limit)
    assert found > 40


@pytest.mark.parametrize(
    ("region", "ends"),
    [
        ([Range(I * 8, const(8))], [(0, 31)]), ([Range(1 - I * 4, const(5))], [(-11, 5)]),
        ([Range(I * 8, const(7))], None), ([Range(I, const(2)), Range(I + 1, const(3))], None),
        ([Range(I * 4 + J, const(1)), Range(K, const(2))], [(0, 15), (0, 3)]),
    ],
)  # fmt: skip
def test_regions(region: list[Range], ends: list[tuple[int, int]] | None) -> None:
    doms = {var: Range(const(0), const(extent)) for var, extent in ((I, 4), (J, 4), (K, 3))}
    sets = estimate_region_lower_bound(region, doms)
    assert (None if sets is None else [(int(str(s.min_value)), int(str(s.max_value))) for s in sets]) == ends
