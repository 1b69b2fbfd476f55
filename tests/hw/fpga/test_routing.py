"""What a router prints, and when it is ended."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from hw.fpga.routing import RoutingWatch


def _line(steps: int, left: int) -> str:
    return f"Info: {steps:10} | {steps // 4:8}   {steps // 2:8} |  243   756 |{left:10}|       5.43       5.43|\n"


def _ended_in(left: Iterable[int]) -> tuple[int, str] | None:
    """The line in which a router is ended that leaves so many connections line by line, and why."""
    watch = RoutingWatch()
    for number, count in enumerate(left, 1):
        wrong = watch.stuck(_line(1000 * number, count))
        if wrong is not None:
            return number, wrong
    return None


def test_a_router_that_gets_worse_is_ended_and_the_best_line_named() -> None:
    ended = _ended_in([9000, 4000, 1071, *range(1200, 1400)])
    assert ended is not None
    number, wrong = ended
    assert number == 103  # a hundred behind the third
    assert wrong == (
        "the router does not get on: 1,071 connections were left after 3,000 steps, 1,299 after 103,000; "
        "another seed places the cells anew, a larger device leaves more room"
    )


def test_a_router_that_gets_on_is_never_ended_however_slow() -> None:
    slow = [left for fewest in range(50, -1, -1) for left in (fewest, *[fewest + 7] * 99)]
    assert _ended_in(slow) is None


def test_what_is_no_line_of_the_table_counts_for_nothing() -> None:
    watch = RoutingWatch()
    others = [
        "Info:            |   (re-)routed arcs  |   delta    | remaining|       time spent     |\n",
        "Info:    IterCnt |  w/ripup   wo/ripup |  w/r  wo/r |      arcs| batch(sec) total(sec)|\n",
        "Info: [   176,    732) |*************+\n",
        "Info: Routing..\n",
        "",
    ]
    lines = [_line(1000, 500), *others * 100, _line(2000, 500)]
    assert [line for line in lines if watch.stuck(line)] == []


@given(st.lists(st.integers(0, 3000), max_size=400))
def test_a_router_is_ended_only_after_a_hundred_lines_without_a_better_one(left: list[int]) -> None:
    ended = _ended_in(left)
    last = len(left) if ended is None else ended[0] - 1
    best = [min(left[: index + 1]) for index in range(last)]
    assert all(index - best.index(least) < 100 for index, least in enumerate(best))
    if ended is not None:
        assert left[last] >= best[-1]
        assert last - best.index(best[-1]) == 100
