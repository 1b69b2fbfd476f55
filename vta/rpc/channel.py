"""A client's connection: blocking, authenticated, one message at a time.

Tests: tests/vta/rpc/test_hostile.py.
"""

import ipaddress
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass

from vta.rpc.errors import LostError
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.handshake import ClientSide, HandshakeError
from vta.rpc.messages.key import Key
from vta.rpc.messages.seal import Seal
from vta.rpc.messages.wire import MESSAGE_BYTES, READ_BYTES, Frame, Frames, WireError, packed

__all__ = ["Address", "Channel", "is_loopback"]

_CONNECT_SECONDS = 10.0
_KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
"""After half a minute without a sign of life from the other machine, its connection is taken for broken."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, the key that it must have, and the certificate that it must show, if it is to show one."""

    host: str
    port: int
    key: Key
    certificate: str | None = None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Channel:
    """An open connection to a server that proved to have the key."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._socket = _connected(address)
        self._frames = Frames(MESSAGE_BYTES)
        self._buffer = memoryview(bytearray(READ_BYTES))
        try:
            self._seal, self.name = self._shake_hands()
        except BaseException:
            self.close()
            raise

    def send(self, body: bytes) -> None:
        """Send a message."""
        self._write(packed(self._seal.close(body)))

    def receive(self) -> bytes:
        """Return the body of the next message; raises ``LostError`` if the connection ends before it."""
        return self._seal.open(self._next())

    def wait_seconds(self, seconds: float | None) -> None:
        """Give up on a message after this time; None waits for as long as the other side lives."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        """End the connection."""
        with suppress(OSError):
            self._socket.close()

    def _shake_hands(self) -> tuple[Seal, str]:
        peer = str(self._socket.getpeername()[0])
        side = ClientSide(self.address.key, safe=isinstance(self._socket, ssl.SSLSocket) or is_loopback(peer))
        try:
            self._write(packed(Frame(0, side.reply(self._next().body), b"")))
            seal = side.finish(self._next().body)
        except (HandshakeError, WireError) as error:
            raise HandshakeError(f"{self.address}: {error}") from None
        except ValueError as error:
            raise HandshakeError(f"{self.address}: no vta server answers there ({error})") from None
        self._socket.settimeout(None)
        return seal, side.name

    def _write(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise LostError(f"{self.address}: the connection broke: {error.strerror or error}") from None

    def _next(self) -> Frame:
        while (frame := self._frames.next()) is None:
            try:
                count = self._socket.recv_into(self._buffer)
            except OSError as error:
                raise LostError(f"{self.address}: the connection broke: {error.strerror or error}") from None
            if not count:
                raise LostError(f"{self.address}: the server ended the connection")
            self._frames.feed(self._buffer[:count])
        return frame


def is_loopback(host: str) -> bool:
    """Whether an address is one of this machine that no network reaches."""
    try:
        address = ipaddress.ip_address(host.split("%", 1)[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool(address.is_loopback or (mapped is not None and mapped.is_loopback))


def tls_of_client(certificate: str) -> ssl.SSLContext:
    """Return what accepts servers that show this certificate (or one that it signed), whatever their host is called."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False  # the certificate is the server's own, and the key is proved besides
    try:
        context.load_verify_locations(certificate)
    except OSError as error:
        raise HandshakeError(f"{certificate}: no certificate can be read: {error.strerror or error}") from None
    return context


def _connected(address: Address) -> socket.socket:
    try:
        made = socket.create_connection((address.host, address.port), timeout=_CONNECT_SECONDS)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LostError(f"{address}: no server can be reached: {reason}") from None
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    if address.certificate is None:
        return made
    try:
        return tls_of_client(address.certificate).wrap_socket(made)
    except (OSError, HandshakeError) as error:
        made.close()
        if isinstance(error, HandshakeError):
            raise
        raise HandshakeError(f"{address}: TLS failed: {getattr(error, 'verify_message', '') or error}") from None


def answer_of(body: bytes) -> Fields:
    """Return an answer that is no error."""
    return Fields.of(body)
