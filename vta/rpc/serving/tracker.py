"""The tracker (``vta tracker``): which devices there are, who waits for one, and who has one for how long.

Servers tell it every few seconds what they have and which leases are in use; it keeps nothing on disk. So a tracker
that was restarted knows everything again after one such round, and hands out nothing before it. A lease ends when its
session ends, when its time is over, or when nobody came with it to the server.
Tests: tests/vta/rpc/test_tracker.py.
"""

import asyncio
import itertools
import math
import secrets
import time
from dataclasses import dataclass, field

from vta.rpc.errors import RpcError
from vta.rpc.messages.fields import Fields, MessageError
from vta.rpc.messages.key import Key
from vta.rpc.messages.lease import Lease
from vta.rpc.serving.journal import Journal
from vta.rpc.serving.listener import Listener, ListenerLimits, Peer, first_of, success
from vta.rpc.serving.metrics import Metrics

__all__ = ["COUNTERS", "GAUGES", "REPORT_SECONDS", "Tracker", "TrackerLimits"]

REPORT_SECONDS = 2.0
"""How often servers report."""

COUNTERS = {
    "connections": "Connections that were made.",
    "connections_refused": "Connections beyond the limit.",
    "handshakes_refused": "Connections that did not prove the key.",
    "bytes_sent": "Bytes of answers.",
    "leases": "Leases that were given.",
    "leases_unused": "Leases that ended before anybody came with them.",
}
GAUGES = {
    "connections_open": "Connections.",
    "servers": "Servers that report.",
    "devices": "Devices of them.",
    "leases_open": "Leases that have not ended.",
    "waiting": "Clients that wait.",
}


@dataclass(frozen=True, slots=True)
class TrackerLimits:
    """What clients may ask for, in seconds where it is not a number of them.

    A lease is for ``lease_seconds`` at most; it ends if nobody is at the server with it after ``claim_seconds``. A
    server that has not reported for ``silence_seconds`` is forgotten.
    """

    lease_seconds: float = 3600.0
    claim_seconds: float = 15.0
    silence_seconds: float = 10.0
    waiting: int = 1024
    connections: ListenerLimits = field(default_factory=ListenerLimits)


@dataclass(slots=True)
class _Given:
    """A lease that the tracker gave: ``seen`` says whether its server has reported it in use."""

    lease: Lease
    until: float
    seen: bool = False


@dataclass(slots=True)
class _Known:
    """A server that reports: where it is, what it has, what of that is free for leases."""

    name: str
    host: str
    port: int
    digest: str
    bitstream: str
    targets: list[str]
    heard: float
    busy: dict[str, int]
    given: dict[str, _Given] = field(default_factory=dict)

    def free(self, target: str) -> bool:
        """Whether a device of a kind is free: neither in use nor promised."""
        promised = sum(given.lease.target == target and not given.seen for given in self.given.values())
        return self.targets.count(target) > self.busy.get(target, 0) + promised


@dataclass(slots=True, eq=False, order=False)
class _Waiter:
    """A client that waits: those of higher ``priority`` first, then those who came first."""

    key: str
    priority: int
    number: int
    seconds: float
    place: asyncio.Future[tuple[_Known, Lease]]


