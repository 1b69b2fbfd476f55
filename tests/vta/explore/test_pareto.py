"""What nothing beats, and what comes next."""

import numpy as np

from vta.explore.pareto import by_rank, front


def test_nothing_on_the_front_is_beaten_and_everything_else_is() -> None:
    costs = [(float(a), float(b)) for a, b in np.random.default_rng(1).integers(0, 30, (60, 2))]
    best = front(costs)
    for place, cost in enumerate(costs):
        beaten = any(a <= cost[0] and b <= cost[1] and (a, b) != cost for a, b in costs)
        assert (place in best) is not beaten


def test_equal_costs_are_both_on_the_front() -> None:
    assert front([(1.0, 2.0), (1.0, 2.0), (2.0, 2.0)]) == [0, 1]


def test_ranks_go_on_with_the_front_of_what_is_left() -> None:
    assert by_rank([(3.0, 3.0), (1.0, 2.0), (2.0, 1.0), (4.0, 4.0)]) == [1, 2, 0, 3]
    assert by_rank([]) == []
