"""Choices measured by the workers of a cluster, each in a process of its own there, as a pool of this computer would.

Tests: tests/vta/autotvm/measure/test_elsewhere.py.
"""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

from vta.autotvm.measure.inputs import MeasureErrorNo, MeasureResult
from vta.autotvm.measure.local import LocalBuilder, LocalRunner
from vta.autotvm.measure.pool import Pool, Request
from vta.autotvm.space import ConfigEntity
from vta.autotvm.task import Task
from vta.cluster import Cluster, DeadWorkersError

__all__ = ["measured_by"]

_PROCESSES = 64
"""Processes that a worker may have at most; it starts one for each of its threads when they are needed."""


@dataclass(frozen=True, slots=True)
class _Asked:
    request: Request
    build_seconds: float
    run_seconds: float


def measured_by(
    cluster: Cluster, task: Task, builder: LocalBuilder, runner: LocalRunner
) -> Callable[[ConfigEntity], MeasureResult]:
    """Return what measures a choice of ``task`` there; the time limits are those of ``builder`` and ``runner``."""

    def measure(config: ConfigEntity) -> MeasureResult:
        asked = _Asked(Request.of(task, config, runner), builder.timeout, runner.timeout)
        try:
            return cluster.ask(_measured, asked)
        except DeadWorkersError as error:
            return MeasureResult((), MeasureErrorNo.UNKNOWN_ERROR, str(error), timestamp=time.time())

    return measure


def _measured(asked: _Asked) -> MeasureResult:
    return _pool(asked.build_seconds, asked.run_seconds).measure(asked.request)


@functools.cache
def _pool(build_seconds: float, run_seconds: float) -> Pool:
    return Pool(_PROCESSES, build_seconds=build_seconds, run_seconds=run_seconds)
