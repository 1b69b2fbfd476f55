"""The payload of a trace record: a JSON head and columns of numbers, compressed.

A payload is, before zlib: the head's length (little-endian uint32), the head (JSON with a member ``columns``: name,
numpy type and length of each), and the columns one behind the other. Columns of int64 are stored as differences, in
the narrowest of int8 to int64 that holds them. Imports numpy alone. Tests: tests/vta/trace/test_columns.py.
"""

import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["pack", "unpack"]

Column = npt.NDArray[Any]

_LENGTH = struct.Struct("<I")
_LEVEL = 1
_NARROW = ("<i1", "<i2", "<i4", "<i8")


def pack(head: Mapping[str, object], columns: Mapping[str, Column]) -> bytes:
    """Return the payload of one-dimensional ``columns`` (int64, or unsigned of any size) and what ``head`` says."""
    listed, parts = [], []
    for name, column in columns.items():
        stored = _differences(column) if column.dtype == np.int64 else column.astype(column.dtype.newbyteorder("<"))
        listed.append([name, column.dtype.name, stored.dtype.str, len(column)])
        parts.append(stored.tobytes())
    text = json.dumps({**head, "columns": listed}, separators=(",", ":")).encode()
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


def _differences(column: Column) -> Column:
    steps = np.diff(column, prepend=np.int64(0))
    low, high = (int(steps.min()), int(steps.max())) if steps.size else (0, 0)
    return steps.astype(next(kind for kind in _NARROW if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max))
