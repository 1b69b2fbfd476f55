"""One client's session on a server: a device, a folder, and the answers to the last calls.

Every call has a number. A client whose connection broke comes back and sends again what was not answered: if it was
done, its answer is still here; if it is under way, its end is waited for. So no call runs twice, and none is lost while
the server lives. Tests: tests/vta/rpc/test_server.py.
"""

import asyncio
import math
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from vta.rpc.errors import LostError, RpcError
from vta.rpc.messages.fields import Fields, MessageError
from vta.rpc.messages.wire import CHUNK
from vta.rpc.serving.device_pool import Slot
from vta.rpc.serving.limits import ServerLimits
from vta.rpc.serving.listener import Peer, failure, success
from vta.rpc.serving.workshop import OPERATIONS
from vta.rpc.work_folder import WorkFolder

__all__ = ["KEPT_ANSWERS", "ServedSession"]

KEPT_ANSWERS = 16
"""Answers that are kept for a client that asks again."""


class ServedSession:
    """A session on ``slot``; ``left`` is when its client went away, infinite while it is there."""

    def __init__(self, slot: Slot, limits: ServerLimits, *, seconds: float, lease: str = "") -> None:
        self.name = secrets.token_hex(16)
        self.slot = slot
        self.lease = lease
        self.folder = WorkFolder(limits.file_bytes)
        self.ends = time.monotonic() + seconds
        self.left = math.inf
        self.over = ""
        """Why nothing more can be done, if so."""
        self.peer: Peer | None = None
        """The connection that took it up last."""
        self._limits = limits
        self.last_number = 0
        """Number of the last call."""
        self._answers: dict[int, bytes] = {}
        self._order = asyncio.Lock()

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return self._order.locked()

    async def answer(self, number: int, message: Fields) -> bytes:
        """Return the answer to call ``number``: the next one, or one of the last again."""
        return await asyncio.shield(asyncio.ensure_future(self._in_order(number, message)))

    async def _in_order(self, number: int, message: Fields) -> bytes:
        async with self._order:
            if number in self._answers:
                return self._answers[number]
            if number != self.last_number + 1:
                raise MessageError(f"call {number} came where call {self.last_number + 1} was due")
            self.last_number = number
            answer = self._answers[number] = await self._do(message)
            self._answers.pop(number - KEPT_ANSWERS, None)
            return answer

    async def settle(self, seconds: float) -> None:
        """Wait until the call that is under way has ended, for this long at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._order:
                pass

    async def _do(self, message: Fields) -> bytes:
        if self.over:
            return failure(LostError(self.over))
        try:
            operation = message.text("op", most=64)
            if operation in _FILES:
                return success(**_FILES[operation](self.folder, message))
            if operation not in OPERATIONS:
                raise MessageError(f"a session does not know how to {operation!r}")
            return await self._ask_device(operation, message)
        except (RpcError, MessageError) as error:
            return failure(error)
        except OSError as error:
            return failure(RpcError(f"a file of the session: {error.strerror or error}"))

    async def _ask_device(self, operation: str, message: Fields) -> bytes:
        link = self.slot.link
        assert link is not None
        if operation in ("load_module", "load_network", "run_program"):
            self.folder.existing(message.text("name", most=1024))
        if operation == "load_module":
            link.used = True
        most = self._limits.call_seconds
        seconds = min(most, message.real("seconds") or most) if message.has("seconds") else most
        try:
            return await link.ask(message.body, seconds=seconds)
        except LostError as error:
            link.used = True
            self.over = str(error)
            return failure(error)


def _upload(folder: WorkFolder, message: Fields) -> Mapping[str, object]:
    folder.write(
        message.text("name", most=1024), message.data("data", most=CHUNK), offset=message.number("offset"),
        last=message.flag("last"),
    )  # fmt: skip
    return {}


def _download(folder: WorkFolder, message: Fields) -> Mapping[str, object]:
    name = message.text("name", most=1024)
    return {"data": folder.read(name, offset=message.number("offset"), most=CHUNK), "size": folder.size(name)}


def _remove(folder: WorkFolder, message: Fields) -> Mapping[str, object]:
    folder.remove(message.text("name", most=1024))
    return {}


_FILES: Mapping[str, Callable[[WorkFolder, Fields], Mapping[str, object]]] = {
    "upload": _upload,
    "download": _download,
    "remove": _remove,
}
"""What is done without the device."""
