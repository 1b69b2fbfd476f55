"""Clients for tests: a session with the tests' key, and a connection that says what it likes."""

import socket
import time

from tests.support.remote.servers import KEY
from vta.rpc.caller import Caller
from vta.rpc.channel import Address
from vta.rpc.messages.handshake import ClientSide
from vta.rpc.messages.key import Key
from vta.rpc.messages.seal import Seal
from vta.rpc.messages.wire import MESSAGE_BYTES, Frame, Frames, packed
from vta.rpc.remote import RemoteSession


def session_on(port: int, *, reconnect_seconds: float = 10.0, target: str = "", **opening: object) -> RemoteSession:
    """Open a session on a port of loopback."""
    address = Address("127.0.0.1", port, KEY)
    return RemoteSession(Caller(address, {"target": target, **opening}, reconnect_seconds=reconnect_seconds))


class RawClient:
    """A connection on which a test sends bytes of its own."""

    def __init__(self, port: int, *, seconds: float = 300.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self.frames = Frames(MESSAGE_BYTES)

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self.socket.sendall(data)

    def frame(self) -> Frame | None:
        """Return the next frame, None at the end of the connection."""
        while (frame := self.frames.next()) is None:
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionError:
                return None
            if not data:
                return None
            self.frames.feed(data)
        return frame

    def ends(self) -> bool:
        """Wait until the other side ends the connection."""
        while self.frame() is not None:
            pass
        return True

    def shake_hands(self, key: Key = KEY) -> Seal:
        """Prove the key."""
        side = ClientSide(key, safe=True)
        greeting = self.frame()
        assert greeting is not None
        self.send(packed(Frame(0, side.reply(greeting.body), b"")))
        answer = self.frame()
        assert answer is not None
        return side.finish(answer.body)


def until(condition: object, seconds: float = 300.0) -> bool:
    """Wait until ``condition()`` holds; return whether it did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]  # a function of the test
            return True
        time.sleep(0.02)
    return False
