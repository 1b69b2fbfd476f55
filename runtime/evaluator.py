"""Timing a function as TVM's ``time_evaluator`` does.

Tests: tests/runtime/test_evaluator.py.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from isa.errors import VTAError

__all__ = ["BenchmarkResult", "Evaluator", "TimingError"]


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """Seconds for one call, from each repetition."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        """Their median."""
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        """The shortest."""
        return min(self.results)

    @property
    def max(self) -> float:
        """The longest."""
        return max(self.results)

    @property
    def std(self) -> float:
        """Their standard deviation, 0 for a single one."""
        return statistics.pstdev(self.results)


class TimingError(VTAError, ValueError):
    """A measurement that would call nothing."""


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Calls ``function`` once to warm up, then ``number`` times in a row, ``repeat`` times over.

    A row that takes less than ``min_repeat_ms`` is repeated with more calls.
    """

    function: Callable[..., object]
    number: int
    repeat: int
    min_repeat_ms: float

    def __post_init__(self) -> None:
        if self.number < 1 or self.repeat < 1:
            raise TimingError(f"number and repeat are at least 1, not {self.number} and {self.repeat}")

    def __call__(self, *arguments: object) -> BenchmarkResult:
        """Return the seconds for one call."""
        self.function(*arguments)
        return BenchmarkResult(tuple(self._row(arguments) for _ in range(self.repeat)))

    def _row(self, arguments: tuple[object, ...]) -> float:
        number = self.number
        while True:
            begin = time.perf_counter()
            for _ in range(number):
                self.function(*arguments)
            elapsed = time.perf_counter() - begin
            if elapsed * 1000 >= self.min_repeat_ms:
                return elapsed / number
            number *= 2
