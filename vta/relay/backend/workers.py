"""Processes of our own that compile layers side by side. Tests: tests/vta/relay/backend/test_workers.py."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

from isa.errors import VTAError
from vta.worker_process import EndedError, WorkerProcess

__all__ = ["WorkerError", "in_workers"]

_Q = TypeVar("_Q")
_A = TypeVar("_A")


class WorkerError(VTAError, RuntimeError):
    """A worker ended before its work was done."""


def in_workers(function: Callable[[_Q], _A], requests: Sequence[_Q], jobs: int) -> Iterator[_A]:
    """Yield ``function`` of every request, in their order; ``jobs`` processes work at a time.

    ``function`` is importable by its module and name. Raises ``WorkerError`` if a process dies.
    """
    with contextlib.ExitStack() as stack:
        workers: SimpleQueue[WorkerProcess] = SimpleQueue()
        for _ in range(min(jobs, len(requests))):
            worker = WorkerProcess()
            stack.callback(worker.end)
            workers.put(worker)

        def answered(request: _Q) -> _A:
            worker = workers.get()
            try:
                return worker.ask(function, request)
            except EndedError:
                raise WorkerError(
                    f"a process that compiles layers ended with exit code {worker.exit_code}; compile with jobs=1 to "
                    "see why"
                ) from None
            finally:
                workers.put(worker)

        pool = stack.enter_context(ThreadPoolExecutor(workers.qsize() or 1))
        stack.callback(lambda: pool.shutdown(cancel_futures=True))
        yield from pool.map(answered, requests)
