"""Shifts with ties to even in place: right for every number, and refused where 32 bits are not enough."""

import numpy as np
import pytest

from vta.topi.core.epilogue import Add, Multiply, ShiftRight, applied
from vta.topi.core.even_shift import even_shift


@pytest.mark.parametrize("bits", range(1, 12))
@pytest.mark.parametrize("zero_point", [0, -7])
def test_every_number_is_rounded_to_the_nearest_and_ties_to_even(bits: int, zero_point: int) -> None:
    found = even_shift(bits, -129, 129, zero_point)
    assert found is not None
    steps = (
        Multiply(found.lead),
        ShiftRight(bits + 1),
        Multiply(found.factor),
        Add(found.addend),
        ShiftRight(found.shift),
    )
    numbers = np.arange(-129 << bits, (129 << bits) + 1, dtype=np.int32).reshape(1, -1)
    np.testing.assert_array_equal(applied(numbers, steps, ()), np.rint(numbers / 2**bits) + zero_point)


@pytest.mark.parametrize(("bits", "most"), [(1, 3000), (3, 1000), (5, 400), (8, 200), (10, 500)])
def test_results_of_more_than_8_bits_have_some_too(bits: int, most: int) -> None:
    found = even_shift(bits, -most, most + 3)
    assert found is not None
    numbers = np.arange(-most << bits, (most + 3 << bits) + 1)
    made = ((numbers * found.lead >> (bits + 1)) * found.factor + found.addend) >> found.shift
    np.testing.assert_array_equal(made, np.rint(numbers / 2**bits))
    assert np.abs(numbers * found.lead).max() < 1 << 31


@pytest.mark.parametrize(("bits", "most"), [(12, 129), (16, 129), (7, 400), (10, 1100), (1, 1 << 20)])
def test_there_is_none_where_32_bits_are_not_enough(bits: int, most: int) -> None:
    assert even_shift(bits, -most, most) is None
