"""A definition whose schedule is searched: ``SearchTask``, with the auto-scheduler's names.

Tests: tests/vta/auto_scheduler/test_search_task.py.
"""

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vta import te
from vta.auto_scheduler.definition import Definition, DefinitionError
from vta.autotvm.callback import log_to_file
from vta.autotvm.history import best_of
from vta.autotvm.made import Made, Template
from vta.autotvm.measure.inputs import sizes_of
from vta.autotvm.measure.local import LocalBuilder, LocalRunner
from vta.autotvm.measure.option import measure_option
from vta.autotvm.space import ConfigEntity, ConfigSpace, OtherOptionEntity
from vta.autotvm.space.entities import json_of
from vta.autotvm.task import Task
from vta.autotvm.tuner.annealing import best_scored
from vta.autotvm.tuner.features import Features
from vta.autotvm.tuner.in_order import random_order
from vta.autotvm.tuner.tuner import Callback, Tuner
from vta.autotvm.workload import serialised
from vta.environment import Environment, get_env
from vta.topi.tiling import Price

__all__ = ["RecordToFile", "SearchTask", "TuningOptions", "register_workload"]

Workload = Callable[..., Sequence[te.Tensor]]
"""Returns the tensors of a computation: inputs in the order of the function's arguments, the result last."""

_CHAINS = 48
_TOGETHER = 8


def register_workload(func: Workload) -> Workload:
    """Return ``func``: a task takes the function itself, so nothing has to be kept."""
    return func


@dataclass(frozen=True, slots=True)
class RecordToFile:
    """Adds a record to a log for each measurement."""

    filename: str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class TuningOptions:
    """How a task is tuned: ``num_measure_trials`` schedules are measured, and told to ``measure_callbacks``."""

    num_measure_trials: int = 16
    measure_callbacks: Sequence[RecordToFile | Callback] = ()
    builder: LocalBuilder = field(default_factory=LocalBuilder)
    runner: LocalRunner = field(default_factory=LocalRunner)
    seed: int = 0


class SearchTask:
    """A computation for the accelerator of an environment; raises ``DefinitionError`` for what has no schedule."""

    def __init__(self, func: Workload, args: Sequence[object] = (), *, env: Environment | None = None) -> None:
        self.env = env or get_env()
        self._func, self._args = func, tuple(args)
        self._definition = Definition.of(self.tensors()[-1], self.env)
        space = ConfigSpace()
        self._definition.choices.knobs(space)
        choices = self._definition.choices
        space.multi_filter(lambda config: choices.allows(choices.tiles(config)))
        name = f"auto_scheduler.{func.__module__}.{func.__qualname__}"
        template = Template(name, lambda *_: None, self._make, None, lambda *_: self._price)
        arguments = tuple(serialised(argument) for argument in self._args)
        self.task = Task(template, arguments, self.env.target, self.env, space)

    def tensors(self) -> list[te.Tensor]:
        """Return the tensors of the computation, new ones every time."""
        with self.env:
            return list(self._func(*self._args))

    def tune(self, options: TuningOptions) -> None:
        """Measure the schedules that the analytic model thinks best; what a log has is not measured again."""
        logs = [each.filename for each in options.measure_callbacks if isinstance(each, RecordToFile)]
        callbacks = [
            log_to_file(each.filename) if isinstance(each, RecordToFile) else each for each in options.measure_callbacks
        ]
        _Ranked(self.task, options.seed, self._definition.first).tune(
            options.num_measure_trials,
            measure_option(options.builder, options.runner),
            callbacks=callbacks,
            resume=logs[0] if logs else None,
        )

    def apply_best(self, log_file: str | os.PathLike[str]) -> Made:
        """Return the schedule of the fastest record of this task, and its tensors; raises ``DefinitionError``."""
        return self.task.instantiate(self._best(log_file))

    def print_best(self, log_file: str | os.PathLike[str]) -> str:
        """Return what the fastest record of this task chose, a line each."""
        values = self._best(log_file).values
        return "\n".join(f"{name} = {json_of(value)[1]}" for name, value in values.items())

    def _best(self, log_file: str | os.PathLike[str]) -> ConfigEntity:
        wanted = self.task.input(self.task.config_space.get(0))
        best = best_of(log_file).get((sizes_of(wanted.target), wanted.hardware, wanted.workload))
        if best is None:
            raise DefinitionError(f"{os.fspath(log_file)}: it has no record of {self.task.name}; tune the task first")
        return best[0].config

    def _make(self, config: ConfigEntity, *_: object) -> Made:
        *inputs, result = self.tensors()
        schedule, made = self._definition.schedule(result, self._definition.choices.tiles(config))
        return schedule, [*inputs, made]

    def _price(self, config: ConfigEntity) -> Price:
        return self._definition.choices.price(self._definition.choices.tiles(config))


class _Ranked(Tuner):
    """Measures what the analytic model thinks best, the best first: of ``first`` all, then what annealing finds."""

    def __init__(self, task: Task, seed: int, first: Callable[[], Sequence[Mapping[str, int | str]]]) -> None:
        super().__init__(task)
        self._rng = np.random.default_rng(seed)
        self._features = Features(task)
        self._visited: set[int] = set()
        self._first = first
        self._waiting: list[int] | None = None

    def next_batch(self) -> list[int]:
        """Return the next ones of all that were seen."""
        if self._waiting is None:
            self._waiting = [self._index(values) for values in self._first()]
        batch, self._waiting = self._waiting[:_TOGETHER], self._waiting[_TOGETHER:]
        batch = batch or self._annealed()
        self._visited.update(batch)
        return batch

    def _index(self, values: Mapping[str, int | str]) -> int:
        return self.task.config_space.index_of(
            ConfigEntity(None, {name: OtherOptionEntity(value) for name, value in values.items()})
        )

    def _annealed(self) -> list[int]:
        starts: Iterable[int] = random_order(self.task.config_space, self._rng)
        return best_scored(
            self.task.config_space,
            lambda indices: self._features.priors(indices),
            _TOGETHER,
            self._rng,
            starts=list(itertools.islice(starts, _CHAINS)),
            excluded=self._visited,
        )
