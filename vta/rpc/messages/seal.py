"""Numbers and seals of the messages of one connection: none is changed, repeated, left out or put elsewhere.

A seal is the HMAC-SHA256 of a message's number and body under a key of this connection and direction. Where nobody can
be in between (loopback, TLS) it is left out, and the numbers alone are checked. Tests: tests/vta/rpc/test_handshake.py.
"""

import hmac

from vta.rpc.messages.wire import Frame, WireError

__all__ = ["Seal"]


class Seal:
    """Seals what is sent and opens what is received, for one side of a connection."""

    def __init__(self, sending: bytes, receiving: bytes, *, sealed: bool) -> None:
        self._sending, self._receiving, self.sealed = sending, receiving, sealed
        self._sent = self._received = 0

    def close(self, body: bytes) -> Frame:
        """Return the frame of the next message."""
        self._sent += 1
        return Frame(self._sent, body, _seal(self._sending, self._sent, body) if self.sealed else b"")

    def open(self, frame: Frame) -> bytes:
        """Return the body of a frame that is the next one; raises ``WireError``."""
        self._received += 1
        if frame.number != self._received:
            raise WireError(f"message {frame.number} came where number {self._received} was due: one repeated or lost")
        right = _seal(self._receiving, frame.number, frame.body) if self.sealed else b""
        if not hmac.compare_digest(frame.seal, right):
            raise WireError(f"message {frame.number} has a wrong seal: it was changed on its way")
        return frame.body


def _seal(key: bytes, number: int, body: bytes) -> bytes:
    return hmac.digest(key, number.to_bytes(8, "little") + body, "sha256")
