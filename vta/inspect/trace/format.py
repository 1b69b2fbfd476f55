"""The framing of a trace file, documented in docs/trace-format.md: a magic, then records that stand alone.

A record is: kind (4 ASCII letters), length of the payload (little-endian uint64), CRC-32 of the payload (uint32), the
payload (``vta.inspect.trace.columns``). Kinds: HEAD first, then LNCH for each launch, END! last; a file without END!
was cut off and is read up to its last whole record. Tests: tests/vta/inspect/trace/test_trace_file.py.
"""

import struct
import zlib
from typing import IO

__all__ = ["END", "HEAD", "LAUNCH", "MAGIC", "VERSION", "read_record", "write_all", "write_record"]

MAGIC = b"VTATRAC\n"
VERSION = 1
HEAD, LAUNCH, END = b"HEAD", b"LNCH", b"END!"

_RECORD = struct.Struct("<4sQI")
_PIECE = 1 << 24
"""Bytes that are read at a time: a damaged length may be more than there is memory."""


def write_record(file: IO[bytes], kind: bytes, payload: bytes) -> None:
    """Append a record."""
    write_all(file, _RECORD.pack(kind, len(payload), zlib.crc32(payload)) + payload)


def write_all(file: IO[bytes], data: bytes) -> None:
    """Append ``data``; ``file`` may be one without a buffer, which takes a part at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def read_record(file: IO[bytes]) -> tuple[bytes, bytes] | None:
    """Return the next record's kind and payload, None where the file ends, within a record or after one.

    Raises ``ValueError`` for a payload with a different checksum.
    """
    head = file.read(_RECORD.size)
    if len(head) < _RECORD.size:
        return None
    kind, length, checksum = _RECORD.unpack(head)
    if kind not in (HEAD, LAUNCH, END):
        raise ValueError(f"expected a record HEAD, LNCH or END!, found {kind!r}")
    payload = _read(file, length)
    if len(payload) < length:
        return None
    if zlib.crc32(payload) != checksum:
        raise ValueError(f"the checksum of record {kind.decode()} is wrong")
    return kind, payload


def _read(file: IO[bytes], length: int) -> bytes:
    """Return the next ``length`` bytes, or those up to the end of the file."""
    pieces = []
    while length and (piece := file.read(min(length, _PIECE))):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)
