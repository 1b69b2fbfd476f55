"""Choices of the library's templates are built and run side by side, in processes of their own.

A process that dies or takes too long costs its candidate alone, which is recorded as an error.
Tests: tests/vta/autotvm/measure/test_pool.py.
"""

import functools
import threading
import time
from dataclasses import dataclass
from queue import SimpleQueue

from vta.autotvm.measure.inputs import MeasureErrorNo, MeasureResult
from vta.autotvm.measure.local import Built, LocalBuilder, LocalRunner
from vta.autotvm.space import ConfigEntity
from vta.autotvm.task import Task, create
from vta.autotvm.workload import Value
from vta.environment import Environment
from vta.worker_process import EndedError, LateError, WorkerProcess

__all__ = ["Pool", "Request", "measure_here"]


@dataclass(frozen=True, slots=True)
class Request:
    """A choice of a task of the library, and how it is measured: all that a process needs."""

    env: Environment
    workload: tuple[Value, ...]
    config: ConfigEntity
    clock_mhz: float
    seed: int

    @staticmethod
    def of(task: Task, config: ConfigEntity, runner: LocalRunner) -> "Request":
        """Return what is asked for ``config`` to be measured as ``runner`` would."""
        return Request(task.env, task.workload, config, runner.clock_mhz, runner.seed)


class Pool:
    """``workers`` processes, started when they are first needed; ``close`` ends them."""

    def __init__(self, workers: int, *, build_seconds: float, run_seconds: float) -> None:
        self._seconds = (build_seconds, run_seconds)
        self._lock = threading.Lock()
        self._closed = False
        self._alive: set[WorkerProcess] = set()
        self._idle: SimpleQueue[WorkerProcess | None] = SimpleQueue()
        for _ in range(workers):
            self._idle.put(None)

    def measure(self, request: Request) -> MeasureResult:
        """Return what one of the processes measured, once it is free; threads may call this side by side."""
        worker = self._idle.get() or self._start()
        phase = MeasureErrorNo.BUILD_TIMEOUT
        try:
            failed = worker.ask(_build, request, seconds=self._seconds[0])
            if failed is not None:
                return failed
            phase = MeasureErrorNo.RUN_TIMEOUT
            return worker.ask(_run, request, seconds=self._seconds[1])
        except LateError:
            what, seconds = self._named(phase)
            return MeasureResult((), phase, f"it took longer than {seconds:g} s to {what}", timestamp=time.time())
        except EndedError:
            what, _ = self._named(phase)
            text = f"the process that was to {what} it ended with exit code {worker.exit_code}"
            return MeasureResult((), MeasureErrorNo.UNKNOWN_ERROR, text, timestamp=time.time())
        finally:
            self._give_back(worker)

    def _named(self, phase: MeasureErrorNo) -> tuple[str, float]:
        return ("build", self._seconds[0]) if phase is MeasureErrorNo.BUILD_TIMEOUT else ("run", self._seconds[1])

    def _start(self) -> WorkerProcess:
        worker = WorkerProcess()
        with self._lock:
            self._alive.add(worker)
            closed = self._closed
        if closed:
            worker.end(patience=0)
        return worker

    def _give_back(self, worker: WorkerProcess) -> None:
        gone = worker.exit_code is not None
        if gone:
            worker.end(patience=0)
            with self._lock:
                self._alive.discard(worker)
        self._idle.put(None if gone else worker)

    def close(self) -> None:
        """End the processes, also those that are at work."""
        with self._lock:
            self._closed = True
            workers, self._alive = self._alive, set()
        for worker in workers:
            worker.end(patience=0)


def measure_here(request: Request) -> MeasureResult:
    """Return what is measured in this process."""
    failed = _build(request)
    return _run(request) if failed is None else failed


def _build(request: Request) -> MeasureResult | None:
    """Build a choice in a worker, where it is kept for ``_run``; return the error that there was."""
    built = _built(request)
    return built if isinstance(built, MeasureResult) else None


def _run(request: Request) -> MeasureResult:
    """Run a choice in a worker that has built it."""
    built = _built(request)
    return built if isinstance(built, MeasureResult) else _runner(request.clock_mhz, request.seed).run(built)


@functools.lru_cache(maxsize=1)
def _built(request: Request) -> Built | MeasureResult:
    return LocalBuilder().build(_task(request.env, request.workload), request.config)


@functools.lru_cache(maxsize=1)
def _task(env: Environment, workload: tuple[Value, ...]) -> Task:
    name, *arguments = workload
    return create(str(name), arguments, env=env)


@functools.lru_cache(maxsize=1)
def _runner(clock_mhz: float, seed: int) -> LocalRunner:
    return LocalRunner(clock_mhz=clock_mhz, seed=seed)
