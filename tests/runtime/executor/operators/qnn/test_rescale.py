from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.rescale import INT32, OutputAttrs, WeightedAttrs
from runtime.executor.operators.types import RelayError
from tests.support.relay.apply import applied, refusal

WORDS = st.integers(*INT32)


def word(value: int) -> int:
    """Return ``value`` as an int32 holds it."""
    return (value + 2**31) % 2**32 - 2**31


@given(
    lhs=st.integers(-128, 127),
    rhs=WORDS,
    numbers=st.tuples(WORDS, WORDS, WORDS),
    shift=st.integers(0, 31),
)
def test_a_weighted_sum_is_its_operations(lhs: int, rhs: int, numbers: tuple[int, int, int], shift: int) -> None:
    attrs = WeightedAttrs(-100, 90, "int8", *numbers, shift)
    result = applied(Op.QNN_ADD, np.array([[lhs]], np.int8), np.array([rhs], np.int32), attrs=attrs)
    expected = word(lhs * numbers[0] + rhs * numbers[1] + numbers[2]) >> shift
    assert result.tolist() == [[min(max(expected, -100), 90)]]


def test_the_result_may_be_unsigned_or_wide() -> None:
    data = np.array([-5, 100, 300], np.int32)
    unsigned = WeightedAttrs(0, 255, "uint8", 1, 1)
    assert applied(Op.QNN_ADD, data, data, attrs=unsigned).tolist() == [0, 200, 255]
    wide = WeightedAttrs(*INT32, "int32")
    assert applied(Op.QNN_ADD, np.array([250], np.uint8), np.array([250], np.uint8), attrs=wide).tolist() == [500]


def test_operands_of_other_types_are_refused() -> None:
    assert refusal(Op.QNN_ADD, ((3,), "int32"), ((3,), "float32"), attrs=WeightedAttrs()) == (
        "rhs has elements int8 or uint8 or int32, not float32"
    )


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: OutputAttrs(0, 255, "int8"), "out_min and out_max are from -128 to 127, not 0 and 255"),
        (lambda: WeightedAttrs(1, 0), "out_min and out_max are from -128 to 127, not 1 and 0"),
        (lambda: OutputAttrs(out_dtype="int16"), "out_dtype is one of int8, uint8, int32, not int16"),
        (lambda: WeightedAttrs(shift=32), "shift is from 0 to 31, not 32"),
        (lambda: WeightedAttrs(lhs_multiplier=2**31), "lhs_multiplier is an int32 number, not 2147483648"),
    ],
)
def test_numbers_that_cannot_be_are_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(RelayError) as error:
        make()
    assert str(error.value) == sentence
