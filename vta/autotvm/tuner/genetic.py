"""A genetic search: choices are chains of places, good ones have children.

Tests: tests/vta/autotvm/tuner/test_genetic.py.
"""

from collections.abc import Sequence

import numpy as np

from vta.autotvm.errors import TuningError
from vta.autotvm.task import Task
from vta.autotvm.tuner.in_order import random_order
from vta.autotvm.tuner.tuner import Tuner

__all__ = ["GATuner"]

_ATTEMPTS = 200
"""Children that are made until one is valid and new; after so many, a random choice takes its place."""

_PREFERENCE = 6
"""How likely a choice becomes a parent: its speed to this power. Most choices differ by a few parts in a hundred."""


class GATuner(Tuner):
    """Keeps ``pop_size`` choices; the next ones are children of two of them, the faster the likelier.

    A child has the first knobs of one parent and the others of the other one; each knob is then drawn anew with
    probability ``mutation_prob``. The ``elite_num`` best of all stay parents.
    """

    def __init__(
        self, task: Task, *, pop_size: int = 32, elite_num: int = 3, mutation_prob: float = 0.1, seed: int = 0
    ) -> None:
        super().__init__(task)
        if not pop_size >= 2 or not 0 <= elite_num <= pop_size:
            raise TuningError(
                f"GATuner: pop_size is 2 or more and elite_num at most that, not {pop_size} and {elite_num}"
            )
        if not 0 <= mutation_prob <= 1:
            raise TuningError(f"GATuner: mutation_prob is 0 to 1, not {mutation_prob}")
        self._size, self._elite, self._mutation = pop_size, elite_num, mutation_prob
        self._rng = np.random.default_rng(seed)
        self._strangers = random_order(task.config_space, np.random.default_rng([seed, 1]))
        self._visited: set[int] = set()
        self._population: list[tuple[float, int]] = []
        self._best: list[tuple[float, int]] = []

    def next_batch(self) -> list[int]:
        """Return the next generation: strangers at first, then children."""
        batch: list[int] = []
        for _ in range(self._size):
            index = self._child() if self._population else self._stranger()
            if index is None:
                break
            self._visited.add(index)
            batch.append(index)
        return batch

    def update(self, indices: Sequence[int], costs: Sequence[float]) -> None:
        """Let the batch and the best so far be the parents of the next one."""
        measured = [(cost, index) for cost, index in zip(costs, indices, strict=True) if cost < float("inf")]
        self._best = sorted([*self._best, *measured])[: self._elite]
        self._population = sorted({*measured, *self._best})

    def _stranger(self) -> int | None:
        return next((index for index in self._strangers if index not in self._visited), None)

    def _child(self) -> int | None:
        space = self.task.config_space
        dims = space.dims
        costs = np.array([cost for cost, _ in self._population])
        speeds = (costs.min() / costs) ** _PREFERENCE
        for _ in range(_ATTEMPTS):
            mother, father = (
                space.point2knob(self._population[number][1])
                for number in self._rng.choice(len(speeds), 2, p=speeds / speeds.sum())
            )
            cut = int(self._rng.integers(len(dims) + 1))
            knobs = [
                int(self._rng.integers(size)) if self._rng.random() < self._mutation else place
                for size, place in zip(dims, (*mother[:cut], *father[cut:]), strict=True)
            ]
            index = space.knob2point(knobs)
            if index not in self._visited and space.is_index_valid(index):
                return index
        return self._stranger()
