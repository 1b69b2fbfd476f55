"""The bus of a board over a serial port, with LiteX's bridge: a command, a number of words, an address, words.

Numbers are big-endian, addresses count words. The bridge checks nothing, answers reads alone, and forgets what is left
half for a tenth of a second. So that noise is found out, and is no worse than an error:

- Every read is made until two in a row agree, with nothing behind them.
- A write ends with a word that changes, and is read back with the two words behind it, which must not have: a request
  to read is all that a bridge can take for more data. What is there already is not written at all.
- A write that does not read back may have gone anywhere. It is an error at once; nothing is known of memory then.
- A byte that comes twice leaves the bridge with the last byte of a command as the first one of the next. Reads begin
  at multiples of eight words, so that theirs is no command; behind a write comes a read, and behind a read a wait for
  the answer, in which a half command is forgotten.

Tests:
``tests/runtime/drivers/test_uart_bridge.py``.
"""

from collections.abc import Sequence

import numpy as np

from runtime.drivers.links import ByteStream, LinkError, Words

__all__ = ["MOST_WORDS", "UartBus", "encode_read", "encode_write"]

MOST_WORDS = 64
"""Words of a transfer; the bridge can do 255, and some are read with them."""

_ALIGNED = 32
"""Bytes: where reads begin."""

_BEHIND = 2
"""Words that are looked at behind a write."""

_WRITE, _READ = 1, 2

_IDLE = 0.15
"""Seconds after which the bridge has forgotten half a command."""

_SILENCE = 0.002
"""Seconds behind an answer in which a byte more would come, if one came twice."""

_ATTEMPTS = 4

_SECONDS = 0.5
"""How long an answer may take."""


def encode_write(address: int, words: Words | Sequence[int]) -> bytes:
    """Return the command that writes words from ``address`` on."""
    values = np.asarray(words, np.uint32)
    return bytes([_WRITE, len(values)]) + (address // 4).to_bytes(4, "big") + values.astype(">u4").tobytes()


def encode_read(address: int, count: int) -> bytes:
    """Return the command that reads ``count`` words."""
    return bytes([_READ, count]) + (address // 4).to_bytes(4, "big")


class UartBus:
    """A ``Bus`` over a stream of bytes."""

    def __init__(self, stream: ByteStream, *, attempts: int = _ATTEMPTS, seconds: float = _SECONDS) -> None:
        self._stream = stream
        self._attempts = attempts
        self._seconds = seconds

    def read(self, address: int, count: int) -> Words:
        """Return ``count`` words from ``address`` on, each part as two answers agree on it."""
        result = np.empty(count, np.uint32)
        for begin in range(0, count, MOST_WORDS):
            part = result[begin : begin + MOST_WORDS]
            part[:] = self._agreed(address + 4 * begin, len(part))
        return result

    def sample(self, address: int) -> int:
        """Return a word that may change all the time, so that no second answer can confirm it."""
        return int(self._answered(address, 1)[0])

    def write(self, address: int, words: Words | Sequence[int]) -> None:
        """Write the words that are not there yet, and read them back."""
        values = np.asarray(words, np.uint32)
        for begin in range(0, len(values), MOST_WORDS):
            part = values[begin : begin + MOST_WORDS]
            place = address + 4 * begin
            before = self._agreed(place, len(part) + _BEHIND)
            changed = np.flatnonzero(before[:-_BEHIND] != part)
            if changed.size:
                first, end = int(changed[0]), int(changed[-1]) + 1
                behind = [*part[end:], *before[-_BEHIND:]][:_BEHIND]
                self._write(place + 4 * first, part[first:end], behind)

    def strobe(self, address: int, value: int) -> None:
        """Send a write, once."""
        self._stream.send(encode_write(address, [value]))

    def close(self) -> None:
        """Give the port back."""
        self._stream.close()

    def _write(self, address: int, values: Words, behind: Sequence[int]) -> None:
        """Write words behind which there are these."""
        self._stream.send(encode_write(address, values))
        wanted = np.concatenate([values, np.asarray(behind, np.uint32)])
        found = self._answered(address, len(wanted))
        if not np.array_equal(found, wanted):
            found = self._agreed(address, len(wanted))  # perhaps the answer was changed, and not the write
        if not np.array_equal(found, wanted):
            wrong = int(np.flatnonzero(found != wanted)[0])
            raise LinkError(
                f"{self._stream.name}: {len(values)} words were written to {address:#x}, and word {wrong} reads as "
                f"{int(found[wrong]):#x}, not {int(wanted[wrong]):#x}; the serial line loses or changes bytes"
            )

    def _agreed(self, address: int, count: int) -> Words:
        """Return words that two answers in a row agree on."""
        found = self._answered(address, count)
        for _ in range(self._attempts):
            again = self._answered(address, count)
            if np.array_equal(found, again):
                return again
            found = again
        raise LinkError(
            f"{self._stream.name}: {self._attempts + 1} answers for {count} words at {address:#x} are all different; "
            "the serial line changes bytes"
        )

    def _answered(self, address: int, count: int) -> Words:
        """Return the first whole answer."""
        begin = address // _ALIGNED * _ALIGNED
        skipped = (address - begin) // 4
        asked = skipped + count
        for _ in range(self._attempts):
            self._stream.receive(1 << 16, 0)  # nothing of an earlier answer
            self._stream.send(encode_read(begin, asked))
            data = self._stream.receive(4 * asked, self._seconds)
            if len(data) == 4 * asked and not self._stream.receive(1, _SILENCE):
                return np.frombuffer(data, ">u4").astype(np.uint32)[skipped:]
            self._stream.receive(1 << 16, _IDLE)  # until the bridge has forgotten what it has half of
        raise LinkError(
            f"{self._stream.name}: no answer to {self._attempts} requests for {count} words at {address:#x}; "
            "is the board on, and the cable in?"
        )
