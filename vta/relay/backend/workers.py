"""Processes of our own that compile layers side by side.

A worker is started isolated and is told where this toolchain and what it needs lie; a user's script is not run again in
it, as the workers of ``multiprocessing`` would. Requests and answers are pickles between processes of one program:
nothing of a file's is unpickled. Tests: tests/vta/relay/backend/test_workers.py.
"""

import contextlib
import pickle
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TypeVar, cast

from isa.errors import VTAError

__all__ = ["WorkerError", "in_workers", "serve"]


class _EndedError(VTAError):
    """The other side of a pipe has closed it."""


_Q = TypeVar("_Q")
_A = TypeVar("_A")
_LENGTH = struct.Struct("<Q")
_BOOT = "import sys; sys.path[:0] = sys.argv[1:]; from vta.relay.backend.workers import serve; serve()"


class WorkerError(VTAError, RuntimeError):
    """A worker ended before its work was done."""


def in_workers(function: Callable[[_Q], _A], requests: Sequence[_Q], jobs: int) -> Iterator[_A]:
    """Yield ``function`` of every request, in their order; ``jobs`` processes work at a time.

    ``function`` is importable by its module and name. Raises ``WorkerError`` if a process dies.
    """
    with contextlib.ExitStack() as stack:
        workers: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for _ in range(min(jobs, len(requests))):
            worker = _started()
            stack.callback(_ended, worker)
            workers.put(worker)

        def answered(request: _Q) -> _A:
            worker = workers.get()
            try:
                return _asked(worker, function, request)
            finally:
                workers.put(worker)

        pool = stack.enter_context(ThreadPoolExecutor(workers.qsize() or 1))
        stack.callback(lambda: pool.shutdown(cancel_futures=True))
        yield from pool.map(answered, requests)


def _started() -> subprocess.Popen[bytes]:
    """Start a worker that finds modules where this process does, but not in the working directory."""
    here = Path.cwd()
    places = [
        str(Path(place).resolve()) for place in sys.path if place and Path(place).exists() and Path(place) != here
    ]
    ours = str(Path(__file__).resolve().parents[3])
    command = [sys.executable, "-I", "-c", _BOOT, ours, *dict.fromkeys(places)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _ended(worker: subprocess.Popen[bytes]) -> None:
    assert worker.stdin is not None
    with contextlib.suppress(OSError):
        worker.stdin.close()
    try:
        worker.wait(timeout=0.5 if worker.poll() is None else None)
    except subprocess.TimeoutExpired:  # it is still at work that nobody waits for any more
        worker.kill()
        worker.wait()
    assert worker.stdout is not None
    worker.stdout.close()


def _asked(worker: subprocess.Popen[bytes], function: Callable[[_Q], _A], request: _Q) -> _A:
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        _send(worker.stdin, (function, request))
        answer: _A = _receive(worker.stdout)  # type: ignore[assignment]  # what the function returned
    except (OSError, _EndedError):
        raise WorkerError(
            f"a process that compiles layers ended with exit code {worker.wait()}; compile with jobs=1 to see why"
        ) from None
    return answer


def serve() -> None:
    """Answer requests until there are no more: what a worker does. What is printed meanwhile goes to stderr."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    while True:
        try:
            asked = _receive(requests)
        except _EndedError:
            return
        function, request = cast("tuple[Callable[[object], object], object]", asked)
        _send(answers, function(request))


def _send(pipe: IO[bytes], value: object) -> None:
    data = pickle.dumps(value)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> object:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise _EndedError
    [length] = _LENGTH.unpack(head)
    data = pipe.read(length)
    if len(data) < length:
        raise _EndedError
    return pickle.loads(data)
