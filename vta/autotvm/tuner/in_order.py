"""Tuners that learn nothing: all choices in order, or in a random one.

Tests: tests/vta/autotvm/tuner/test_in_order.py.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from vta.autotvm.space import ConfigSpace
from vta.autotvm.task import Task
from vta.autotvm.tuner.tuner import Tuner

__all__ = ["GridSearchTuner", "RandomTuner", "random_order"]

_TOGETHER = 32
"""Choices that may be measured side by side."""

_SHUFFLED = 1 << 20
"""Choices of the largest space whose numbers are shuffled in memory."""


class GridSearchTuner(Tuner):
    """Tries all valid choices in the order of their numbers."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._order = task.config_space.valid_indices()

    def next_batch(self) -> list[int]:
        """Return the next choices."""
        return list(itertools.islice(self._order, _TOGETHER))


class RandomTuner(Tuner):
    """Tries valid choices in a random order, each once."""

    def __init__(self, task: Task, *, seed: int = 0) -> None:
        super().__init__(task)
        self._order = random_order(task.config_space, np.random.default_rng(seed))

    def next_batch(self) -> list[int]:
        """Return the next choices."""
        return list(itertools.islice(self._order, _TOGETHER))


def random_order(space: ConfigSpace, rng: np.random.Generator) -> Iterator[int]:
    """Yield the numbers of all valid choices, each once, in a random order.

    Of a space that is too large to be shuffled, ``i`` is followed by ``i + a`` modulo its size, with ``a`` prime to it.
    """
    size = len(space)
    if size <= _SHUFFLED:
        yield from (int(index) for index in rng.permutation(size) if space.is_index_valid(int(index)))
        return
    first, step = (int(rng.integers(1, size)) for _ in range(2))
    while math.gcd(step, size) != 1:
        step += 1
    for position in range(size):
        index = (first + step * position) % size
        if space.is_index_valid(index):
            yield index
