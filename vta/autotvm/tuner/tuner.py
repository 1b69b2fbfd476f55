"""What all tuners share: choices are measured one after the other, none twice, and results of a log are taken from it.

Tests: tests/vta/autotvm/tuner/test_tuner.py.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from vta.autotvm.errors import TuningError
from vta.autotvm.measure.inputs import MeasureInput, MeasureResult
from vta.autotvm.measure.option import MeasureOption
from vta.autotvm.record import load_from_file
from vta.autotvm.space import ConfigEntity, SpaceError
from vta.autotvm.task import Task

__all__ = ["Callback", "Tuner"]


class Tuner(ABC):
    """A search for the fastest choice of ``task``: ``tune``, then ``best_config`` and ``best_cost``."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.best_config: ConfigEntity | None = None
        self.best_cost = float("inf")
        self.n_trial = 0
        """Choices that ``tune`` is to try."""
        self.tried = 0

    @abstractmethod
    def next_batch(self) -> list[int]:
        """Return the numbers of choices to measure next, valid and new ones; none if there are no more."""

    def update(self, indices: Sequence[int], costs: Sequence[float]) -> None:  # noqa: B027  # not all tuners learn
        """Learn what a batch took; infinite for what failed."""

    def load_history(self, records: Iterable[tuple[MeasureInput, MeasureResult]]) -> None:  # noqa: B027  # not all learn
        """Learn what other tasks of the same template took, before ``tune``; searches that learn nothing ignore it."""

    def tune(
        self,
        n_trial: int,
        measure_option: MeasureOption,
        *,
        early_stopping: int | None = None,
        callbacks: Sequence["Callback"] = (),
        resume: str | os.PathLike[str] | None = None,
    ) -> None:
        """Try ``n_trial`` choices, or all there are; stop when ``early_stopping`` of them bring nothing better.

        What the log ``resume`` has of this task is not measured again: a search with the same seed does what it did,
        and goes on where it was killed. Each result is told to ``callbacks`` as soon as it is there.
        """
        for name, value in (("n_trial", n_trial), ("early_stopping", early_stopping)):
            if value is not None and value < 1:
                raise TuningError(f"tune: {name} is 1 or more, not {value}")
        known = {} if resume is None else _known(self.task, resume)
        self.n_trial, best_at = n_trial, 0
        self.tried = 0
        with measure_option.measuring() as measuring:
            while self.tried < n_trial:
                batch = self.next_batch()[: n_trial - self.tried]
                if not batch:
                    return
                costs: list[float] = []
                unknown = [self.task.config_space.get(index) for index in batch if index not in known]
                measured = measuring.results(self.task, unknown)
                for index in batch:
                    costs.append(self._try(index, known, measured, callbacks))
                    if costs[-1] == self.best_cost and self.best_config == self.task.config_space.get(index):
                        best_at = self.tried
                    if early_stopping is not None and self.tried - best_at >= early_stopping:
                        measured.close()
                        return
                self.update(batch, costs)

    def _try(
        self,
        index: int,
        known: Mapping[int, MeasureResult],
        measured: Iterator[MeasureResult],
        callbacks: Sequence["Callback"],
    ) -> float:
        """Take the result of one choice, of the log if that has it; return its cost."""
        config = self.task.config_space.get(index)
        result = known[index] if index in known else next(measured)
        self.tried += 1
        if result.cost < self.best_cost:
            self.best_cost, self.best_config = result.cost, config
        for callback in callbacks:
            callback(self, [self.task.input(config)], [result])
        return result.cost


Callback = Callable[[Tuner, Sequence[MeasureInput], Sequence[MeasureResult]], None]
"""Told of results as they come."""


def _known(task: Task, log: str | os.PathLike[str]) -> dict[int, MeasureResult]:
    """Return the results that ``log``, which may not be there yet, has of ``task``."""
    found: dict[int, MeasureResult] = {}
    if not Path(log).exists():
        return found
    expected = task.input(task.config_space.get(0))
    for given, result in load_from_file(log):
        if (given.workload, given.hardware) != (expected.workload, expected.hardware):
            continue
        try:
            found.setdefault(task.config_space.index_of(given.config), result)
        except SpaceError:
            continue  # of another version of the template, whose choices these are not
    return found