class Tracker:
    """Shares out the devices of servers that have ``key``."""

    def __init__(
        self,
        key: Key,
        *,
        limits: TrackerLimits | None = None,
        journal: Journal | None = None,
        certificate: str | None = None,
        private_key: str | None = None,
    ) -> None:
        self.limits = limits or TrackerLimits()
        self.journal = journal or Journal(None, "tracker")
        self.metrics = Metrics("tracker", COUNTERS, GAUGES)
        self.servers: dict[str, _Known] = {}
        self._key = key
        self._waiters: list[_Waiter] = []
        self._numbers = itertools.count()
        self._ready = -math.inf
        self.listener = Listener(
            "tracker", key, self._answer, self._gone, journal=self.journal, metrics=self.metrics,
            limits=self.limits.connections, certificate=certificate, private_key=private_key,
        )  # fmt: skip

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; return where. Nothing is handed out before every server that lives has reported."""
        self._ready = time.monotonic() + 1.5 * REPORT_SECONDS
        where = await self.listener.start(host, port)
        self.journal.note("listening", host=where[0], port=where[1])
        return where

    async def watch(self) -> None:
        """End leases and forget servers whose time is over, and serve those who wait, until cancelled."""
        while True:
            self._tidy()
            self._hand_out()
            await asyncio.sleep(0.1)

    async def stop(self) -> None:
        """Send everybody away."""
        for waiter in self._waiters:
            waiter.place.cancel()
        await self.listener.close()
        self.journal.note("stopped")

    async def _answer(self, peer: Peer, message: Fields) -> bytes:
        match message.text("op", most=64):
            case "report":
                return self._report(peer, message)
            case "request":
                return await self._request(peer, message)
            case "release":
                return self._release(message)
            case "status":
                return self._status()
            case other:
                raise MessageError(f"a tracker does not know how to {other!r}")

    def _report(self, peer: Peer, message: Fields) -> bytes:
        """Take what a server says of itself."""
        name, targets = message.text("server", most=64), message.texts("targets")
        busy = {kind: count for kind, count in message.mapping("busy").items() if isinstance(count, int)}
        known = _Known(
            name, message.text("host", most=256) or peer.name.rpartition(":")[0], message.number("port", high=65535),
            message.text("digest", most=64), message.text("bitstream", most=256), targets, time.monotonic(), busy,
        )  # fmt: skip
        before = self.servers.get(name)
        known.given = {} if before is None else before.given
        using = set(message.texts("leases"))
        for number, given in list(known.given.items()):
            if number in using:
                given.seen = True
            elif given.seen:
                self._end(known, number, "its session ended")
        if before is None:
            self.journal.note("server", server=name, host=known.host, port=known.port, devices=len(targets))
        peer.state["server"] = name
        self.servers[name] = known
        self._hand_out()
        return success(seconds=REPORT_SECONDS, now=time.time())

    async def _request(self, peer: Peer, message: Fields) -> bytes:
        """Wait for a device, and return a lease of it."""
        if len(self._waiters) >= self.limits.waiting:
            raise RpcError(f"{len(self._waiters)} clients wait already; try later")
        wanted = message.real("seconds") or self.limits.lease_seconds
        waiter = _Waiter(
            message.text("key", most=256), message.number("priority", high=1000), next(self._numbers),
            min(wanted, self.limits.lease_seconds), asyncio.get_running_loop().create_future(),
        )  # fmt: skip
        self._waiters.append(waiter)
        self._waiters.sort(key=lambda each: (-each.priority, each.number))
        self._hand_out()
        try:
            await first_of(waiter.place, peer.leaving(), seconds=message.real("wait") or None)
            if not waiter.place.done():
                raise RpcError(self._nothing(waiter.key))
            known, lease = waiter.place.result()
        except BaseException:
            if waiter.place.done() and not waiter.place.cancelled():
                known, lease = waiter.place.result()
                self._end(known, lease.number, "its client went away")
            raise
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        return success(
            host=known.host, port=known.port, ticket=lease.ticket(self._key), lease=lease.number, server=known.name,
            seconds=max(0.0, lease.ends - time.time()),
        )  # fmt: skip

    def _release(self, message: Fields) -> bytes:
        """End a lease that its client does not need any more."""
        known = self.servers.get(message.text("server", most=64))
        number = message.text("lease", most=64)
        if known is not None and number in known.given and not known.given[number].seen:
            self._end(known, number, "its client gave it back")
            if message.has("lost"):
                del self.servers[known.name]  # it comes back with its next report, if it lives
                self.journal.note("server lost", server=known.name)
        return success()

    def _status(self) -> bytes:
        listed = [
            {
                "host": each.host, "port": each.port, "digest": each.digest, "bitstream": each.bitstream,
                "devices": {kind: each.targets.count(kind) for kind in sorted(set(each.targets))}, "busy": each.busy,
                "leases": len(each.given),
            }
            for each in self.servers.values()
        ]  # fmt: skip
        return success(servers=listed, waiting=len(self._waiters))

    def _nothing(self, key: str) -> str:
        kinds = sorted({f"{t} {s.digest} ({s.bitstream})" for s in self.servers.values() for t in s.targets})
        return f"no device {key!r} was free in time; there are {', '.join(kinds) or 'none'}"

    def _hand_out(self) -> None:
        """Give devices to those who wait, as long as there are any that they take."""
        if time.monotonic() < self._ready:
            return
        for waiter in list(self._waiters):
            found = self._place_for(waiter.key)
            if found is None or waiter.place.done():
                continue
            known, target = found
            lease = Lease(secrets.token_hex(16), known.name, target, time.time() + waiter.seconds)
            known.given[lease.number] = _Given(lease, time.monotonic() + self.limits.claim_seconds)
            self._waiters.remove(waiter)
            waiter.place.set_result((known, lease))
            self.metrics.count("leases")
            self.journal.note("lease", lease=lease.number[:8], server=known.name, target=target)
        self._tell()

    def _place_for(self, key: str) -> tuple[_Known, str] | None:
        """Return the server with the most devices that are free and answer to ``key``, and the kind of one of them."""
        found = [
            (known, target)
            for known in self.servers.values()
            for target in sorted(set(known.targets))
            if known.free(target) and key in ("", target, known.digest, known.bitstream, f"{target}/{known.digest}")
        ]
        return max(found, key=lambda each: len(each[0].targets) - sum(each[0].busy.values()), default=None)

    def _tidy(self) -> None:
        now = time.monotonic()
        for known in list(self.servers.values()):
            if now - known.heard > self.limits.silence_seconds:
                del self.servers[known.name]
                self.journal.note("server lost", server=known.name)
                continue
            for number, given in list(known.given.items()):
                if given.lease.ends < time.time():
                    self._end(known, number, "its time is over")
                elif not given.seen and given.until < now:
                    self.metrics.count("leases_unused")
                    self._end(known, number, "nobody came with it")
        self._tell()

    def _end(self, known: _Known, number: str, reason: str) -> None:
        known.given.pop(number, None)
        self.journal.note("lease ended", lease=number[:8], server=known.name, reason=reason)

    async def _gone(self, peer: Peer) -> None:
        """Note that a server's connection ended: it comes back, or falls silent."""

    def _tell(self) -> None:
        servers = self.servers.values()
        self.metrics.set("servers", len(servers))
        self.metrics.set("devices", sum(len(known.targets) for known in servers))
        self.metrics.set("leases_open", sum(len(known.given) for known in servers))
        self.metrics.set("waiting", len(self._waiters))
