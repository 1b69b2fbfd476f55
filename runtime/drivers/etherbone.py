"""The bus of a board over Etherbone as LiteEth has it: 32 bits of address and data, one record a packet.

A packet has a header of eight bytes (magic 4e 6f, version and flags, sizes) and a record: four bytes of header, then
for writes the address and the words, for reads a return address and the addresses. Numbers are big-endian. The answer
to reads is a record of writes to the return address, which nobody interprets: here it counts the requests, so that an
answer that comes late, or twice, is told from the one that is waited for. Writes are not answered; they are read back.
Ethernet's own checksum drops packets that were changed on the way. Tests: ``tests/runtime/drivers/test_etherbone.py``.
"""

import time
from collections.abc import Sequence

import numpy as np

from runtime.drivers.links import Datagrams, LinkError, Words

__all__ = ["MOST_WORDS", "EtherboneBus", "decode_answer", "encode_reads", "encode_writes"]

MOST_WORDS = 128
"""Words of a packet."""

_HEADER = bytes.fromhex("4e6f104400000000")
_HEADER_BYTES = len(_HEADER)

_ALL_BYTES = 0x0F

_FIRST_WORDS = 8
"""Words that are read back first: while a long write is being done, the board can keep no more than a short packet."""

_ATTEMPTS = 12
_SECONDS = 0.1


def encode_writes(address: int, words: Words | Sequence[int]) -> bytes:
    """Return the packet that writes words from ``address`` on."""
    values = np.asarray(words, np.uint32)
    record = bytes([0, _ALL_BYTES, len(values), 0]) + address.to_bytes(4, "big") + values.astype(">u4").tobytes()
    return _HEADER + record


def encode_reads(addresses: Sequence[int], *, number: int) -> bytes:
    """Return the packet that reads words; the answer carries ``number``."""
    record = bytes([0, _ALL_BYTES, 0, len(addresses)]) + number.to_bytes(4, "big")
    return _HEADER + record + np.asarray(addresses, np.uint32).astype(">u4").tobytes()


def decode_answer(packet: bytes) -> tuple[int, Words] | None:
    """Return the number and the words of an answer; None if the packet is no answer to reads."""
    body = _HEADER_BYTES + 4
    if packet[:2] != _HEADER[:2] or len(packet) < body + 4:
        return None
    count = packet[_HEADER_BYTES + 2]
    words = packet[body + 4 : body + 4 + 4 * count]
    if not count or len(words) != 4 * count:
        return None
    return int.from_bytes(packet[body : body + 4], "big"), np.frombuffer(words, ">u4").astype(np.uint32)


class EtherboneBus:
    """A ``Bus`` over datagrams. What is lost is sent again, ``attempts`` times at ``seconds``; then it is an error."""

    def __init__(self, datagrams: Datagrams, *, attempts: int = _ATTEMPTS, seconds: float = _SECONDS) -> None:
        self._datagrams = datagrams
        self._attempts = attempts
        self._seconds = seconds
        self._number = time.time_ns() & 0xFFFF_FFFF  # an answer to a program before this one is none to this one

    def read(self, address: int, count: int) -> Words:
        """Return ``count`` words from ``address`` on."""
        result = np.empty(count, np.uint32)
        for begin in range(0, count, MOST_WORDS):
            part = result[begin : begin + MOST_WORDS]
            part[:] = self._read(address + 4 * begin, len(part))
        return result

    def sample(self, address: int) -> int:
        """Return a word that may change all the time."""
        return int(self._read(address, 1)[0])

    def write(self, address: int, words: Words | Sequence[int]) -> None:
        """Write words, and read them back."""
        values = np.asarray(words, np.uint32)
        for begin in range(0, len(values), MOST_WORDS):
            self._write(address + 4 * begin, values[begin : begin + MOST_WORDS])

    def strobe(self, address: int, value: int) -> None:
        """Send a write, once."""
        self._datagrams.send(encode_writes(address, [value]))

    def close(self) -> None:
        """Give the port back."""
        self._datagrams.close()

    def _write(self, address: int, values: Words) -> None:
        for _ in range(self._attempts):
            self._datagrams.send(encode_writes(address, values))
            first = self._read(address, min(len(values), _FIRST_WORDS))
            rest = self._read(address + 4 * len(first), len(values) - len(first))
            found = np.concatenate([first, rest])
            if np.array_equal(found, values):
                return
        wrong = int(np.flatnonzero(found != values)[0])
        raise LinkError(
            f"{self._datagrams.name}: {len(values)} words were written to {address:#x} {self._attempts} times, and "
            f"word {wrong} reads as {int(found[wrong]):#x}, not {int(values[wrong]):#x}"
        )

    def _read(self, address: int, count: int) -> Words:
        """Read the words of one packet."""
        if not count:
            return np.empty(0, np.uint32)
        for _ in range(self._attempts):
            self._number = (self._number + 1) & 0xFFFF_FFFF
            addresses = [address + 4 * index for index in range(count)]
            self._datagrams.send(encode_reads(addresses, number=self._number))
            answer = self._answer(count)
            if answer is not None:
                return answer
        raise LinkError(
            f"{self._datagrams.name}: no answer to {self._attempts} requests for {count} words at {address:#x}; "
            "is the board on, and the cable in?"
        )

    def _answer(self, count: int) -> Words | None:
        """Return the words that were asked for last, None if they do not come in time."""
        end = time.monotonic() + self._seconds
        while (left := end - time.monotonic()) > 0:
            packet = self._datagrams.receive(left)
            if packet is None:
                return None
            answer = decode_answer(packet)
            if answer is not None and answer[0] == self._number and len(answer[1]) == count:
                return answer[1]
        return None
