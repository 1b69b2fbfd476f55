"""Who may talk: both sides prove that they have the shared key, and neither sends it.

The server sends a random challenge. The client answers with one of its own and the HMAC of both under the key; the
server then proves itself in the same way. What was recorded is of no use later, since the challenges are others. The
keys of the connection's seals follow from the same two challenges, so every connection has its own.

    server: {vta, version, name, nonce, sealed}
    client: {vta, version, nonce, proof}
    server: {proof} or {error, text}

Tests: tests/vta/rpc/test_handshake.py.
"""

import hmac
import secrets
from importlib.metadata import version

from isa.errors import VTAError
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.key import Key
from vta.rpc.messages.seal import Seal
from vta.rpc.messages.wire import PROTOCOL, body_of

__all__ = ["NONCE_BYTES", "ClientSide", "HandshakeError", "ServerSide"]

NONCE_BYTES = 32


class HandshakeError(VTAError, ConnectionError):
    """The other side has another key or another version, or wants less protection than there must be."""


def _mac(key: Key, role: bytes, server_nonce: bytes, client_nonce: bytes) -> bytes:
    return hmac.digest(key, b"vta-rpc " + bytes([PROTOCOL]) + role + b"\0" + server_nonce + client_nonce, "sha256")


def _version_sentence(theirs: int, software: str) -> str:
    mine = version("vta-toolchain")
    return (
        f"the other side speaks version {theirs} of the protocol (vta-toolchain {software}), and this one version "
        f"{PROTOCOL} (vta-toolchain {mine}); install the same version on both"
    )


class ServerSide:
    """The server's part, for one connection; ``sealed`` says whether its messages carry seals."""

    def __init__(self, key: Key, name: str, *, sealed: bool) -> None:
        self._key, self._name, self._sealed = key, name, sealed
        self._nonce = secrets.token_bytes(NONCE_BYTES)

    def greeting(self) -> bytes:
        """Return the first body."""
        return body_of(
            {
                "vta": PROTOCOL, "version": version("vta-toolchain"), "name": self._name, "nonce": self._nonce,
                "sealed": self._sealed,
            }
        )  # fmt: skip

    def answer(self, body: bytes) -> tuple[bytes, Seal]:
        """Return the body that proves the server to a client that proved itself, and the connection's seal.

        Raises ``HandshakeError`` for another version or a wrong proof.
        """
        said = Fields.of(body)
        theirs = said.number("vta")
        if theirs != PROTOCOL:
            raise HandshakeError(_version_sentence(theirs, said.text("version", most=64)))
        nonce, proof = said.data("nonce", most=NONCE_BYTES), said.data("proof", most=64)
        right = _mac(self._key, b"client", self._nonce, nonce)
        if len(nonce) != NONCE_BYTES or not hmac.compare_digest(proof, right):
            raise HandshakeError("the key is not the one of this server; give both the same key file")
        seal = Seal(
            _mac(self._key, b"to client", self._nonce, nonce),
            _mac(self._key, b"to server", self._nonce, nonce),
            sealed=self._sealed,
        )
        return body_of({"proof": _mac(self._key, b"server", self._nonce, nonce)}), seal


class ClientSide:
    """The client's part, for one connection; ``safe`` says that nobody can be in between (loopback, TLS)."""

    def __init__(self, key: Key, *, safe: bool) -> None:
        self._key, self._safe = key, safe
        self._nonce = secrets.token_bytes(NONCE_BYTES)
        self._theirs = b""
        self._sealed = True
        self.name = ""
        """What the server calls itself."""

    def reply(self, body: bytes) -> bytes:
        """Return the answer to the server's greeting; raises ``HandshakeError``."""
        said = Fields.of(body)
        theirs = said.number("vta")
        if theirs != PROTOCOL:
            raise HandshakeError(_version_sentence(theirs, said.text("version", most=64)))
        self.name = said.text("name", most=64)
        self._theirs = said.data("nonce", most=NONCE_BYTES)
        self._sealed = said.flag("sealed")
        if len(self._theirs) != NONCE_BYTES:
            raise HandshakeError("the server's challenge is too short")
        if not (self._sealed or self._safe):
            raise HandshakeError("the server wants messages without seals, over a network and without TLS")
        return body_of(
            {
                "vta": PROTOCOL, "version": version("vta-toolchain"), "nonce": self._nonce,
                "proof": _mac(self._key, b"client", self._theirs, self._nonce),
            }
        )  # fmt: skip

    def finish(self, body: bytes) -> Seal:
        """Return the connection's seal, if the server has proved itself; raises ``HandshakeError``."""
        said = Fields.of(body)
        if said.has("error"):
            raise HandshakeError(f"refused: {said.text('text')}")
        right = _mac(self._key, b"server", self._theirs, self._nonce)
        if not hmac.compare_digest(said.data("proof", most=64), right):
            raise HandshakeError("the server did not prove that it has the key; somebody else may answer in its place")
        return Seal(
            _mac(self._key, b"to server", self._theirs, self._nonce),
            _mac(self._key, b"to client", self._theirs, self._nonce),
            sealed=self._sealed,
        )
