"""The server (``vta serve``): devices in processes of their own, sessions for whoever has the key.

Messages of a connection: ``open`` begins a session (or takes up one whose connection broke), all others belong to it.
Tests: tests/vta/rpc/test_server.py, tests/vta/rpc/test_hostile.py.
"""

import asyncio
import contextlib
import math
import os
import secrets
import time

from isa.config import VTAConfig
from isa.errors import VTAError
from runtime.drivers.built_board import BuiltBoard
from vta.rpc.errors import LostError, RpcError
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.key import Key
from vta.rpc.messages.lease import Lease
from vta.rpc.messages.wire import MESSAGE_BYTES, WireError
from vta.rpc.serving.device_pool import DevicePool, Slot
from vta.rpc.serving.journal import Journal
from vta.rpc.serving.limits import ServerLimits
from vta.rpc.serving.listener import Listener, Peer, success
from vta.rpc.serving.metrics import Metrics
from vta.rpc.serving.served_session import ServedSession
from vta.rpc.serving.session_maker import BOARD

__all__ = ["COUNTERS", "GAUGES", "Server"]

COUNTERS = {
    "connections": "Connections that were made.",
    "connections_refused": "Connections beyond the limit.",
    "handshakes_refused": "Connections that did not prove the key.",
    "bytes_sent": "Bytes of answers.",
    "sessions": "Sessions that began.",
    "sessions_lost": "Sessions that ended by a failure, a limit or a lost client.",
    "calls": "Calls of sessions.",
    "calls_repeated": "Calls that a client sent again after its connection broke, and that did not run again.",
    "errors": "Calls that ended with an error.",
}
GAUGES = {
    "connections_open": "Connections.",
    "sessions_open": "Sessions.",
    "devices": "Devices.",
    "devices_free": "Devices that nobody has.",
    "waiting": "Clients that wait for a device.",
    "uptime_seconds": "Seconds since the server began.",
}
_TICK = 0.25


