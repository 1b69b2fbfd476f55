"""The payload of a trace record: a JSON head and columns of numbers, compressed.

A payload is, before zlib: the head's length (little-endian uint32), the head (JSON with a member ``columns``: name,
numpy type and length of each), and the columns one after the other. Columns of int64 are stored as differences, in the
narrowest of int8 to int64 that holds them. Tests: tests/vta/inspect/trace/test_columns.py.
"""

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isa.limits import DEFAULT_LIMITS, JSON_COST, Budget
from isa.printable import short

__all__ = ["pack", "unpack"]

Column = npt.NDArray[Any]

_LENGTH = struct.Struct("<I")
_LEVEL = 1
_PIECE = 1 << 24
"""Bytes that are decompressed at a time."""

_JSON = json.JSONEncoder(separators=(",", ":"))
_NARROW = ("<i1", "<i2", "<i4", "<i8")

_STORED: Mapping[str, tuple[str, ...]] = {
    "int64": tuple(np.dtype(name).str for name in _NARROW),
    "uint8": ("|u1",),
    "uint16": ("<u2",),
    "uint32": ("<u4",),
    "uint64": ("<u8",),
}
"""Type of a column to the types that it may be stored in."""


def pack(head: Mapping[str, object], columns: Mapping[str, Column]) -> bytes:
    """Return the payload of one-dimensional ``columns`` (int64, or unsigned of any size) and what ``head`` says."""
    listed, parts = [], []
    differences = iter(_differences([column for column in columns.values() if column.dtype == np.int64]))
    for name, column in columns.items():
        stored = next(differences) if column.dtype == np.int64 else column.astype(column.dtype.newbyteorder("<"))
        listed.append([name, _name(column), stored.dtype.str, len(column)])
        parts.append(stored.tobytes())
    text = _JSON.encode({**head, "columns": listed}).encode()
    return zlib.compress(b"".join((_LENGTH.pack(len(text)), text, *parts)), _LEVEL)


def unpack(payload: bytes, budget: Budget | None = None) -> tuple[dict[str, Any], dict[str, Column]]:
    """Return the head and the columns of a payload. ``ValueError`` if it is not one.

    ``LimitError`` if it takes more than is left of ``budget``, by default that of a file of its size.
    """
    budget = budget or DEFAULT_LIMITS.budget(len(payload))
    data = _decompressed(payload, budget)
    head, place = _head(data, budget)
    columns: dict[str, Column] = {}
    listed = head.pop("columns", None)
    for entry in listed if isinstance(listed, list) else [listed]:
        name, kind, stored, count = _described(entry)
        end = place + count * stored.itemsize
        if name in columns or end > len(data):
            raise ValueError(f"no columns: {short(name)} is there twice, or reaches beyond the end")
        budget.spend(count * kind.itemsize, f"column {short(name)}")
        column = np.frombuffer(data, stored, count, place)
        place = end
        columns[name] = np.cumsum(column, dtype=np.int64) if kind == np.int64 else column.astype(kind)
    if place != len(data):
        raise ValueError(f"no columns: {len(data) - place} bytes belong to nothing")
    return head, columns


def _decompressed(payload: bytes, budget: Budget) -> bytearray:
    machine, data, rest = zlib.decompressobj(), bytearray(), payload
    while not machine.eof:
        try:
            piece = machine.decompress(rest, _PIECE)
        except zlib.error as error:
            raise ValueError(f"no columns: {error}") from None
        if not piece:
            break
        data += piece
        rest = machine.unconsumed_tail
        if len(data) > budget.left:
            break
    budget.spend(len(data), "what is compressed in it")
    if not machine.eof or machine.unused_data:
        raise ValueError("no columns: what is compressed ends early, or something follows it")
    return data


def _head(data: bytearray, budget: Budget) -> tuple[dict[str, Any], int]:
    """Return the head, and where it ends."""
    if len(data) < _LENGTH.size:
        raise ValueError("no columns: no head")
    (length,) = _LENGTH.unpack_from(data)
    text = data[_LENGTH.size : _LENGTH.size + length]
    budget.spend(JSON_COST * len(text), "the head")
    try:
        head = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise ValueError("no columns: the head is not JSON") from None
    if len(text) < length or not isinstance(head, dict):
        raise ValueError("no columns: the head is not a JSON object")
    return head, _LENGTH.size + length


def _no_number(name: str) -> None:
    """Refuse NaN and infinities, which Python's reader takes for numbers."""
    raise ValueError(name)


def _described(entry: object) -> tuple[str, np.dtype[Any], np.dtype[Any], int]:
    """Return a column's name, its type, the type that it is stored in, and its length."""
    match entry:
        case [str(name), str(kind), str(stored), int(count)] if stored in _STORED.get(kind, ()) and count >= 0:
            return name, np.dtype(kind), np.dtype(stored), int(count)
        case _:
            raise ValueError(f"no columns: {short(entry)} describes none")


def _name(column: Column) -> str:
    """Return ``column.dtype.name``, which numpy takes long to put together."""
    return f"{'u' * (column.dtype.kind == 'u')}int{8 * column.dtype.itemsize}"


def _differences(columns: Sequence[Column]) -> list[Column]:
    """Return the differences of each column (the first number included), as narrow as they may be stored.

    All columns go through numpy at once: most are short, and a call costs as much as hundreds of numbers.
    """
    filled = [column for column in columns if column.size]
    if not filled:
        return [column.astype(_NARROW[0]) for column in columns]
    ends = np.cumsum([len(column) for column in filled])
    whole = np.concatenate(filled)
    steps, begins = whole.copy(), np.concatenate([[0], ends[:-1]])
    steps[1:] -= whole[:-1]
    steps[begins] = whole[begins]
    lows, highs = np.minimum.reduceat(steps, begins).tolist(), np.maximum.reduceat(steps, begins).tolist()
    bounds = zip(begins.tolist(), ends.tolist(), lows, highs, strict=True)
    found = iter([steps[begin:end].astype(_narrowest(low, high)) for begin, end, low, high in bounds])
    return [next(found) if column.size else column.astype(_NARROW[0]) for column in columns]


def _narrowest(low: int, high: int) -> str:
    """Return the narrowest type that holds both numbers."""
    bits = max(~low if low < 0 else low, ~high if high < 0 else high).bit_length() + 1
    return _NARROW[max(bits - 1, 7).bit_length() - 3]
