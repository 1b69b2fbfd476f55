"""Calls of a session over connections that may break: each is made once, and told apart from its repetition.

Tests: tests/vta/rpc/test_server.py.
"""

import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from weakref import WeakKeyDictionary

from isa.errors import VTAError
from runtime.memory.array import ArrayError
from runtime.session import SessionError
from vta.codegen.arguments import ArgumentError
from vta.codegen.module import HostCodeError, Module, ModuleError
from vta.rpc.channel import Address, Channel
from vta.rpc.errors import LostError, RemoteError, RpcError
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.handshake import HandshakeError
from vta.rpc.messages.wire import MESSAGE_BYTES, body_of

__all__ = ["Caller", "error_of"]

_GOODBYE_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_AHEAD = 8
"""Calls that are sent before the first of them is answered; a server keeps more answers (``KEPT_ANSWERS``)."""

_MOST_BREAKS = 100
"""Connections that may break one after the other while a call waits for its answer: what breaks each is the call."""

_FRAME_BYTES = 64
"""What a message has besides its body: number, seal, lengths."""

_MOST_RELEASED = 1 << 12
"""Arrays that one message frees."""

_WITHOUT_DEVICE = frozenset({"upload", "download", "remove"})
"""Calls that a server answers by itself, so that they free no arrays."""

_KINDS: Mapping[str, type[VTAError]] = {
    kind.__name__: kind for kind in (ArgumentError, ArrayError, HostCodeError, ModuleError, RpcError, SessionError)
}
"""Errors of the other side that are raised as what they were there; others are ``RemoteError``."""


class Caller:
    """Makes the calls of one session, which is closed when this is forgotten, or with the process.

    Everything that is of the session holds it. Threads take turns.
    """

    def __init__(self, address: Address, opening: Mapping[str, object], *, reconnect_seconds: float) -> None:
        self.address = address
        self._line = _Line(address, opening, reconnect_seconds)
        self.sent: WeakKeyDictionary[Module, object] = WeakKeyDictionary()
        """Modules of this process that were sent, and what they are there."""
        self.call_seconds = 0.0
        """What a call may take, 0 for as long as the server lets it."""
        self.opened = self._line.opened
        """What the server said of the session."""
        self.close = weakref.finalize(self, self._line.close)

    def call(self, operation: str, **content: object) -> Fields:
        """Return the answer to a call; raises what went wrong there, or ``LostError`` if the session is gone."""
        if self.call_seconds:
            content = {**content, "seconds": self.call_seconds}
        return self._line.calls(operation, iter((content,)))[0]

    def calls(self, operation: str, contents: Iterator[Mapping[str, object]]) -> list[Fields]:
        """Return the answers to many calls, of which the next are sent before the first is answered.

        The first that fails is the last that is sent anew, and its error is raised.
        """
        return self._line.calls(operation, contents)

    def release(self, array: int) -> None:
        """Let the other side free an array, with the next call: finalizers may run in the middle of one."""
        self._line.released.append(array)


