"""What a router prints, and when it is ended."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from hw.fpga.routing import RoutingWatch


def _line(number: int, shared: int) -> str:
    return f"Info:     iter={number} wires=603827 overused={shared} overuse={shared + 5} archfail=NA\n"


def _ended_in(shared: Iterable[int]) -> tuple[int, str] | None:
    """The round in which a router is ended that shares so many wires round by round, and why."""
    watch = RoutingWatch()
    for number, count in enumerate(shared, 1):
        wrong = watch.stuck(_line(number, count))
        if wrong is not None:
            return number, wrong
    return None


def test_a_router_that_gets_worse_is_ended_and_the_best_round_named() -> None:
    ended = _ended_in([9000, 4000, 1071, *range(1200, 1300)])
    assert ended is not None
    number, wrong = ended
    assert number == 33  # 30 rounds behind the third
    assert wrong == (
        "the router does not get on: 1,071 wires were shared after 3 rounds, 1,229 after 33; "
        "another seed places the cells anew, a larger device leaves more room"
    )


def test_the_last_few_wires_have_more_time() -> None:
    assert _ended_in([5000, 300, 40, *[60, 45] * 100, 3, 0]) is None
    ended = _ended_in([5000, 300, 3, *[3] * 1000])
    assert ended is not None
    assert ended[0] == 303


def test_what_is_no_round_counts_for_nothing() -> None:
    watch = RoutingWatch()
    lines = [_line(1, 500), *["Info: Routing..\n", "iter=\n", "Info: overused=3\n", ""] * 100, _line(2, 500)]
    assert [line for line in lines if watch.stuck(line)] == []


@given(st.lists(st.integers(0, 3000), max_size=400))
def test_a_router_is_ended_only_after_thirty_rounds_without_a_better_one(shared: list[int]) -> None:
    ended = _ended_in(shared)
    last = len(shared) if ended is None else ended[0] - 1
    best = [min(shared[: index + 1]) for index in range(last)]
    waits = [index - best.index(least) for index, least in enumerate(best)]
    assert all(wait < 300 if least <= 100 else wait < 30 for wait, least in zip(waits, best, strict=True))
    if ended is not None:
        assert shared[last] >= best[-1]
        assert last - best.index(best[-1]) == (300 if best[-1] <= 100 else 30)
