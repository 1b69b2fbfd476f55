"""Columns of a trace record: any numbers come back as they were, and damage is noticed."""

import json
import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.inspect.trace.columns import pack, unpack

INT64 = st.integers(-(1 << 62), (1 << 62) - 1)


@given(st.lists(INT64), st.lists(st.integers(0, 255)), st.lists(st.integers(0, (1 << 64) - 1)))
def test_columns_come_back_as_they_were(signed: list[int], small: list[int], words: list[int]) -> None:
    columns: dict[str, npt.NDArray[Any]] = {
        "signed": np.array(signed, np.int64),
        "small": np.array(small, np.uint8),
        "words": np.array(words, np.uint64),
    }
    head, found = unpack(pack({"name": "x", "list": [1, None]}, columns))
    assert head == {"name": "x", "list": [1, None]}
    assert list(found) == list(columns)
    for name, column in columns.items():
        assert found[name].dtype == column.dtype
        assert found[name].tolist() == column.tolist()


def test_ascending_times_take_a_byte_each_before_compression() -> None:
    times = np.arange(0, 100_000, 7, dtype=np.int64)
    assert len(pack({}, {"times": times})) < len(times) // 10


@pytest.mark.parametrize("payload", [b"", b"nonsense", pack({}, {})[:-3]])
def test_what_is_no_payload_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError, match=r"^no columns: "):
        unpack(payload)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_differences_take_the_narrowest_type_that_holds_them(bits: int) -> None:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    inside, beyond = np.array([high], np.int64), np.array([low], np.int64)
    empty = np.zeros(0, np.int64)
    narrowest = np.dtype(f"<i{bits // 8}").str
    kinds = [kind for _, _, kind, _ in stored({"high": inside, "none": empty, "low": beyond})]
    assert kinds == [narrowest, "|i1", narrowest]
    if bits < 64:
        wider = {"high": inside + 1, "low": beyond - 1}
        assert [kind for _, _, kind, _ in stored(wider)] == [f"<i{bits // 4}"] * 2


def stored(columns: dict[str, npt.NDArray[np.int64]]) -> list[list[str]]:
    """Return what the head says of each column."""
    data = zlib.decompress(pack({}, columns))
    [length] = struct.unpack_from("<I", data)
    listed: list[list[str]] = json.loads(data[4 : 4 + length])["columns"]
    return listed