class _Line:
    """The connection of a session, and the number of its last call.

    A connection that breaks is made again for ``reconnect_seconds``, and the call that was under way is sent again
    under its number, so that the server does not do it twice.
    """

    def __init__(self, address: Address, opening: Mapping[str, object], reconnect_seconds: float) -> None:
        self.address = address
        self._reconnect_seconds = reconnect_seconds
        self._lock = threading.RLock()
        self._number = 0
        self.released: deque[int] = deque()
        self._waiting: deque[bytes] = deque()
        """Calls without an answer; some are left when a call is interrupted (Ctrl-C), or the server not reached."""
        self._channel: Channel | None = Channel(address)
        try:
            self.opened = self._exchange(body_of({"op": "open", **opening}))
        except BaseException:
            self._channel.close()
            raise
        self.session = self.opened.text("session", most=64)
        self.closed = ""

    def calls(self, operation: str, contents: Iterator[Mapping[str, object]]) -> list[Fields]:
        """Make calls, ``_AHEAD`` of them under way at most."""
        with self._lock:
            if self.closed:
                raise LostError(self.closed)
            self._settle()
            answers: list[Fields] = []
            error: VTAError | None = None
            while True:
                while error is None and len(self._waiting) < _AHEAD and (content := next(contents, None)) is not None:
                    self._send(self._numbered(operation, content))
                if not self._waiting:
                    break
                answers.append(Fields.of(self._receive()))
                if answers[-1].has("error"):
                    error = error or error_of(answers[-1])
            if isinstance(error, LostError):
                self._end(str(error))
            if error is not None:
                raise error
            return answers

    def _settle(self) -> None:
        """Wait for the answers that nobody waited for to the end, so that none is taken for that of another call."""
        if self._waiting:
            self._drop()
        while self._waiting:
            self._receive()

    def _numbered(self, operation: str, content: Mapping[str, object]) -> bytes:
        """Return the body of the next call, which has its number and frees arrays once it can be sent."""
        many = 0 if operation in _WITHOUT_DEVICE else min(len(self.released), _MOST_RELEASED)
        more = {"released": [self.released[at] for at in range(many)]} if many else {}
        body = body_of({"op": operation, "call": self._number + 1, **content, **more})
        if len(body) > MESSAGE_BYTES - _FRAME_BYTES:
            raise RpcError(f"a message may have {MESSAGE_BYTES} bytes, and this call has {len(body)}")
        self._number += 1
        for _ in range(many):
            self.released.popleft()
        return body

    def _send(self, body: bytes) -> None:
        self._waiting.append(body)
        try:
            if self._channel is None:
                raise LostError(f"{self.address}: no connection")
            self._channel.send(body)
        except ConnectionError as error:
            self._again(error)

    def _receive(self) -> bytes:
        """Return the answer to the first that waits."""
        for _ in range(_MOST_BREAKS):
            try:
                if self._channel is None:
                    raise LostError(f"{self.address}: no connection")
                answer = self._channel.receive()
                self._waiting.popleft()
                return answer
            except ConnectionError as error:
                last = error
                self._again(error)
        self._give_up(f"{last}; the connection broke {_MOST_BREAKS} times before this call was answered")
        raise LostError(self.closed)

    def close(self) -> None:
        """End the session; a second time does nothing."""
        with self._lock:
            if not self.closed:
                self._end("the session was closed")

    def _exchange(self, body: bytes) -> Fields:
        if self._channel is None:
            raise LostError(f"{self.address}: no connection")
        self._channel.send(body)
        answer = Fields.of(self._channel.receive())
        if answer.has("error"):
            raise error_of(answer)
        return answer

    def _end(self, reason: str) -> None:
        """End the session for a ``reason``, and tell the server, so that others get its device at once."""
        self.closed = reason
        if self._channel is not None:
            with suppress(VTAError, OSError):  # the server ends it by itself, if later
                self._channel.wait_seconds(_GOODBYE_SECONDS)
                self._exchange(body_of({"op": "close"}))
        self._drop()

    def _drop(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _give_up(self, reason: str) -> None:
        self.closed = reason
        self._drop()

    def _again(self, error: ConnectionError) -> None:
        """Connect again, take the session up again, and send again what was not answered."""
        until, pause = time.monotonic() + self._reconnect_seconds, _FIRST_PAUSE
        while True:
            self._drop()
            try:
                self._channel = Channel(self.address)
                self._exchange(body_of({"op": "open", "session": self.session}))
                for body in self._waiting:
                    self._channel.send(body)
                return
            except HandshakeError:
                self._drop()
                raise
            except LostError as lost:
                if lost.final:
                    self._give_up(f"{lost}; whether the last call ran is not known")
                    raise LostError(self.closed) from None
                error = lost
            except ConnectionError as broken:
                error = broken
            self._drop()
            if time.monotonic() + pause > until:
                raise LostError(f"{error}; tried to connect again for {self._reconnect_seconds:g} s") from None
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def error_of(answer: Fields) -> VTAError:
    """Return the error that an answer tells of."""
    kind, text = answer.text("error", most=256), answer.text("text")
    if kind == "LostError":
        return LostError(text, final=True)
    return _KINDS[kind](text) if kind in _KINDS else RemoteError(text, kind)
