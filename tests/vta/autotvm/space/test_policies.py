"""Values that knobs have: all of them, the plainest first, each once."""

from itertools import permutations, product
from math import prod

import pytest

from vta.autotvm.space.errors import SpaceError
from vta.autotvm.space.policies import annotations, orders, splits


@pytest.mark.parametrize("extent", [1, 2, 12, 56, 97])
@pytest.mark.parametrize("outputs", [2, 3])
def test_factors_are_all_inner_extents_whose_product_divides(extent: int, outputs: int) -> None:
    found = splits("x", extent, "factors", outputs)
    every = product(range(1, extent + 1), repeat=outputs - 1)
    assert found == [(-1, *inner) for inner in every if extent % prod(inner) == 0]
    assert found[0] == (-1, *(1,) * (outputs - 1))


def test_powers_of_two_may_leave_a_last_round_incomplete() -> None:
    assert splits("x", 12, "power2", 2) == [(-1, 1), (-1, 2), (-1, 4), (-1, 8)]
    assert splits("x", 12, "power2", 2, no_tail=True) == [(-1, 1), (-1, 2), (-1, 4)]
    assert splits("x", 12, "verbose", 2) == [(-1, 1), (-1, 2), (-1, 3), (-1, 4), (-1, 6), (-1, 8), (-1, 12)]
    assert splits("x", 12, "factors", 2, max_factor=4) == [(-1, 1), (-1, 2), (-1, 3), (-1, 4)]


def test_candidates_are_taken_as_they_are() -> None:
    assert splits("x", 10, "candidate", 3, candidate=[(-1, 2, 3), [5, 1, 2]]) == [(-1, 2, 3), (-1, 1, 2)]
    assert orders("x", 3, "candidate", candidate=[(2, 0, 1)]) == [(2, 0, 1)]


def test_orders_are_all_or_the_one() -> None:
    assert orders("x", 3, "all") == list(permutations(range(3)))
    assert orders("x", 3, "identity") == [(0, 1, 2)]


def test_annotations_unroll_and_vectorise_from_the_inside() -> None:
    assert annotations("x", 2, "unroll") == [("unroll", "unroll")]
    assert annotations("x", 2, "try_unroll") == [("none", "none"), ("none", "unroll"), ("unroll", "unroll")]
    assert annotations("x", 2, "try_vec") == [("none", "none"), ("none", "vec")]
    assert annotations("x", 2, "unroll_vec") == [("unroll", "vec")]
    assert annotations("x", 2, "try_unroll_vec") == [
        ("none", "none"), ("none", "unroll"), ("unroll", "unroll"), ("none", "vec"), ("unroll", "vec"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: splits("x", 8, "factors", 1), "define_split 'x': num_outputs is 2 or more, not 1"),
        (lambda: splits("x", 0, "factors", 2), "define_split 'x': a loop has 1 or more iterations, not 0"),
        (
            lambda: splits("x", 8, "all", 2),
            "define_split 'x': policy is one of factors, power2, verbose, candidate, not 'all'",
        ),
        (
            lambda: splits("x", 8, "candidate", 2, candidate=[(-1, 0)]),
            "define_split 'x': a candidate is -1 and 1 inner extents from 1, not [-1, 0]",
        ),
        (
            lambda: orders("x", 2, "candidate", candidate=[(0, 0)]),
            "define_reorder 'x': a candidate has each of the places 0 to 1 once, not [0, 0]",
        ),
        (
            lambda: orders("x", 2, "any"),
            "define_reorder 'x': policy is one of all, identity, candidate, not 'any'",
        ),
        (lambda: annotations("x", 0, "unroll"), "define_annotate 'x': there are no loops to annotate"),
        (
            lambda: annotations("x", 1, "vec"),
            "define_annotate 'x': policy is one of unroll, try_unroll, try_vec, try_unroll_vec, unroll_vec, not 'vec'",
        ),
    ],
)
def test_what_no_policy_gives_is_refused(call: object, text: str) -> None:
    with pytest.raises(SpaceError) as caught:
        call()  # type: ignore[operator]  # a function of no arguments
    assert str(caught.value) == text
