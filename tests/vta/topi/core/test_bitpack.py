import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vta
from tests.support.compiler.host_run import on_host
from vta import te
from vta.topi.core.bitpack import bitpack, pack_bits, unpack_bits
from vta.topi.core.operator import OperatorError

WIDTHS = (1, 2, 4, 8)


@given(st.sampled_from(WIDTHS), st.data())
def test_unpacking_is_the_inverse_of_packing(bits: int, data: st.DataObject) -> None:
    lanes = 8 // bits
    rows, groups = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    signed = data.draw(st.booleans())
    low, high = (-(1 << bits >> 1), (1 << bits >> 1) - 1) if signed else (0, (1 << bits) - 1)
    high = min(high, 127)
    numbers = data.draw(
        st.lists(st.integers(low, high), min_size=rows * groups * lanes, max_size=rows * groups * lanes)
    )
    array = np.array(numbers, np.int8).reshape(rows, groups * lanes)
    packed = pack_bits(array, bits)
    assert packed.shape == (rows, groups)
    np.testing.assert_array_equal(unpack_bits(packed, bits, signed=signed), array)
    np.testing.assert_array_equal(pack_bits(unpack_bits(packed, bits), bits), packed)


def test_the_first_number_lies_in_the_lowest_bits() -> None:
    assert pack_bits(np.array([[0x3, -0x8]]), 4).tolist() == [[-0x7D]]
    assert pack_bits(np.array([[1, 2, 3, 0]]), 2).tolist() == [[0b00_11_10_01]]
    assert pack_bits(np.array([[1, 0, 0, 0, 0, 0, 0, 1]]), 1).tolist() == [[-0x7F]]
    assert unpack_bits(np.array([-0x7F], np.int8), 1, signed=False).tolist() == [1, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("bits", WIDTHS)
def test_the_host_packs_as_numpy_does(bits: int) -> None:
    values = np.random.default_rng(bits).integers(-128, 128, (3, 5, 16)).astype(np.int8)
    data = te.placeholder(values.shape, "int8", "data")
    packed = bitpack(data, bits)
    assert (packed.op.name, packed.op.tag) == ("bitpack", "bitpack")
    np.testing.assert_array_equal(on_host(packed, [data], values), pack_bits(values, bits))


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_arrays_of_narrow_types_hold_the_same_bytes(bits: int) -> None:
    rng = np.random.default_rng(bits)
    values = rng.integers(-(1 << bits >> 1), max(1 << bits >> 1, 1), (4, 16)).astype(np.int8)
    narrow = vta.nd.array(values, dtype=f"int{bits}")
    np.testing.assert_array_equal(narrow.numpy(), values)
    assert narrow.nbytes == pack_bits(values, bits).nbytes


def test_what_does_not_fill_bytes_is_refused() -> None:
    with pytest.raises(OperatorError) as caught:
        pack_bits(np.zeros((2, 6), np.int8), 2)
    assert str(caught.value) == "4 numbers of 2 bits make an int8, and the last dimension has 6"
    with pytest.raises(OperatorError) as caught:
        unpack_bits(np.zeros(2, np.int8), 3)
    assert str(caught.value) == "numbers of 1, 2, 4 or 8 bits are packed, not of 3"
    with pytest.raises(OperatorError) as caught:
        bitpack(te.placeholder((4,), "int8", "data"), 4, "uint32")
    assert str(caught.value) == "bitpack packs into int8, not 'uint32'"