class Server:
    """Serves devices of one configuration: those that ``targets`` names, and a ``board``, which has the configuration.

    ``leases_only`` serves nobody without a tracker's lease.
    """

    def __init__(
        self,
        config: VTAConfig,
        targets: list[str],
        key: Key,
        *,
        board: BuiltBoard | None = None,
        limits: ServerLimits | None = None,
        journal: Journal | None = None,
        certificate: str | None = None,
        private_key: str | None = None,
        leases_only: bool = False,
    ) -> None:
        self.name = secrets.token_hex(8)
        self.limits = limits or ServerLimits()
        self.journal = journal or Journal(None, "server")
        self.metrics = Metrics("server", COUNTERS, GAUGES)
        self.pool = DevicePool(config, [*targets, *([] if board is None else [BOARD])], self.limits, board)
        self.sessions: dict[str, ServedSession] = {}
        self.changed = asyncio.Event()
        """Set when a session begins or ends."""
        self.tracker_ahead = 0.0
        """Seconds by which the tracker's clock is ahead of this machine's; leases end by the tracker's."""
        self._key, self._leases_only = key, leases_only
        self._used_leases: dict[str, float] = {}
        self._began = time.monotonic()
        self._stopping = False
        self.listener = Listener(
            "server", key, self._answer, self._gone, journal=self.journal, metrics=self.metrics,
            limits=self.limits.connections, certificate=certificate, private_key=private_key,
        )  # fmt: skip

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Start the devices' processes and listen; return where."""
        self.pool.start()
        where = await self.listener.start(host, port)
        self.journal.note("listening", host=where[0], port=where[1], devices=len(self.pool.slots), pid=os.getpid())
        return where

    async def watch(self) -> None:
        """End sessions that are over time or whose client does not come back, until cancelled."""
        while True:
            now = time.monotonic()
            for session in list(self.sessions.values()):
                if now > session.ends:
                    await self._end(session, "its time is over")
                elif not session.busy and now > session.left + self.limits.linger_seconds:
                    await self._end(session, "its client did not come back")
            then = self._tracker_time()
            self._used_leases = {number: ends for number, ends in self._used_leases.items() if ends > then}
            self._tell()
            await asyncio.sleep(_TICK)

    async def stop(self) -> None:
        """Accept nothing new, let calls end for ``grace_seconds``, end everything."""
        self._stopping = True
        self.listener.stop()
        self.journal.note("stopping", sessions=len(self.sessions))
        until = time.monotonic() + self.limits.grace_seconds
        for session in list(self.sessions.values()):
            await session.settle(max(0.0, until - time.monotonic()))
        await asyncio.sleep(0)  # so that their answers are sent
        for session in list(self.sessions.values()):
            await self._end(session, "the server stopped")
        await self.listener.close()
        self.pool.close()
        self.journal.note("stopped")

    async def _answer(self, peer: Peer, message: Fields) -> bytes:
        operation = message.text("op", most=64)
        if operation == "open":
            return await self._open(peer, message)
        session = peer.state.get("session")
        if not isinstance(session, ServedSession):
            raise RpcError(f"{operation!r} belongs to a session, and none was opened on this connection")
        if operation == "close":
            await self._end(session, "")
            return success()
        if session.over:
            raise LostError(session.over)
        if session.peer is not peer:
            raise WireError("the session was taken up on another connection")
        number = message.number("call", low=1)
        is_new = number > session.last_number
        self.metrics.count("calls" if is_new else "calls_repeated")
        answer = await session.answer(number, message)
        if is_new and Fields.of(answer).has("error"):
            self.metrics.count("errors")
        return answer

    async def _open(self, peer: Peer, message: Fields) -> bytes:
        if self._stopping:
            raise RpcError("the server is stopping; open a session on another one")
        if "session" in peer.state:
            raise RpcError("this connection has a session already")
        if message.has("session"):
            return self._resumed(peer, message.text("session", most=64))
        lease = self._lease(message)
        wanted = message.text("digest", most=64) if message.has("digest") else ""
        self._require_digest(wanted)
        seconds = message.real("seconds") if message.has("seconds") else 0.0
        target = lease.target if lease is not None else message.text("target", most=64)
        slot = await self.pool.take(target, peer.leaving)
        try:
            session = await self._begun(slot, seconds, lease)
        except BaseException:
            if slot.link is not None:
                slot.link.used = True
            self.pool.give(slot)
            raise
        self._take_up(session, peer)
        self.journal.note("session begun", session=session.name[:8], peer=peer.name, target=slot.target)
        return self._told(session)

    async def _begun(self, slot: Slot, seconds: float, lease: Lease | None) -> ServedSession:
        longest = min(seconds or self.limits.session_seconds, self.limits.session_seconds)
        if lease is not None:
            longest = min(longest, max(0.0, lease.ends - self._tracker_time()))
        session = ServedSession(slot, self.limits, seconds=longest, lease="" if lease is None else lease.number)
        try:
            await self.pool.link_of(slot).open(self.pool.config, slot.target, session.folder.path)
        except BaseException:
            session.folder.remove_all()
            raise
        self.sessions[session.name] = session
        self.changed.set()
        self.metrics.count("sessions")
        self._tell()
        return session

    def _resumed(self, peer: Peer, name: str) -> bytes:
        session = self.sessions.get(name)
        if session is None:
            raise LostError("the server does not have this session (any more): it ended, or the server was restarted")
        self._take_up(session, peer)
        self.journal.note("session resumed", session=session.name[:8], peer=peer.name)
        return self._told(session)

    def _take_up(self, session: ServedSession, peer: Peer) -> None:
        """Let a connection be the session's, and end the one that was: each may hold a long message."""
        before, session.peer, session.left = session.peer, peer, math.inf
        peer.state["session"], peer.most = session, MESSAGE_BYTES
        if before is not None:
            before.end()

    def _told(self, session: ServedSession) -> bytes:
        return success(
            session=session.name, config=self.pool.config.to_dict(), target=session.slot.target,
            seconds=max(0.0, session.ends - time.monotonic()), server=self.name,
        )  # fmt: skip

    def _lease(self, message: Fields) -> Lease | None:
        if not message.has("ticket"):
            if self._leases_only:
                raise RpcError("this server takes sessions from its tracker alone; ask the tracker for a lease")
            return None
        lease = Lease.of_ticket(message.data("ticket", most=1024), self._key, self.name, now=self._tracker_time())
        if lease.number in self._used_leases:
            raise RpcError("the lease was used before; ask the tracker again")
        self._used_leases[lease.number] = lease.ends
        return lease

    def _tracker_time(self) -> float:
        return time.time() + self.tracker_ahead

    def _require_digest(self, wanted: str) -> None:
        config = self.pool.config
        if wanted and wanted != config.digest:
            raise RpcError(
                f"configuration {wanted} is wanted, and the devices of this server have {config.digest} "
                f"({config.bitstream}); connect to another server, or reconfigure the session"
            )

    async def _gone(self, peer: Peer) -> None:
        session = peer.state.get("session")
        if isinstance(session, ServedSession) and session.peer in (None, peer):
            session.left = time.monotonic()

    async def _end(self, session: ServedSession, reason: str) -> None:
        """End a session; one that ends for a ``reason`` was not closed by its client."""
        if self.sessions.pop(session.name, None) is None:
            return
        session.over = session.over or (f"the session was ended: {reason}" if reason else "the session was closed")
        if session.busy and session.slot.link is not None:
            session.slot.link.used = True
            session.slot.link.end()
            await session.settle(1.0)
        if reason:
            self.metrics.count("sessions_lost")
        try:
            if session.slot.link is not None:
                await session.slot.link.close()
        finally:  # also if the server is told to stop meanwhile
            with contextlib.suppress(VTAError, OSError):
                self.pool.give(session.slot)
            session.folder.remove_all()
            self.changed.set()
            self._tell()
            self.journal.note("session ended", session=session.name[:8], reason=reason or "closed")

    def _tell(self) -> None:
        self.metrics.set("sessions_open", len(self.sessions))
        self.metrics.set("devices", len(self.pool.slots))
        self.metrics.set("devices_free", self.pool.free)
        self.metrics.set("waiting", self.pool.waiting)
        self.metrics.set("uptime_seconds", time.monotonic() - self._began)
