"""A board behind Etherbone, written from the protocol: requests in frames, executed on words, answered.

``Noise`` is the cable: frames are lost, come twice, or have bits turned over, which Ethernet's checksum finds.
"""

import random
import struct
import zlib
from collections import deque
from dataclasses import dataclass

from tests.support.drivers.word_space import WordSpace

__all__ = ["EtherboneBoard", "Noise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Chances for each frame, in either direction."""

    lost: float = 0.0
    repeated: float = 0.0
    flipped: float = 0.0


class EtherboneBoard:
    """The other side of a cable: ``Datagrams`` for the bus under test. ``plugged`` is the cable's connector."""

    name = "the board"

    def __init__(self, words: WordSpace, noise: Noise | None = None, *, seed: int = 1) -> None:
        self.words = words
        self.noise = Noise() if noise is None else noise
        self.random = random.Random(seed)
        self.plugged = True
        self.unplugged_after: int | None = None
        self.frames = 0
        self.flips = 0
        self.undetected = 0
        self._answers: deque[bytes] = deque()

    def send(self, packet: bytes) -> None:
        for arrived in self._carried(packet):
            answer = self.execute(arrived)
            if answer:
                self._answers.extend(self._carried(answer))

    def receive(self, _: float) -> bytes | None:
        return self._answers.popleft() if self._answers else None

    def close(self) -> None:
        self.plugged = False

    def _carried(self, packet: bytes) -> list[bytes]:
        """Return what arrives of a packet."""
        self.frames += 1
        if self.unplugged_after is not None and self.frames > self.unplugged_after:
            self.plugged = False
        if not self.plugged or self.random.random() < self.noise.lost:
            return []
        frame = bytearray(packet + struct.pack("<I", zlib.crc32(packet)))
        if self.random.random() < self.noise.flipped:
            self.flips += 1
            for _ in range(self.random.randint(1, 4)):
                bit = self.random.randrange(8 * len(frame))
                frame[bit // 8] ^= 1 << bit % 8
        body, check = bytes(frame[:-4]), struct.unpack("<I", frame[-4:])[0]
        if zlib.crc32(body) != check:
            return []
        self.undetected += body != packet
        return [body] * (1 + (self.random.random() < self.noise.repeated))

    def execute(self, packet: bytes) -> bytes:
        """Do what a request says; return its answer, which is empty for writes."""
        if packet[:4] != bytes([0x4E, 0x6F, 0x10, 0x44]):
            return b""
        writes, reads = packet[10], packet[11]
        body = struct.unpack(f">{(len(packet) - 12) // 4}I", packet[12:])
        if writes:
            base, *words = body[: writes + 1]
            for index, word in enumerate(words):
                self.words.write(base + 4 * index, word)
            return b""
        back, *addresses = body[: reads + 1]
        values = [self.words.read(address) for address in addresses]
        return packet[:8] + bytes([0, 15, reads, 0]) + struct.pack(f">{reads + 1}I", back, *values)
