"""A server's end of a device's process: starting it, asking it, ending it.

Tests: tests/vta/rpc/test_server.py.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from isa.config import VTAConfig
from runtime.drivers.built_board import BuiltBoard
from vta.rpc.errors import LostError, RemoteError
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.wire import MESSAGE_BYTES, READ_BYTES, Frame, Frames, WireError, body_of, packed

__all__ = ["DeviceLink"]

_START_SECONDS = 60.0
_CLOSE_SECONDS = 5.0
_FATE_SECONDS = 2.0


class DeviceLink:
    """A device's process. ``ask`` passes a message on and returns the answer."""

    def __init__(self, memory: int, file_bytes: int, board: BuiltBoard | None = None) -> None:
        place = [] if board is None else [str(board.folder.resolve()), board.serial or ""]
        mine, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-m",
                    "vta.rpc.serving.device_process",
                    str(theirs.fileno()),
                    str(memory),
                    str(file_bytes),
                    *place,
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=_environment(),
            )
        self._socket = mine
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._frames = Frames(MESSAGE_BYTES)
        self._number = 0
        self.used = False
        """Whether native code of a client was loaded, or something is wrong: nobody else may have the process."""

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    async def open(self, config: VTAConfig, target: str, folder: Path) -> None:
        """Begin a session; raises ``RemoteError`` if the device cannot be made."""
        message = {"op": "open", "config": config.to_dict(), "target": target, "folder": str(folder)}
        answer = Fields.of(await self.ask(body_of(message), seconds=_START_SECONDS))
        if answer.has("error"):
            raise RemoteError(f"the device cannot be made: {answer.text('text')}", answer.text("error"))

    async def close(self) -> None:
        """End the session: its device is given back, a board's port and memory among it. The process stays.

        One that does not answer, or is cut off from us meanwhile, counts as used, and so does one that was.
        """
        if self.used:
            return
        self.used = True
        with suppress(LostError):
            answer = await self.ask(body_of({"op": "close"}), seconds=_CLOSE_SECONDS)
            self.used = Fields.of(answer).has("error")

    async def ask(self, body: bytes, *, seconds: float | None) -> bytes:
        """Return the answer to a message; raises ``LostError`` if the process ends. One that takes longer is ended."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(sock=self._socket, limit=MESSAGE_BYTES)
        reader, writer = self._streams
        self._number += 1
        try:
            async with asyncio.timeout(seconds):
                writer.write(packed(Frame(self._number, body, b"")))
                await writer.drain()
                while (frame := self._frames.next()) is None:
                    data = await reader.read(READ_BYTES)
                    if not data:
                        raise WireError("the process has ended")
                    self._frames.feed(data)
        except TimeoutError:
            self.end()
            raise LostError(f"the call took longer than {seconds:g} s and was ended; the session is over") from None
        except (OSError, WireError):
            raise LostError(f"the device's process {await self._fate()}; the session is over") from None
        return frame.body

    def end(self) -> None:
        """End the process with all that it started, and forget it."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._streams is not None:
            self._streams[1].close()
        else:
            self._socket.close()
        if self._process.poll() is None:  # giving back its memory may take a while, in which others are served
            threading.Thread(target=self._process.wait, name=f"end of {self._process.pid}").start()

    async def _fate(self) -> str:
        """Return how the process ended; it has a moment to do so."""
        until = time.monotonic() + _FATE_SECONDS
        while (code := self._process.poll()) is None and time.monotonic() < until:
            await asyncio.sleep(0.02)
        if code is None:
            return "does not answer"
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def _environment() -> dict[str, str]:
    """Return the process's environment: what Python and the system need, and nothing that is secret or a user's."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "XDG_CACHE_HOME", "XDG_STATE_HOME")
    chosen = {name: os.environ[name] for name in kept if name in os.environ}
    return {**chosen, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
