"""What a driver has of a board: a bus of 32-bit words, and what carries its requests.

Tests: ``tests/runtime/drivers/test_etherbone.py``, ``tests/runtime/drivers/test_uart_bridge.py``.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from runtime.devices.device import DeviceError

__all__ = ["Bus", "ByteStream", "Datagrams", "LinkError", "Words"]

Words = npt.NDArray[np.uint32]


class LinkError(DeviceError):
    """The board does not answer, or not with what was asked for; nothing is known of what it holds any more."""


class Bus(Protocol):
    """32-bit words at byte addresses that are multiples of four."""

    def read(self, address: int, count: int) -> Words:
        """Return ``count`` words from ``address`` on, as they are; ``LinkError`` if that cannot be made sure."""
        ...

    def sample(self, address: int) -> int:
        """Return a word that may change all the time: what is read once, which noise may have changed."""
        ...

    def write(self, address: int, words: Words | Sequence[int]) -> None:
        """Write words that read back as they were written, perhaps several times; ``LinkError`` if they do not."""
        ...

    def strobe(self, address: int, value: int) -> None:
        """Write a word that starts something and does not read back: it may be lost, or come twice where packets do."""
        ...

    def close(self) -> None:
        """Give back what carries the requests."""
        ...


class Datagrams(Protocol):
    """Carries whole packets, or loses them; they come in the order in which they were sent."""

    name: str
    """Who the other side is, for messages."""

    def send(self, packet: bytes) -> None:
        """Send a packet; ``LinkError`` where that is known not to work."""
        ...

    def receive(self, seconds: float) -> bytes | None:
        """Return the next packet, None if none comes within ``seconds``."""
        ...

    def close(self) -> None:
        """Give the port back."""
        ...


class ByteStream(Protocol):
    """Carries bytes in order, and may lose or change some."""

    name: str

    def send(self, data: bytes) -> None:
        """Send bytes; ``LinkError`` where that is known not to work."""
        ...

    def receive(self, count: int, seconds: float) -> bytes:
        """Return ``count`` bytes, fewer if no more come within ``seconds``."""
        ...

    def close(self) -> None:
        """Give the port back."""
        ...
