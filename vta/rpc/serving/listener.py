"""Accepting connections, for servers and trackers: handshake, limits of time and size, one answer after the other.

A stranger gets ``greeting_seconds`` and 4 KiB to prove the key, and less when all connections are taken: then the
stranger who came first makes room, so that no number of them shuts out those who have the key. Whoever proved it may be
silent for as long as it likes, but a message that has begun must end in ``frame_seconds``, and an answer must be taken
as fast. Little is kept of what a connection says: two reads, and a message, which may be long for those alone who have
a session.
Tests: tests/vta/rpc/test_hostile.py.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from isa.errors import VTAError
from vta.rpc.channel import is_loopback
from vta.rpc.errors import LostError, RpcError
from vta.rpc.messages.fields import Fields, MessageError
from vta.rpc.messages.handshake import HandshakeError, ServerSide
from vta.rpc.messages.key import Key
from vta.rpc.messages.seal import Seal
from vta.rpc.messages.wire import EARLY_BYTES, GREETING_BYTES, READ_BYTES, Frame, Frames, WireError, body_of, packed
from vta.rpc.serving.journal import Journal
from vta.rpc.serving.metrics import Metrics

__all__ = ["Listener", "ListenerLimits", "Peer", "first_of"]


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """What connections may take."""

    connections: int = 512
    greeting_seconds: float = 10.0
    frame_seconds: float = 30.0


@dataclass(slots=True, eq=False)
class Peer:
    """An authenticated connection; ``state`` is whatever its server keeps with it."""

    name: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    most: int = EARLY_BYTES
    """The longest message that is taken: who has a session may say more."""
    state: dict[str, object] = field(default_factory=dict)

    async def leaving(self) -> None:
        """Wait until the other side ends the connection, while it waits for an answer.

        Raises ``WireError`` if it says something before it was answered: who fills the connection with messages that
        nobody reads could not be seen to leave.
        """
        if await self.reader.read(1):
            self.end()
            raise WireError("a message came before the one before was answered")

    def end(self) -> None:
        """End the connection."""
        self.writer.transport.abort()


Answer = Callable[[Peer, Fields], Awaitable[bytes]]
"""Returns the body of the answer to a message; a ``VTAError`` becomes an answer too."""


class Listener:
    """Serves ``answer`` to everybody who has ``key``. ``gone`` is told when a connection has ended."""

    def __init__(
        self,
        name: str,
        key: Key,
        answer: Answer,
        gone: Callable[[Peer], Awaitable[None]],
        *,
        journal: Journal,
        metrics: Metrics,
        limits: ListenerLimits,
        certificate: str | None = None,
        private_key: str | None = None,
    ) -> None:
        self._name, self._key, self._answer, self._gone = name, key, answer, gone
        self._journal, self._metrics, self._limits = journal, metrics, limits
        self._tls = None if certificate is None else tls_of_server(certificate, private_key)
        self._open: set[asyncio.Task[None]] = set()
        self._strangers: dict[asyncio.Task[None], None] = {}
        """Those who have not proved the key, in the order in which they came."""
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; return where (port 0 becomes a free one). Raises ``RpcError``."""
        try:
            self._server = await asyncio.start_server(
                self._accept, host, port, limit=READ_BYTES, ssl=self._tls,
                ssl_handshake_timeout=self._limits.greeting_seconds if self._tls else None,
            )  # fmt: skip
        except (OSError, OverflowError) as error:
            raise RpcError(f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}") from None
        address = self._server.sockets[0].getsockname()
        return str(address[0]), int(address[1])

    def stop(self) -> None:
        """Accept nobody any more."""
        if self._server is not None:
            self._server.close()

    async def close(self) -> None:
        """End all connections."""
        self.stop()
        for task in list(self._open):
            task.cancel()
        if self._open:
            await asyncio.wait(self._open, timeout=5)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._metrics.count("connections")
        if len(self._open) >= self._limits.connections:
            self._metrics.count("connections_refused")
            if not self._strangers:
                writer.close()
                return
            first = next(iter(self._strangers))
            self._forget(first)
            first.cancel()
        self._open.add(task)
        self._strangers[task] = None
        self._metrics.set("connections_open", len(self._open))
        peer = Peer(_peer_name(writer), reader, writer)
        try:
            await self._serve(task, peer, reader, writer)
        except (OSError, TimeoutError, WireError) as error:
            self._journal.note("connection broken", peer=peer.name, reason=str(error) or type(error).__name__)
        except asyncio.CancelledError:
            pass  # the server stops, or somebody else needs the place
        finally:
            self._forget(task)
            self._metrics.set("connections_open", len(self._open))
            with suppress(OSError, RuntimeError):
                writer.close()
            await self._gone(peer)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._open.discard(task)
        self._strangers.pop(task, None)

    async def _serve(
        self, task: asyncio.Task[None], peer: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        _tune(writer)
        try:
            async with asyncio.timeout(self._limits.greeting_seconds):
                seal = await self._shake_hands(peer, reader, writer)
        except (HandshakeError, MessageError, WireError, TimeoutError) as error:
            self._metrics.count("handshakes_refused")
            self._journal.note("refused", peer=peer.name, reason=str(error) or "no proof of the key in time")
            with suppress(OSError, TimeoutError):
                refusal = body_of({"error": "HandshakeError", "text": str(error) or "no proof of the key in time"})
                await self._write(writer, Frame(0, refusal, b""))
            return
        self._strangers.pop(task, None)
        frames = Frames(peer.most)
        while (frame := await self._next(frames, reader, self._limits.frame_seconds)) is not None:
            body = seal.open(frame)
            try:
                answer = await self._answer(peer, Fields.of(body))
            except VTAError as error:
                answer = failure(error)
            frames.most = peer.most
            await self._write(writer, seal.close(answer))

    async def _shake_hands(self, peer: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Seal:
        safe = self._tls is not None or is_loopback(peer.name.rpartition(":")[0].strip("[]"))
        side = ServerSide(self._key, self._name, sealed=not safe)
        await self._write(writer, Frame(0, side.greeting(), b""))
        frame = await self._next(Frames(GREETING_BYTES), reader, self._limits.greeting_seconds, most=GREETING_BYTES)
        if frame is None:
            raise WireError("the connection ended before the key was proved")
        proof, seal = side.answer(frame.body)
        await self._write(writer, Frame(0, proof, b""))
        return seal

    async def _next(
        self, frames: Frames, reader: asyncio.StreamReader, seconds: float, *, most: int = READ_BYTES
    ) -> Frame | None:
        """Return the next frame, None at the end of the connection. One that has begun must end in ``seconds``."""
        if (frame := frames.next()) is not None:
            return frame
        if not frames.partial:
            data = await reader.read(most)
            if not data:
                return None
            frames.feed(data)
        async with asyncio.timeout(seconds):
            while (frame := frames.next()) is None:
                data = await reader.read(most)
                if not data:
                    raise WireError("the connection ended in the middle of a message")
                frames.feed(data)
        return frame

    async def _write(self, writer: asyncio.StreamWriter, frame: Frame) -> None:
        data = packed(frame)
        writer.write(data)
        self._metrics.count("bytes_sent", len(data))
        async with asyncio.timeout(self._limits.frame_seconds):
            await writer.drain()


async def first_of(
    place: asyncio.Future[Any], leaving: Coroutine[None, None, None], *, seconds: float | None = None
) -> None:
    """Wait for ``place``, for ``seconds`` at most; raises ``LostError`` if its client leaves before."""
    watching = asyncio.ensure_future(leaving)
    either: set[asyncio.Future[Any]] = {place, watching}
    try:
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        watching.cancel()
        await asyncio.wait({watching})  # so that nobody else reads while it does
    if not watching.cancelled():
        watching.result()
        raise LostError("the client went away while it waited")


def failure(error: Exception) -> bytes:
    """Return the answer that tells of an error."""
    return body_of({"error": type(error).__name__, "text": str(error)[:4096]})


def success(**content: object) -> bytes:
    """Return the answer that tells of what was done."""
    return body_of(content)


def tls_of_server(certificate: str, private_key: str | None) -> ssl.SSLContext:
    """Return what shows a certificate to clients."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, private_key)
    except OSError as error:
        raise RpcError(f"{certificate}: no certificate with its key can be read: {error.strerror or error}") from None
    return context


def _tune(writer: asyncio.StreamWriter) -> None:
    made = writer.get_extra_info("socket")
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _peer_name(writer: asyncio.StreamWriter) -> str:
    address: Mapping[int, object] | None = writer.get_extra_info("peername")
    return "unknown" if not address else f"{address[0]}:{address[1]}"
