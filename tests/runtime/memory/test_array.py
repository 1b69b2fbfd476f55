"""Arrays: contents survive every way in and out, on both sides, in every type; what does not fit is refused."""

import gc
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isa.config import VTAConfig
from runtime.memory.array import ArrayError, DeviceArray, ElementType, HostArray
from runtime.session import Session

DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", "bool")
NARROW = {"int4": (-8, 7), "int2": (-2, 1), "int1": (-1, 0), "uint4": (0, 15), "uint2": (0, 3), "uint1": (0, 1)}


@pytest.fixture
def session() -> Session:
    return Session(VTAConfig(), "reference")


@pytest.mark.parametrize("dtype", DTYPES)
def test_contents_survive_in_every_type(session: Session, dtype: str) -> None:
    data = np.random.default_rng(1).integers(0, 2, (3, 5, 7)).astype(dtype)
    host = HostArray(data.shape, dtype).copyfrom(data)
    device = DeviceArray(session, data.shape, dtype).copyfrom(host)
    back = HostArray(data.shape, dtype)
    assert device.copyto(back) is back
    np.testing.assert_array_equal(back.numpy(), data)
    assert back.numpy().dtype == data.dtype
    assert session.memory.read(device.allocation, 0, device.nbytes) == data.tobytes()


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_numbers_are_packed_lowest_bits_first(session: Session, dtype: str) -> None:
    low, high = NARROW[dtype]
    data = np.random.default_rng(2).integers(low, high + 1, (5, 3))
    array = DeviceArray(session, data.shape, dtype).copyfrom(data)
    bits = ElementType.of(dtype).bits
    packed = sum((int(value) & ((1 << bits) - 1)) << (bits * place) for place, value in enumerate(data.ravel()))
    assert array.nbytes == -(-15 * bits // 8)
    assert session.memory.read(array.allocation, 0, array.nbytes) == packed.to_bytes(array.nbytes, "little")
    np.testing.assert_array_equal(array.numpy(), data)
    assert array.numpy().dtype == (np.int8 if dtype.startswith("i") else np.uint8)


@given(st.sampled_from(sorted(NARROW)), st.lists(st.integers(0, 15), max_size=40))
@settings(max_examples=60, deadline=None)
def test_packing_narrow_numbers_loses_nothing(dtype: str, values: list[int]) -> None:
    low, high = NARROW[dtype]
    data = np.array([low + value % (high - low + 1) for value in values], np.int16)
    np.testing.assert_array_equal(HostArray(data.shape, dtype).copyfrom(data).numpy(), data)


def test_empty_and_scalar_arrays(session: Session) -> None:
    assert DeviceArray(session, (0, 4), "int32").numpy().shape == (0, 4)
    assert DeviceArray(session, (), "int32").copyfrom(7).numpy() == 7


def test_an_array_is_zero_at_first_and_its_buffer_goes_with_it(session: Session) -> None:
    before = session.memory.allocated_bytes
    array = DeviceArray(session, (100,), "int32")
    assert not array.numpy().any()
    assert session.handles.get(array.handle) is array.allocation
    array.copyfrom(np.arange(100))
    del array
    gc.collect()
    assert session.memory.allocated_bytes == before
    freed = DeviceArray(session, (100,), "int32")
    freed.free()
    with pytest.raises(ArrayError, match=re.escape("device array of shape (100,): it was freed")):
        freed.numpy()
    with pytest.raises(ArrayError, match="it was freed"):
        freed.free()


def test_a_buffer_that_compiled_code_freed_is_not_freed_twice(session: Session) -> None:
    array = DeviceArray(session, (100,), "int32")
    session.memory.free(array.allocation)
    other = DeviceArray(session, (100,), "int32")
    assert other.allocation.address == array.allocation.address
    with pytest.raises(ArrayError, match="it was freed"):
        array.numpy()
    del array
    gc.collect()
    assert session.memory.is_live(other.allocation)


def test_values_that_fit_are_converted_and_floats_are_rounded(session: Session) -> None:
    array = DeviceArray(session, (3,), "int8")
    np.testing.assert_array_equal(array.copyfrom([1, -128, 127]).numpy(), [1, -128, 127])
    np.testing.assert_array_equal(array.copyfrom(np.array([1.0, 2.0, 3.0])).numpy(), [1, 2, 3])
    floats = HostArray((2,)).copyfrom(np.array([0.1, np.nan]))
    assert floats.dtype == "float32"
    assert floats.numpy()[0] == np.float32(0.1)


@pytest.mark.parametrize(
    ("dtype", "data", "value"),
    [
        ("int8", [1, 128], "128"),
        ("int8", [1.5, 1.0], "1.5"),
        ("int8", [np.nan, 1.0], "nan"),
        ("int4", [8, 0], "8"),
        ("uint4", [-1, 0], "-1"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(dtype: str, data: list[float], value: str) -> None:
    array = HostArray((2,), dtype).copyfrom([1, 1])
    message = f"array of {dtype}: it cannot hold the value {value}; convert the data first"
    with pytest.raises(ArrayError, match=f"^{re.escape(message)}$"):
        array.copyfrom(data)
    np.testing.assert_array_equal(array.numpy(), [1, 1])


def test_shapes_and_types_that_make_no_array_are_refused() -> None:
    with pytest.raises(ArrayError, match=re.escape("array of shape (2,): cannot take over an array of shape (3,)")):
        HostArray((2,)).copyfrom(np.zeros(3))
    with pytest.raises(ArrayError, match=re.escape("array: shape (2, -1) has a negative extent")):
        HostArray((2, -1))
    for name in ("int3", "bfloat16", "object", "complex64"):
        message = f"array: type {name!r} is unknown; use int8, int32, float32 and the like, or int4, int2, int1"
        with pytest.raises(ArrayError, match=f"^{re.escape(message)}$"):
            HostArray((2,), name)


def test_a_view_of_a_host_array_shares_its_memory() -> None:
    array = HostArray((2, 2), "int32")
    array.view()[1, 0] = 5
    assert array.numpy()[1, 0] == 5
    assert HostArray((4,), "int4").view().nbytes == 2
