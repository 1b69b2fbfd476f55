"""The payload of a trace record: a JSON head and columns of numbers, compressed.

A payload is, before zlib: the head's length (little-endian uint32), the head (JSON with a member ``columns``: name,
numpy type and length of each), and the columns one behind the other. Columns of int64 are stored as differences, in the
narrowest of int8 to int64 that holds them. Tests: tests/vta/inspect/trace/test_columns.py.
"""

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["pack", "unpack"]

Column = npt.NDArray[Any]

_LENGTH = struct.Struct("<I")
_LEVEL = 1
_JSON = json.JSONEncoder(separators=(",", ":"))
_NARROW = ("<i1", "<i2", "<i4", "<i8")


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


def unpack(payload: bytes) -> tuple[dict[str, Any], dict[str, Column]]:
    """Return the head and the columns of a payload. ``ValueError`` if it is not one."""
    try:
        data = zlib.decompress(payload)
        (length,) = _LENGTH.unpack_from(data)
        head = json.loads(data[_LENGTH.size : _LENGTH.size + length])
        place, columns = _LENGTH.size + length, {}
        for name, dtype, stored, count in head.pop("columns"):
            column = np.frombuffer(data, stored, count, place)
            place += column.nbytes
            columns[name] = np.cumsum(column, dtype=np.int64) if dtype == "int64" else column.astype(dtype)
    except (zlib.error, struct.error, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"no columns: {error}") from None
    return head, columns


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
