"""Asking a tracker for a device: ``rpc.connect_tracker(host, port).request(key)``, as in TVM.

Tests: tests/vta/rpc/test_tracker.py.
"""

import time
from pathlib import Path

from vta.rpc.caller import Caller, error_of
from vta.rpc.channel import Address, Channel
from vta.rpc.errors import LostError, RpcError
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.wire import Value, body_of
from vta.rpc.remote import RemoteSession, key_of

__all__ = ["TrackerSession", "connect_tracker"]

_PAUSE = 0.25
"""Seconds before a second attempt; twice as many before each other one."""


class TrackerSession:
    """A tracker. Every request has a connection of its own, so that threads may wait side by side."""

    def __init__(self, address: Address, certificate: str | None = None) -> None:
        self.address = address
        self._certificate = certificate

    def request(
        self,
        key: str = "",
        priority: int = 1,
        session_timeout: float = 0,
        max_retry: int = 5,
        *,
        wait_seconds: float = 0,
        reconnect_seconds: float = 10.0,
    ) -> RemoteSession:
        """Wait for a device and return a session on it.

        ``key`` is the digest of a configuration, its bitstream's name, a kind of device (``sim``), or ``sim/DIGEST``;
        any if empty. Who has the higher ``priority`` is served first. ``session_timeout`` are the seconds of the
        lease, as many as the tracker gives for 0. ``wait_seconds`` bounds the waiting. A tracker that is restarted,
        or whose server is gone, is asked again ``max_retry`` times.
        """
        error: Exception = RpcError("no attempt was made")
        for attempt in range(max_retry + 1):
            if attempt:
                time.sleep(_PAUSE * 2 ** (attempt - 1))
            try:
                given = self._ask("request", key=key, priority=priority, seconds=float(session_timeout),
                                  wait=float(wait_seconds))  # fmt: skip
                return self._session(given, reconnect_seconds)
            except LostError as lost:
                error = lost
        raise LostError(f"{error}; asked {max_retry + 1} times")

    def summary(self) -> list[Value]:
        """Return what the tracker knows: a mapping for each server."""
        return self._ask("status").entries("servers")

    def text_summary(self) -> str:
        """Return what the tracker knows, in lines."""
        lines = []
        for entry in self.summary():
            said = Fields(entry if isinstance(entry, dict) else {})
            where = f"{said.text('host')}:{said.number('port')}"
            made = f"{said.text('bitstream')} ({said.text('digest')})"
            lines.append(f"{where} {made}: {said.mapping('devices')}, busy {said.mapping('busy')}")
        return "\n".join(lines) or "no server"

    def _session(self, given: Fields, reconnect_seconds: float) -> RemoteSession:
        host, port = given.text("host", most=256), given.number("port", high=65535)
        address = Address(host, port, self.address.key, self._certificate)
        try:
            ticket = given.data("ticket", most=1024)
            opened = Caller(address, {"target": "", "ticket": ticket}, reconnect_seconds=reconnect_seconds)
        except Exception as error:
            lost = True if isinstance(error, LostError) else None
            self._ask("release", server=given.text("server"), lease=given.text("lease"), lost=lost)
            raise
        return RemoteSession(opened)

    def _ask(self, operation: str, **content: object) -> Fields:
        channel = Channel(self.address)
        try:
            channel.send(body_of({"op": operation, **content}))
            answer = Fields.of(channel.receive())
        finally:
            channel.close()
        if answer.has("error"):
            raise error_of(answer)
        return answer


def connect_tracker(
    url: str,
    port: int,
    *,
    key_file: str | Path | None = None,
    certificate: str | Path | None = None,
    tracker_certificate: str | Path | None = None,
) -> TrackerSession:
    """Return the tracker at ``url`` and ``port``, which has the key that its servers have.

    ``certificate`` is what servers with TLS show, ``tracker_certificate`` what the tracker shows, if it has TLS.
    """
    address = Address(url, port, key_of(key_file), _text(tracker_certificate))
    return TrackerSession(address, _text(certificate))


def _text(path: str | Path | None) -> str | None:
    return None if path is None else str(path)
