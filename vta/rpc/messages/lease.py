"""A tracker's word that somebody may use a device: signed with the key that tracker and servers share.

A server believes it without asking the tracker, once, and until it ends by the tracker's clock, which the server knows
from its reports. Tests: tests/vta/rpc/test_tracker.py.
"""

import hmac
from dataclasses import dataclass
from typing import Self

from vta.rpc.errors import RpcError
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.key import Key
from vta.rpc.messages.wire import body_of

__all__ = ["Lease"]

_SEAL_BYTES = 32


@dataclass(frozen=True, slots=True)
class Lease:
    """Lease ``number`` of a device of ``server``, for a session until ``ends`` by the tracker's clock (Unix time)."""

    number: str
    server: str
    target: str
    ends: float

    def ticket(self, key: Key) -> bytes:
        """Return the lease with its seal."""
        text = body_of({"number": self.number, "server": self.server, "target": self.target, "ends": self.ends})
        return _seal(key, text) + text

    @classmethod
    def of_ticket(cls, ticket: bytes, key: Key, server: str, *, now: float) -> Self:
        """Return the lease in a ticket; raises ``RpcError`` unless it is for ``server``, sealed, not over ``now``."""
        seal, text = ticket[:_SEAL_BYTES], ticket[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, _seal(key, text)):
            raise RpcError("the lease was not made by a tracker with this server's key")
        said = Fields.of(text)
        lease = cls(
            said.text("number", most=64), said.text("server", most=64), said.text("target", most=64),
            said.real("ends", high=1e12),
        )  # fmt: skip
        if lease.server != server:
            raise RpcError("the lease is for another server; ask the tracker again")
        if lease.ends < now:
            raise RpcError("the lease has ended; ask the tracker again")
        return lease


def _seal(key: Key, text: bytes) -> bytes:
    return hmac.digest(key, b"vta-rpc lease\0" + text, "sha256")
