"""Annealing: valid and new choices alone, small spaces as a whole, large ones nearly so."""

import numpy as np

from vta.autotvm.space import ConfigSpace
from vta.autotvm.space.config_space import value_of
from vta.autotvm.tuner.annealing import best_scored


def space(knobs: int, values: int) -> ConfigSpace:
    made = ConfigSpace()
    for knob in range(knobs):
        made.define_knob(f"k{knob}", range(values))
    made.multi_filter(lambda config: value_of(config, "k0") != 0)
    return made


def distance(made: ConfigSpace) -> object:
    def score(indices: list[int]) -> np.ndarray:
        return np.array([sum((digit - 5) ** 2 for digit in made.point2knob(index)) for index in indices], float)

    return score


def test_a_small_space_is_ranked_as_a_whole() -> None:
    made = space(2, 8)
    score, rng = distance(made), np.random.default_rng(0)
    best = made.knob2point((5, 5))
    found = best_scored(made, score, 5, rng, starts=[], excluded={best})
    assert {made.point2knob(index) for index in found[:4]} == {(4, 5), (6, 5), (5, 4), (5, 6)}
    assert best not in found
    everything = best_scored(made, score, 1000, rng, starts=[], excluded=())
    assert sorted(everything) == list(made.valid_indices())
    assert best_scored(made, score, 5, rng, starts=[], excluded=set(everything)) == []


def test_chains_come_close_to_the_optimum_of_a_large_space() -> None:
    made = space(6, 12)
    score = distance(made)
    starts = [index for index in range(1, 2_000_000, 50_021) if made.is_index_valid(index)]
    found = best_scored(made, score, 10, np.random.default_rng(1), starts=starts, excluded=starts[:2])
    assert score(found).tolist() == sorted(score(found).tolist())
    assert score(found)[0] <= 6 < score(starts).min()
    assert all(made.is_index_valid(index) for index in found)
    assert not set(found) & set(starts[:2])


def test_a_large_space_without_a_start_has_nothing() -> None:
    made = space(6, 12)
    assert best_scored(made, distance(made), 3, np.random.default_rng(1), starts=[], excluded=()) == []


def test_a_chain_stays_where_no_neighbour_is_valid() -> None:
    made = space(6, 12)
    only = made.knob2point((5,) * 6)
    made.multi_filter(lambda config: config.index == only)
    assert best_scored(made, distance(made), 3, np.random.default_rng(1), starts=[only], excluded=()) == [only]
