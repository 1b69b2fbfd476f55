"""A process of our own that is asked one thing after the other.

It is started isolated and is told where this toolchain and what it needs lie; a user's script is not run again in it,
as the workers of ``multiprocessing`` would. Requests and answers are pickles between processes of one program: nothing
of a file's is unpickled. Tests: tests/vta/front/test_worker_process.py.
"""

import contextlib
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar, cast

from isa.errors import VTAError

__all__ = ["EndedError", "LateError", "WorkerProcess", "serve"]


class EndedError(VTAError, RuntimeError):
    """A process ended before it answered."""


class LateError(EndedError):
    """A process took too long, and was ended."""


class _ClosedError(VTAError):
    """The other side of a pipe has closed it."""


_Q = TypeVar("_Q")
_A = TypeVar("_A")
_LENGTH = struct.Struct("<Q")
_BOOT = "import sys; sys.path[:0] = sys.argv[1:]; from vta.worker_process import serve; serve()"


class WorkerProcess:
    """A process that finds modules where this one does, but not in the working directory.

    Interrupts of the terminal are for this process alone, which ends the other one by ``end``.
    """

    def __init__(self) -> None:
        here = Path.cwd()
        places = [
            str(Path(place).resolve()) for place in sys.path if place and Path(place).exists() and Path(place) != here
        ]
        ours = str(Path(__file__).resolve().parents[1])
        command = [sys.executable, "-I", "-c", _BOOT, ours, *dict.fromkeys(places)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended, None while it is there."""
        return self._process.poll()

    def ask(self, function: Callable[[_Q], _A], request: _Q, *, seconds: float | None = None) -> _A:
        """Return ``function(request)``, done there; ``function`` is importable by its module and name.

        Raises ``EndedError`` if the process dies, and ``LateError`` after so many ``seconds``, when it is ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = threading.Event()

        def kill() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(seconds, kill) if seconds is not None else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            _send(self._process.stdin, (function, request))
            answer: _A = _receive(self._process.stdout)  # type: ignore[assignment]  # what the function returned
        except (OSError, ValueError, _ClosedError):  # ValueError: of a pipe that ``end`` closed
            code = self._process.wait()
            if late.is_set():
                raise LateError(f"it took longer than {seconds:g} s") from None
            raise EndedError(f"the process ended with exit code {code}") from None
        finally:
            if timer is not None:
                timer.cancel()
        return answer

    def end(self, *, patience: float = 0.5) -> None:
        """End the process: it is given ``patience`` seconds, if it is idle it needs none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if patience:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=patience if self._process.poll() is None else None)
        if self._process.poll() is None:  # it is still at work that nobody waits for any more
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()


def serve() -> None:
    """Answer requests until there are no more: what a worker does. What is printed meanwhile goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    while True:
        try:
            asked = _receive(requests)
        except _ClosedError:
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
        raise _ClosedError
    [length] = _LENGTH.unpack(head)
    data = pipe.read(length)
    if len(data) < length:
        raise _ClosedError
    return pickle.loads(data)
