"""Data types are strings that know their kind, bits and lanes."""

import pytest

from vta.tir.dtype import BOOL, HANDLE, INT8, DType, DTypeError, Kind


@pytest.mark.parametrize(
    ("name", "kind", "bits", "lanes"),
    [
        ("int8", Kind.INT, 8, 1),
        ("uint4", Kind.UINT, 4, 1),
        ("float16", Kind.FLOAT, 16, 1),
        ("int32x16", Kind.INT, 32, 16),
        ("bool", Kind.BOOL, 1, 1),
        ("boolx4", Kind.BOOL, 1, 4),
        ("handle", Kind.HANDLE, 64, 1),
    ],
)
def test_a_name_tells_kind_bits_and_lanes(name: str, kind: Kind, bits: int, lanes: int) -> None:
    dtype = DType(name)
    assert (dtype.kind, dtype.bits, dtype.lanes) == (kind, bits, lanes)
    assert dtype == name
    assert DType(dtype) is dtype


def test_a_vector_knows_its_element_and_back() -> None:
    assert DType("int32x16").element == "int32"
    assert INT8.with_lanes(4) == "int8x4"
    assert BOOL.with_lanes(2) == "boolx2"
    assert HANDLE.with_lanes(1) == "handle"


def test_integers_and_floats_are_told_apart() -> None:
    assert DType("uint8").is_int
    assert not BOOL.is_int
    assert DType("float32").is_float
    assert not HANDLE.is_float


def test_bounds_are_those_of_twos_complement() -> None:
    assert INT8.bounds == (-128, 127)
    assert DType("uint8").bounds == (0, 255)
    assert BOOL.bounds == (0, 1)
    assert DType("int64").bounds == (-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("i8", "unknown dtype 'i8'; expected for example 'int8', 'int32', 'float32', 'bool', 'handle'"),
        ("int0x", "unknown dtype 'int0x'; expected for example 'int8', 'int32', 'float32', 'bool', 'handle'"),
        ("float8", "unknown dtype 'float8'; floats have 16, 32 or 64 bits"),
        ("int65", "unknown dtype 'int65'; integers have 1 to 64 bits, lanes at least 1"),
        ("int0", "unknown dtype 'int0'; integers have 1 to 64 bits, lanes at least 1"),
        ("int8x0", "unknown dtype 'int8x0'; integers have 1 to 64 bits, lanes at least 1"),
    ],
)
def test_other_names_are_refused(name: str, message: str) -> None:
    with pytest.raises(DTypeError) as caught:
        DType(name)
    assert str(caught.value) == message


def test_only_integers_have_bounds() -> None:
    with pytest.raises(DTypeError) as caught:
        _ = DType("float32").bounds
    assert str(caught.value) == "dtype float32 has no integer bounds"


def test_short_names_are_tvms() -> None:
    assert [DType(name) for name in ("int", "uint", "float")] == ["int32", "uint32", "float32"]
