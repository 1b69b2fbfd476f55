"""How a tuner measures: what builds choices, what runs them, how many side by side.

Tests: tests/vta/autotvm/measure/test_option.py.
"""

import os
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from vta.autotvm.library import TEMPLATES
from vta.autotvm.measure.inputs import MeasureResult
from vta.autotvm.measure.local import LocalBuilder, LocalRunner, Runner
from vta.autotvm.measure.pool import Pool, Request
from vta.autotvm.measure.remote import RPCRunner
from vta.autotvm.space import ConfigEntity
from vta.autotvm.task import Task

__all__ = ["MeasureOption", "Measuring", "measure_option"]

Measure = Callable[[ConfigEntity], MeasureResult]


@dataclass(frozen=True, slots=True)
class MeasureOption:
    """How a tuner measures."""

    builder: LocalBuilder
    runner: Runner

    def measure(self, task: Task, config: ConfigEntity) -> MeasureResult:
        """Return the cost of a choice, or the error that there was; done in this process."""
        built = self.builder.build(task, config)
        return built if isinstance(built, MeasureResult) else self.runner.run(built)

    def measuring(self) -> "Measuring":
        """Return what measures many choices; its processes live as long as ``with`` does."""
        return Measuring(self)


def measure_option(builder: LocalBuilder, runner: Runner) -> MeasureOption:
    """Return how a tuner measures: what builds choices, and what runs them."""
    return MeasureOption(builder, runner)


class Measuring:
    """Measures choices side by side; what is asked for together comes in that order, whoever is done first.

    The library's templates are built and run in processes of their own, if the runner is one of this computer. A
    template of a script is built in this process, because no other one knows it.
    """

    def __init__(self, option: MeasureOption) -> None:
        self._option = option
        asked = option.builder.n_parallel
        self._workers = _processors() if asked is None else asked
        self._pool: Pool | None = None
        self._building = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, whatever they are at, and give back the devices: others may be waiting for them."""
        if isinstance(self._option.runner, RPCRunner):
            self._option.runner.close()
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def results(self, task: Task, configs: Sequence[ConfigEntity]) -> Generator[MeasureResult, None, None]:
        """Yield the result of each choice, in their order."""
        option = self._option
        local = isinstance(option.runner, LocalRunner)
        if not configs:
            return
        if self._workers == 0 or (local and task.name not in TEMPLATES):
            for config in configs:
                yield option.measure(task, config)
            return
        measure = self._in_process(task, option.runner) if isinstance(option.runner, LocalRunner) else self._here(task)
        with ThreadPoolExecutor(self._workers) as threads:
            futures = [threads.submit(measure, config) for config in configs]
            try:
                for future in futures:
                    yield future.result()
            except BaseException:  # also of who does not want the other results
                threads.shutdown(wait=False, cancel_futures=True)
                self.close()
                raise

    def _in_process(self, task: Task, runner: LocalRunner) -> Measure:
        if self._pool is None:
            builder = self._option.builder
            self._pool = Pool(self._workers, build_seconds=builder.timeout, run_seconds=runner.timeout)
        pool = self._pool
        return lambda config: pool.measure(Request.of(task, config, runner))

    def _here(self, task: Task) -> Measure:
        """Return what builds choices here, one at a time, and waits for devices elsewhere, for many at a time."""

        def measure(config: ConfigEntity) -> MeasureResult:
            with self._building:
                built = self._option.builder.build(task, config)
            return built if isinstance(built, MeasureResult) else self._option.runner.run(built)

        return measure


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
