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

from vta.autotvm.errors import TuningError
from vta.autotvm.library import TEMPLATES
from vta.autotvm.measure.elsewhere import measured_by
from vta.autotvm.measure.inputs import MeasureResult
from vta.autotvm.measure.local import LocalBuilder, LocalRunner, Runner
from vta.autotvm.measure.pool import Pool, Request
from vta.autotvm.measure.remote import RPCRunner
from vta.autotvm.space import ConfigEntity
from vta.autotvm.task import Task
from vta.cluster import Cluster

__all__ = ["MeasureOption", "Measuring", "measure_option"]

Measure = Callable[[ConfigEntity], MeasureResult]


@dataclass(frozen=True, slots=True)
class MeasureOption:
    """How a tuner measures; ``scheduler`` is the address of a dask cluster whose workers do it."""

    builder: LocalBuilder
    runner: Runner
    scheduler: str | None = None

    def measure(self, task: Task, config: ConfigEntity) -> MeasureResult:
        """Return the cost of a choice, or the error that there was; done in this process."""
        built = self.builder.build(task, config)
        return built if isinstance(built, MeasureResult) else self.runner.run(built)

    def measuring(self) -> "Measuring":
        """Return what measures many choices; its processes live as long as ``with`` does."""
        return Measuring(self)


def measure_option(builder: LocalBuilder, runner: Runner, *, scheduler: str | None = None) -> MeasureOption:
    """Return how a tuner measures: what builds choices, and what runs them.

    With ``scheduler`` (``tcp://HOST:PORT``), the workers of that dask cluster build and run them, as many at a time as
    they have threads; records are the same. Raises ``TuningError`` for a runner that asks devices of a farm besides.
    """
    if scheduler is not None and not isinstance(runner, LocalRunner):
        raise TuningError(f"measure_option: workers of {scheduler} measure by LocalRunner, not {type(runner).__name__}")
    return MeasureOption(builder, runner, scheduler)


class Measuring:
    """Measures choices side by side; what is asked for together comes in that order, whoever is done first.

    The library's templates are built and run in processes of their own, if the runner is one of this computer. A
    template of a script is built in this process, because no other one knows it; a cluster cannot measure it.
    """

    def __init__(self, option: MeasureOption) -> None:
        self._option = option
        asked = option.builder.n_parallel
        self._workers = _processors() if asked is None else asked
        self._pool: Pool | None = None
        self._cluster: Cluster | None = None
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
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def results(self, task: Task, configs: Sequence[ConfigEntity]) -> Generator[MeasureResult, None, None]:
        """Yield the result of each choice, in their order."""
        option = self._option
        local = isinstance(option.runner, LocalRunner)
        if not configs:
            return
        if task.on_cpu and not (local and option.scheduler is None):
            raise TuningError(f"{task!r}: choices for the CPU are measured on this one; give it a LocalRunner")
        if option.scheduler is not None and isinstance(option.runner, LocalRunner):
            measure, workers = self._in_cluster(task, option.runner, option.scheduler)
        elif self._workers == 0 or (local and task.name not in TEMPLATES):
            for config in configs:
                yield option.measure(task, config)
            return
        elif isinstance(option.runner, LocalRunner):
            measure, workers = self._in_process(task, option.runner), self._workers
        else:
            measure, workers = self._here(task), self._workers
        with ThreadPoolExecutor(workers) as threads:
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

    def _in_cluster(self, task: Task, runner: LocalRunner, scheduler: str) -> tuple[Measure, int]:
        """Return what measures by the cluster's workers, and how many at a time."""
        if task.name not in TEMPLATES:
            raise TuningError(
                f"{task.name}: the workers of {scheduler} do not know this template of a script; measure it without a "
                "scheduler"
            )
        if self._cluster is None:
            self._cluster = Cluster(scheduler)
        return measured_by(self._cluster, task, self._option.builder, runner), len(self._cluster)

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
