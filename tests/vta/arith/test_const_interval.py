"""Intervals of integers against all pairs of members."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.arith.const_interval import EVERYTHING, ConstInterval, maximum, union


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


OPERATIONS: dict[str, tuple[Callable[..., ConstInterval], Callable[[int, int], int]]] = {
    "add": (ConstInterval.__add__, lambda a, b: a + b),
    "sub": (ConstInterval.__sub__, lambda a, b: a - b),
    "mul": (ConstInterval.__mul__, lambda a, b: a * b),
    "floordiv": (ConstInterval.floordiv, lambda a, b: a // b),
    "floormod": (ConstInterval.floormod, lambda a, b: a % b),
    "truncdiv": (ConstInterval.truncdiv, truncated),
    "truncmod": (ConstInterval.truncmod, lambda a, b: a - truncated(a, b) * b),
    "max": (maximum, max),
}
WINDOW = range(-12, 13)
ENDS = st.one_of(st.none(), st.integers(-6, 6))


def members(interval: ConstInterval) -> list[int]:
    """The members in a window that is wider than any bound."""
    return [v for v in WINDOW if v in interval]


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(sorted(OPERATIONS)), st.builds(ConstInterval, ENDS, ENDS), st.builds(ConstInterval, ENDS, ENDS))
def test_the_result_contains_what_members_give(name: str, a: ConstInterval, b: ConstInterval) -> None:
    on_intervals, on_integers = OPERATIONS[name]
    result = on_intervals(a, b)
    for p in members(a):
        for q in members(b):
            if q or ("div" not in name and "mod" not in name):
                assert on_integers(p, q) in result, (p, q, result)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (ConstInterval(2, 5) * ConstInterval(-3, 4), ConstInterval(-15, 20)),
        (ConstInterval(2, 5).scale(-2), ConstInterval(-10, -4)),
        (ConstInterval(None, 5).scale(-2), ConstInterval(-10, None)),
        (ConstInterval(None, 5).scale(0), ConstInterval(0, 0)),
        (ConstInterval(2, None) * ConstInterval(3, None), ConstInterval(6, None)),
        (ConstInterval(None, -2) * ConstInterval(3, None), ConstInterval(None, -6)),
        (ConstInterval(None, -2) * ConstInterval(None, -3), ConstInterval(6, None)),
        (ConstInterval(2, None) * ConstInterval(None, -3), ConstInterval(None, -6)),
        (ConstInterval(None, 2) * ConstInterval(None, 3), EVERYTHING),
        (ConstInterval(None, 5) * ConstInterval(2, 2), ConstInterval(None, 10)),
        (ConstInterval(-7, 9).floordiv(ConstInterval(2, 2)), ConstInterval(-4, 4)),
        (ConstInterval(-7, 9).floordiv(ConstInterval(-2, -2)), ConstInterval(-5, 3)),
        (ConstInterval(3, 9).floordiv(ConstInterval(2, None)), ConstInterval(0, 4)),
        (ConstInterval(-9, -3).floordiv(ConstInterval(2, None)), ConstInterval(-5, -1)),
        (ConstInterval(-3, 9).floordiv(ConstInterval(-2, 2)), ConstInterval(-9, 9)),
        (ConstInterval(None, 9).floordiv(ConstInterval(-2, 2)), EVERYTHING),
        (ConstInterval(9, 11).floormod(ConstInterval(8, 8)), ConstInterval(1, 3)),
        (ConstInterval(7, 9).floormod(ConstInterval(8, 8)), ConstInterval(0, 7)),
        (ConstInterval(0, 3).floormod(ConstInterval(2, 8)), ConstInterval(0, 3)),
        (ConstInterval(1, 2).floordiv(ConstInterval(0, 0)), EVERYTHING),
        (ConstInterval(1, 2).truncdiv(ConstInterval(0, 0)), EVERYTHING),
        (EVERYTHING.floormod(ConstInterval(1, None)), ConstInterval(0, None)),
        (EVERYTHING.floormod(ConstInterval(-4, -1)), ConstInterval(-3, 0)),
        (ConstInterval(-7, 9).truncdiv(ConstInterval(2, 2)), ConstInterval(-3, 4)),
        (ConstInterval(-7, 9).truncdiv(ConstInterval(-2, -2)), ConstInterval(-4, 3)),
        (ConstInterval(-7, -3).truncdiv(ConstInterval(2, None)), ConstInterval(-3, 0)),
        (ConstInterval(-7, 3).truncdiv(ConstInterval(-2, 2)), ConstInterval(-7, 7)),
        (ConstInterval(0, 9).truncdiv(ConstInterval(2, 2)), ConstInterval(0, 4)),
        (ConstInterval(-2, 9).truncmod(ConstInterval(4, 4)), ConstInterval(-2, 3)),
        (ConstInterval(0, 2).truncmod(ConstInterval(4, 4)), ConstInterval(0, 2)),
        (union([ConstInterval(0, 2), ConstInterval(5, 6)]), ConstInterval(0, 6)),
        (union([ConstInterval(0, 2), ConstInterval(None, 1)]), ConstInterval(None, 2)),
        (ConstInterval(0, 5).intersect(ConstInterval(3, None)), ConstInterval(3, 5)),
        (ConstInterval(None, 5).intersect(ConstInterval(3, 9)), ConstInterval(3, 5)),
    ],
)
def test_bounds_are_as_tight_as_they_should_be(result: ConstInterval, expected: ConstInterval) -> None:
    assert result == expected


def test_points_and_empty_intervals_are_recognised() -> None:
    assert ConstInterval(3, 3).is_point
    assert not EVERYTHING.is_point
    assert ConstInterval(3, 2).is_empty
    assert not ConstInterval(3, None).is_empty


def test_an_interval_lies_within_a_wider_one() -> None:
    assert ConstInterval(1, 2).within(ConstInterval(0, 2))
    assert ConstInterval(1, 2).within(EVERYTHING)
    assert not ConstInterval(1, 3).within(ConstInterval(0, 2))
    assert not ConstInterval(None, 2).within(ConstInterval(0, 2))
