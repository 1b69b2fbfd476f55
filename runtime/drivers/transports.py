"""What carries a link on a real machine: datagrams over a network, bytes over a serial port.

Tests: ``tests/runtime/drivers/test_transports.py``.
"""

import os
import select
import socket
import termios
import time
import tty
from contextlib import suppress

from runtime.drivers.links import LinkError

__all__ = ["SerialPort", "UdpSocket"]

_LARGEST = 2048
"""Bytes of a packet, at most."""


class UdpSocket:
    """Datagrams to and from one address. LiteEth answers to its own port number, so ours is the same.

    It is that port of the address alone from which the board is reached, and of no other network.
    """

    def __init__(self, ip: str, port: int) -> None:
        self.name = f"the board at {ip}:{port}"
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((_way_to(ip, port), port))
            self._socket.connect((ip, port))
        except OSError as error:
            self._socket.close()
            raise LinkError(f"{self.name}: no packets can be sent there ({error.strerror})") from None

    def send(self, packet: bytes) -> None:
        """Send a packet. One that is known not to have gone is lost like any other, and is sent again."""
        with suppress(OSError):
            self._socket.send(packet)

    def receive(self, seconds: float) -> bytes | None:
        """Return the next packet, None if none comes within ``seconds``."""
        self._socket.settimeout(max(seconds, 0.0001))
        try:
            return self._socket.recv(_LARGEST)
        except TimeoutError:
            return None
        except OSError:  # the other side's machine is there, and refuses; perhaps it comes up
            time.sleep(seconds)
            return None

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()


def _way_to(ip: str, port: int) -> str:
    """Return the address of this computer's from which packets go there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.connect((ip, port))  # sends nothing
        name: str = asked.getsockname()[0]
        return name


class SerialPort:
    """A serial port of Linux, eight bits, no parity, no flow control."""

    def __init__(self, path: str, baud: int) -> None:
        self.name = f"the board at {path}"
        speed = getattr(termios, f"B{baud}", None)
        if speed is None:
            raise LinkError(f"{self.name}: this system has no serial speed of {baud}")
        try:
            self._file = os.open(path, os.O_RDWR | os.O_NOCTTY)
        except OSError as error:
            raise LinkError(f"{self.name}: it cannot be opened ({error.strerror})") from None
        try:
            tty.setraw(self._file)
            attributes = termios.tcgetattr(self._file)
            attributes[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
            attributes[4] = attributes[5] = speed
            termios.tcsetattr(self._file, termios.TCSAFLUSH, attributes)
        except termios.error as error:
            os.close(self._file)
            raise LinkError(f"{self.name}: this is no serial port ({error.args[-1]})") from None

    def send(self, data: bytes) -> None:
        """Send bytes; ``LinkError`` if the port is gone."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            raise LinkError(f"{self.name}: it is gone ({error.strerror})") from None

    def receive(self, count: int, seconds: float) -> bytes:
        """Return ``count`` bytes, fewer if no more come within ``seconds``; ``LinkError`` if the port is gone."""
        found = bytearray()
        end = time.monotonic() + seconds
        while len(found) < count and (left := end - time.monotonic()) > 0:
            if not select.select([self._file], [], [], left)[0]:
                break
            try:
                data = os.read(self._file, count - len(found))
            except OSError as error:
                raise LinkError(f"{self.name}: it is gone ({error.strerror})") from None
            if not data:
                raise LinkError(f"{self.name}: it is gone (nothing more can be read)")
            found += data
        return bytes(found)

    def close(self) -> None:
        """Give the port back."""
        os.close(self._file)
