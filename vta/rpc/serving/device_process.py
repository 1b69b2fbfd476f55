"""The process of one device, started by a server alone, with a socket, limits of memory and files, and a board if
it is one (its folder, its serial port or nothing) as arguments.

It reads messages from the socket that it was given, does them (``workshop``) and answers, one after the other.
Modules that clients upload are native code and run here, with limits of memory, files and cores dumped, in a process
that has no key, no connection of anybody's, and ends with its server. Tests: tests/vta/rpc/test_server.py.
"""

import ctypes
import gc
import os
import signal
import socket
import sys
from pathlib import Path

from isa.config import VTAConfig
from isa.errors import VTAError
from runtime.drivers.built_board import BuiltBoard
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.wire import MESSAGE_BYTES, READ_BYTES, Frame, Frames, body_of, packed
from vta.rpc.serving.session_maker import BOARD, SessionMaker, Simulator
from vta.rpc.serving.workshop import Workshop

__all__ = ["main"]

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_MOST_FILES_OPEN = 256
_ADDRESSES = 1 << 32
"""What a device reserves of the address space, without taking it."""


class _Process:
    """Answers what arrives on ``link``."""

    def __init__(self, link: socket.socket, memory: int, board: BuiltBoard | None) -> None:
        self._link, self._memory, self._board = link, memory, board
        self._frames = Frames(MESSAGE_BYTES)
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._shop: Workshop | None = None

    def run(self) -> None:
        """Serve until the other end is closed."""
        while (frame := self._next()) is not None:
            self._link.sendall(packed(Frame(frame.number, self._answer(frame.body), b"")))

    def _answer(self, body: bytes) -> bytes:
        try:
            message = Fields.of(body)
            operation = message.text("op", most=64)
            if operation == "open":
                return body_of(self._open(message))
            if operation == "close":
                return body_of(self._close())
            assert self._shop is not None
            return body_of(self._shop.do(message))
        except VTAError as error:
            return body_of({"error": type(error).__name__, "text": str(error)[:4096]})
        except MemoryError:
            gc.collect()
            return body_of({"error": "MemoryError", "text": f"the session may take {self._memory} bytes of memory"})
        except Exception as error:  # a mistake of ours: told as such, and the process goes on
            return body_of({"error": "InternalError", "text": f"{type(error).__name__}: {error}"[:4096]})

    def _open(self, message: Fields) -> dict[str, object]:
        """Begin a session with nothing in it."""
        self._close()
        config = VTAConfig.from_dict(message.mapping("config"), where="configuration")
        folder = Path(message.text("folder"))
        os.chdir(folder)
        _limit_memory(None)
        self._shop = Workshop(config, self._maker(message.text("target")), folder)
        _limit_memory(self._memory)
        return {}

    def _close(self) -> dict[str, object]:
        """End the session, if there is one, and give back its device and memory."""
        before, self._shop = self._shop, None
        if before is not None:
            before.close()
        del before
        gc.collect()
        return {}

    def _maker(self, target: str) -> SessionMaker:
        if target == BOARD:
            assert self._board is not None
            return self._board
        return Simulator(target, min(self._memory, _ADDRESSES))

    def _next(self) -> Frame | None:
        while (frame := self._frames.next()) is None:
            count = self._link.recv_into(self._buffer)
            if not count:
                return None
            self._frames.feed(self._buffer[:count])
        return frame


def _limit_memory(more: int | None) -> None:
    """Let the address space grow by ``more`` bytes and no further; None takes the limit away."""
    import resource  # POSIX alone, as servers are

    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if more is None:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        return
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return  # no such count on this system; the device's own memory is bounded all the same
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, hard))


def _confine(file_bytes: int) -> None:
    """Set the limits that last, and end with the server."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MOST_FILES_OPEN, _MOST_FILES_OPEN))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when it ends
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def main(words: list[str]) -> None:
    """Serve the socket that the arguments name."""
    descriptor, memory, file_bytes = map(int, words[:3])
    board = BuiltBoard(Path(words[3]), words[4] or None) if words[3:] else None
    _confine(file_bytes)
    _Process(socket.socket(fileno=descriptor), memory, board).run()


if __name__ == "__main__":
    main(sys.argv[1:])
