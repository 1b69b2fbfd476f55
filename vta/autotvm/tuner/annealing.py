"""Simulated annealing over a space: which choices a score thinks best.

Tests: tests/vta/autotvm/tuner/test_annealing.py.
"""

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from vta.autotvm.space import ConfigSpace

__all__ = ["best_scored"]

Score = Callable[[list[int]], npt.NDArray[np.float64]]
"""Says of choices how slow they are: smaller is better."""

_STEPS = 24
"""Steps of each chain."""

_ENUMERATED = 4096
"""Choices of the largest space that is scored as a whole."""

_ATTEMPTS = 16
"""Neighbours that a chain tries to find a valid one."""


def best_scored(
    space: ConfigSpace,
    score: Score,
    count: int,
    rng: np.random.Generator,
    *,
    starts: Sequence[int],
    excluded: Collection[int],
) -> list[int]:
    """Return up to ``count`` valid choices with the smallest scores, none of ``excluded``, the best first.

    Chains go on from ``starts``: one knob after the other is changed, to a neighbouring value half of the time; what is
    worse is taken the more seldom the later it is. Small spaces are scored as a whole.
    """
    if len(space) <= _ENUMERATED:
        seen = [index for index in space.valid_indices() if index not in excluded]
        return _smallest(dict(zip(seen, score(seen).tolist(), strict=True)) if seen else {}, count, excluded)
    chains = list(starts)
    if not chains:
        return []
    costs = score(chains)
    seen_costs = dict(zip(chains, costs.tolist(), strict=True))
    for step in range(_STEPS):
        moved = [_neighbour(space, index, rng) for index in chains]
        new = score(moved)
        seen_costs.update(zip(moved, new.tolist(), strict=True))
        heat = 0.2 * (1 - step / _STEPS) + 1e-9
        worse = np.minimum(0.0, (costs - new) / heat)
        for chain, taken in enumerate(rng.random(len(chains)) < np.exp(worse)):
            if taken:
                chains[chain], costs[chain] = moved[chain], new[chain]
    return _smallest(seen_costs, count, excluded)


def _smallest(costs: dict[int, float], count: int, excluded: Collection[int]) -> list[int]:
    ranked = sorted((cost, index) for index, cost in costs.items() if index not in excluded)
    return [index for _, index in ranked[:count]]


def _neighbour(space: ConfigSpace, index: int, rng: np.random.Generator) -> int:
    """Return a valid choice that differs in one knob, or in some; the same one if none is found."""
    dims = space.dims
    for _ in range(_ATTEMPTS):
        knobs = list(space.point2knob(index))
        for _ in range(int(rng.integers(1, 3))):
            place = int(rng.integers(len(dims)))
            if rng.random() < 0.5:
                knobs[place] = min(max(knobs[place] + int(rng.choice((-1, 1))), 0), dims[place] - 1)
            else:
                knobs[place] = int(rng.integers(dims[place]))
        found = space.knob2point(knobs)
        if found != index and space.is_index_valid(found):
            return found
    return index
