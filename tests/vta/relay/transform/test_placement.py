from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from vta.relay.transform.placement import Lifetime, peak, placed, planned

LIVES = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 9), st.integers(0, 9)).map(
        lambda t: Lifetime(t[0], min(t[1:]), max(t[1:]))
    ),
    max_size=14,
)


@given(lives=LIVES, alignment=st.sampled_from([1, 7, 64]))
def test_what_is_needed_in_one_step_does_not_overlap(lives: list[Lifetime], alignment: int) -> None:
    offsets = placed(lives, alignment)
    assert all(offset % alignment == 0 for offset in offsets)
    for (a, x), (b, y) in combinations(zip(lives, offsets, strict=True), 2):
        is_apart = x + a.nbytes <= y or y + b.nbytes <= x
        assert (
            is_apart
            or not (a.nbytes and b.nbytes)
            or not set(range(a.begin, a.end + 1)) & set(range(b.begin, b.end + 1))
        )


@given(lives=LIVES)
def test_the_peak_is_the_fullest_step(lives: list[Lifetime]) -> None:
    steps = [sum(each.nbytes for each in lives if each.begin <= step <= each.end) for step in range(10)]
    assert peak(lives) == max(steps)
    total = max((offset + each.nbytes for offset, each in zip(placed(lives, 1), lives, strict=True)), default=0)
    assert total >= peak(lives)


def test_gaps_are_filled() -> None:
    lives = [Lifetime(100, 0, 9), Lifetime(50, 0, 1), Lifetime(40, 2, 3), Lifetime(60, 0, 3)]
    assert placed(lives, 1) == [0, 160, 160, 100]
    assert placed([], 1) == []


def test_a_chain_takes_the_memory_of_its_largest_neighbours() -> None:
    chain = [Lifetime(nbytes * 64, step, step + 1) for step, nbytes in enumerate((4, 2, 3, 1, 5))]
    assert planned(chain, 64)[1] == 6 * 64
    assert planned([Lifetime(100, 0, 1), Lifetime(10, 1, 2)], 64) == ([0, 128], 138)
    assert planned([], 64) == ([], 0)
