from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.relay.apply import applied, refusal
from vta.relay.ir.names import Op
from vta.relay.ir.types import RelayError
from vta.relay.ops.qnn.rescale import INT32, LeakyReluAttrs, RequantizeAttrs, WeightedAttrs

WORDS = st.integers(*INT32)


def word(value: int) -> int:
    """Return ``value`` as an int32 holds it."""
    return (value + 2**31) % 2**32 - 2**31


def alu_shift(value: int, count: int) -> int:
    """Return what the tensor ALU makes of ``value >> count``."""
    return word(value >> count if count >= 0 else value << -count)


def i32(value: object) -> np.ndarray:
    return np.array(value, np.int32)


@given(
    data=WORDS,
    pre_shift=st.integers(-3, 33),
    multiplier=WORDS,
    addend=WORDS,
    shift=st.integers(0, 33),
    bounds=st.tuples(WORDS, WORDS).map(sorted),
)
def test_requantize_is_its_operations(
    data: int, pre_shift: int, multiplier: int, addend: int, shift: int, bounds: list[int]
) -> None:
    attrs = RequantizeAttrs(low=bounds[0], high=bounds[1])
    result = applied(Op.REQUANTIZE, *map(i32, (data, pre_shift, multiplier, addend, shift)), attrs=attrs)
    t = min(max(alu_shift(data, pre_shift), bounds[0]), bounds[1])
    expected = min(max(alu_shift(word(word(t * multiplier) + addend), shift), -128), 127)
    assert (int(result), result.dtype) == (expected, np.int8)


def test_tables_go_along_channels() -> None:
    data = i32([[[[100]], [[100]]]])
    table = i32([[[1]], [[3]]])
    result = applied(Op.REQUANTIZE, data, i32(0), table, i32(0), i32(1))
    assert result.reshape(-1).tolist() == [50, 127]


def test_the_result_may_be_unsigned_or_wide() -> None:
    tables = [i32(0), i32(2), i32(0), i32(0)]
    unsigned = RequantizeAttrs(0, 255, "uint8")
    assert applied(Op.REQUANTIZE, i32([-5, 100, 300]), *tables, attrs=unsigned).tolist() == [0, 200, 255]
    wide = RequantizeAttrs(*INT32, "int32")
    assert applied(Op.REQUANTIZE, np.array([250], np.uint8), *tables, attrs=wide).tolist() == [500]


@given(
    lhs=st.integers(-128, 127),
    rhs=WORDS,
    numbers=st.tuples(WORDS, WORDS, WORDS),
    shift=st.integers(0, 31),
)
def test_a_weighted_sum_is_its_operations(lhs: int, rhs: int, numbers: tuple[int, ...], shift: int) -> None:
    attrs = WeightedAttrs(-100, 90, "int8", *numbers, shift)
    result = applied(Op.QNN_ADD, np.array([[lhs]], np.int8), i32([rhs]), attrs=attrs)
    expected = word(lhs * numbers[0] + rhs * numbers[1] + numbers[2]) >> shift
    assert result.tolist() == [[min(max(expected, -100), 90)]]


def test_leaky_relu_has_a_slope_for_every_channel() -> None:
    data = np.array([[-10, -10, 10]], np.int8)
    attrs = LeakyReluAttrs(zero_point=-2, addend=8, shift=4)
    result = applied(Op.QNN_LEAKY_RELU, data, i32(16), i32([4, 8, 8]), attrs=attrs)
    assert result.tolist() == [[(-8 * 4 + 8) >> 4, (-8 * 8 + 8) >> 4, 12]]


DATA, T = ((1, 3, 2), "int32"), ((), "int32")


@pytest.mark.parametrize(
    ("op", "types", "attrs", "sentence"),
    [
        (Op.REQUANTIZE, [((3,), "int16"), T, T, T, T], RequantizeAttrs(),
         "data has elements int8 or uint8 or int32, not int16"),
        (Op.REQUANTIZE, [DATA, T, ((), "int8"), T, T], RequantizeAttrs(), "multiplier has elements int32, not int8"),
        (Op.REQUANTIZE, [DATA, T, ((3,), "int32"), T, T], RequantizeAttrs(),
         "multiplier broadcasts to the data, (1, 3, 2), and its shape is (3,)"),
        (Op.QNN_ADD, [DATA, ((1, 3, 2), "float32")], WeightedAttrs(),
         "rhs has elements int8 or uint8 or int32, not float32"),
        (Op.QNN_LEAKY_RELU, [DATA, T, ((2, 2), "int32")], LeakyReluAttrs(),
         "negative broadcasts to the data, (1, 3, 2), and its shape is (2, 2)"),
    ],
)  # fmt: skip
def test_inputs_that_do_not_go_together_are_refused(
    op: Op, types: Any, attrs: LeakyReluAttrs | RequantizeAttrs | WeightedAttrs, sentence: str
) -> None:
    assert refusal(op, *types, attrs=attrs) == sentence


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RequantizeAttrs(0, 255, "int8"), "out_min and out_max are from -128 to 127, not 0 and 255"),
        (lambda: WeightedAttrs(1, 0), "out_min and out_max are from -128 to 127, not 1 and 0"),
        (lambda: RequantizeAttrs(out_dtype="int16"), "out_dtype is one of int8, uint8, int32, not int16"),
        (lambda: RequantizeAttrs(low=1, high=0), "low and high are int32 numbers in order, not 1 and 0"),
        (lambda: WeightedAttrs(shift=32), "shift is from 0 to 31, not 32"),
        (lambda: WeightedAttrs(lhs_multiplier=2**31), "lhs_multiplier is an int32 number, not 2147483648"),
        (lambda: LeakyReluAttrs(shift=-1), "shift is from 0 to 31, not -1"),
    ],
)
def test_numbers_that_cannot_be_are_refused(make: Callable[..., Any], sentence: str) -> None:
    with pytest.raises(RelayError) as error:
        make()
    assert str(error.value) == sentence
