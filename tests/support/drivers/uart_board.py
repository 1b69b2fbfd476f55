"""LiteX's serial bridge, byte by byte, on words; and a line that changes, loses and repeats bytes.

Time passes where somebody waits for bytes: after a tenth of a second in the middle of a command the bridge forgets it.
"""

import random
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass

from tests.support.drivers.word_space import WordSpace

__all__ = ["LineNoise", "UartBoard"]

_FORGETS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class LineNoise:
    """Chances for each byte, in either direction."""

    lost: float = 0.0
    repeated: float = 0.0
    flipped: float = 0.0


class UartBoard:
    """The other side of a serial line: a ``ByteStream`` for the bus under test."""

    name = "the board"

    def __init__(self, words: WordSpace, noise: LineNoise | None = None, *, seed: int = 1) -> None:
        self.words = words
        self.noise = LineNoise() if noise is None else noise
        self.random = random.Random(seed)
        self.plugged = True
        self.faults = 0
        self._back: deque[int] = deque()
        self._bridge = self._commands()
        next(self._bridge)

    def send(self, data: bytes) -> None:
        for byte in self._carried(data):
            self._bridge.send(byte)

    def receive(self, count: int, seconds: float) -> bytes:
        found = bytes(self._back.popleft() for _ in range(min(count, len(self._back))))
        if len(found) < count and seconds >= _FORGETS:
            self._bridge = self._commands()
            next(self._bridge)
        return found

    def close(self) -> None:
        self.plugged = False

    def _carried(self, data: bytes) -> bytes:
        if not self.plugged:
            return b""
        result = bytearray()
        for byte in data:
            roll = self.random.random()
            noise = self.noise
            if roll < noise.lost:
                self.faults += 1
            elif roll < noise.lost + noise.repeated:
                self.faults += 1
                result += bytes([byte, byte])
            elif roll < noise.lost + noise.repeated + noise.flipped:
                self.faults += 1
                result.append(byte ^ 1 << self.random.randrange(8))
            else:
                result.append(byte)
        return bytes(result)

    def _commands(self) -> Generator[None, int, None]:
        """Take bytes, and do what they say; a number of words of 0 means 256."""
        while True:
            command, length = (yield), (yield)
            address = 0
            for _ in range(4):
                address = address << 8 | (yield)
            if command not in (1, 2, 3, 4):
                continue
            step = 1 if command in (1, 2) else 0
            for index in range(length or 256):
                place = 4 * (address + step * index) & 0xFFFF_FFFF
                if command in (2, 4):
                    word = self.words.read(place)
                    self._back.extend(self._carried(word.to_bytes(4, "big")))
                    continue
                word = 0
                for _ in range(4):
                    word = word << 8 | (yield)
                self.words.write(place, word)
