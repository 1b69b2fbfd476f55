from itertools import product
from random import Random
from typing import Any

import pytest

from vta.arith.bounds import Interval
from vta.arith.simplify import Analyzer
from vta.te.relations import (
    Fuse,
    Relation,
    Role,
    Singleton,
    Split,
    ends,
    extents_down,
    intervals_up,
    roles_down,
    values_down,
    values_up,
    whole,
)
from vta.tir.expr import Expr, IterVar, Var, const


def axis(name: str) -> IterVar:
    return IterVar(None, Var(name))


def random_relations(rng: Random, roots: list[IterVar]) -> tuple[list[Relation], list[IterVar]]:
    relations: list[Relation] = []
    leaves = list(roots)
    for n in range(rng.randint(1, 4)):
        match rng.choice(["factor", "nparts", "fuse", "dummy"]):
            case "fuse" if len(leaves) > 1:
                at = rng.randrange(len(leaves) - 1)
                fused = axis(f"f{n}")
                relations.append(Fuse(leaves[at], leaves[at + 1], fused))
                leaves[at : at + 2] = [fused]
            case "dummy":
                leaves.insert(0, axis(f"d{n}"))
                relations.append(Singleton(leaves[0]))
            case how:
                at = rng.randrange(len(leaves))
                outer, inner = axis(f"o{n}"), axis(f"i{n}")
                size = const(rng.choice([1, 2, 3, 5, 20]))
                sizes = (size, None) if how == "factor" else (None, size)
                relations.append(Split(leaves[at], outer, inner, *sizes))
                leaves[at : at + 1] = [outer, inner]
    return relations, leaves


def drawn(seed: int) -> tuple[Any, ...]:
    rng = Random(seed)
    roots = [axis("x"), axis("y")]
    relations, leaves = random_relations(rng, roots)
    extents: dict[IterVar, Expr] = {root: const(rng.choice([1, 2, 4, 7, 10])) for root in roots}
    extents_down(relations, extents, Analyzer())
    return rng, roots, relations, leaves, extents


def evaluated(
    relations: Any, leaves: list[IterVar], extents: dict[IterVar, Expr], values: dict[IterVar, int]
) -> dict[IterVar, int]:
    exprs: dict[IterVar, Expr] = {leaf: const(values[leaf]) for leaf in leaves}
    values_up(relations, extents, exprs)
    return {a: int(e) for a, e in exprs.items()}


@pytest.mark.parametrize("seed", range(60))
def test_the_loops_visit_every_element_and_their_values_lead_back(seed: int) -> None:
    _, roots, relations, leaves, extents = drawn(seed)
    seen = set()
    for chosen in product(*(range(int(extents[leaf])) for leaf in leaves)):
        values = evaluated(relations, leaves, extents, dict(zip(leaves, chosen, strict=True)))
        seen.add(tuple(values[root] for root in roots))
    for place in product(*(range(int(extents[root])) for root in roots)):
        assert place in seen
        down: dict[IterVar, Expr] = dict(zip(roots, map(const, place), strict=True))
        values_down(relations, extents, down)
        back = evaluated(relations, leaves, extents, {leaf: int(down[leaf]) for leaf in leaves})
        assert tuple(back[root] for root in roots) == place


@pytest.mark.parametrize("seed", range(60))
def test_an_interval_contains_every_element_that_lies_within_the_axis(seed: int) -> None:
    rng, roots, relations, leaves, extents = drawn(seed)
    fixed = {leaf: rng.randrange(int(extents[leaf])) for leaf in leaves if rng.random() < 0.5}
    intervals = {leaf: Interval.point(const(fixed[leaf])) if leaf in fixed else whole(extents[leaf]) for leaf in leaves}
    intervals_up(relations, extents, intervals, Analyzer())
    free = [leaf for leaf in leaves if leaf not in fixed]
    for chosen in product(*(range(int(extents[leaf])) for leaf in free)):
        values = evaluated(relations, leaves, extents, fixed | dict(zip(free, chosen, strict=True)))
        if all(value < int(extents[a]) for a, value in values.items()):
            for root in roots:
                low, high = ends(intervals[root])
                assert int(low) <= values[root] <= int(high)


def test_relaxed_loops_give_the_whole_axis_even_if_the_split_overruns() -> None:
    parent, outer, inner = axis("p"), axis("o"), axis("i")
    relations = [Split(parent, outer, inner, const(4), None)]
    extents: dict[IterVar, Expr] = {parent: const(10)}
    extents_down(relations, extents, Analyzer())
    intervals = {outer: whole(extents[outer]), inner: whole(extents[inner])}
    intervals_up(relations, extents, intervals, Analyzer())
    assert [int(end) for end in ends(intervals[parent])] == [0, 9]


def test_a_part_of_a_fused_axis_within_one_row_is_exact() -> None:
    a, b, fused, outer, inner = map(axis, ("a", "b", "f", "o", "i"))
    relations = [Fuse(a, b, fused), Split(fused, outer, inner, const(4), None)]
    extents: dict[IterVar, Expr] = {a: const(3), b: const(8)}
    analyzer = Analyzer()
    extents_down(relations, extents, analyzer)
    intervals = {outer: Interval.point(const(3)), inner: whole(extents[inner])}
    intervals_up(relations, extents, intervals, analyzer)
    assert [int(end) for end in ends(intervals[a])] == [1, 1]
    assert [int(end) for end in ends(intervals[b])] == [4, 7]


def test_a_split_makes_no_loop_longer_than_its_axis() -> None:
    parent, outer, inner = axis("p"), axis("o"), axis("i")
    extents: dict[IterVar, Expr] = {parent: const(10)}
    extents_down([Split(parent, outer, inner, const(200), None)], extents, Analyzer())
    assert (int(extents[outer]), int(extents[inner])) == (1, 10)


def test_sizes_may_be_symbolic() -> None:
    parent, outer, inner, n = axis("p"), axis("o"), axis("i"), Var("n")
    extents: dict[IterVar, Expr] = {parent: n}
    extents_down([Split(parent, outer, inner, const(4), None)], extents, Analyzer())
    assert (str(extents[outer]), str(extents[inner])) == ("floordiv((n + 3), 4)", "4")


def test_roles_join_where_axes_are_fused() -> None:
    a, k, fused, outer, inner, dummy = map(axis, ("a", "k", "f", "o", "i", "d"))
    roles = {a: Role.DATA, k: Role.REDUCE}
    roles_down([Fuse(a, k, fused), Split(fused, outer, inner, const(2), None), Singleton(dummy)], roles)
    assert roles[fused] == roles[outer] == roles[inner] == Role.DATA | Role.REDUCE
    assert roles[dummy] is Role.DATA
