"""Columns of a trace record: any numbers come back as they were, and damage is noticed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.trace.columns import pack, unpack

INT64 = st.integers(-(1 << 62), (1 << 62) - 1)


@given(st.lists(INT64), st.lists(st.integers(0, 255)), st.lists(st.integers(0, (1 << 64) - 1)))
def test_columns_come_back_as_they_were(signed: list[int], small: list[int], words: list[int]) -> None:
    columns = {
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
