from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.executor.operators.broadcast import AxisAttrs, ShapeAttrs
from runtime.executor.operators.names import Op
from tests.support.relay.apply import applied, refusal

A = np.array([[-7, -1, 0, 3], [5, 7, -8, 127]], np.int8)
B = np.array([2, -3, 5, 1], np.int8)


@pytest.mark.parametrize(
    ("op", "function"),
    [
        (Op.ADD, lambda a, b: a + b), (Op.SUBTRACT, lambda a, b: a - b), (Op.MULTIPLY, lambda a, b: a * b),
        (Op.MAXIMUM, max), (Op.MINIMUM, min), (Op.DIVIDE, lambda a, b: int(a / b)), (Op.FLOOR_MOD, lambda a, b: a % b),
    ],
)  # fmt: skip
def test_integer_arithmetic_wraps_and_broadcasts(op: Op, function: Callable[..., Any]) -> None:
    expected = [[(function(int(a), int(b)) + 128) % 256 - 128 for a, b in zip(row, B, strict=True)] for row in A]
    result = applied(op, A, B)
    assert result.tolist() == expected
    assert result.dtype == np.int8


@pytest.mark.parametrize(
    ("op", "function"),
    [
        (Op.EQUAL, np.equal), (Op.NOT_EQUAL, np.not_equal), (Op.LESS, np.less), (Op.LESS_EQUAL, np.less_equal),
        (Op.GREATER, np.greater), (Op.GREATER_EQUAL, np.greater_equal),
    ],
)  # fmt: skip
def test_comparisons_give_truths(op: Op, function: np.ufunc) -> None:
    assert np.array_equal(applied(op, A, np.array([[3]], np.int8)), function(A, 3))


def test_floats_divide_by_zero_as_ieee_says() -> None:
    assert applied(Op.DIVIDE, [1, -1, 3], [0, 0, 2]).tolist() == [np.inf, -np.inf, 1.5]
    assert applied(Op.FLOOR_MOD, [-3.5, 3.5], [2, -2]).tolist() == [0.5, -0.5]
    assert applied(Op.POWER, [2, 9], [-1, 0.5]).tolist() == [0.5, 3]


def test_integers_divided_by_zero_give_zero() -> None:
    zero = np.array(0, np.int32)
    assert applied(Op.DIVIDE, A.astype(np.int32), zero).tolist() == np.zeros_like(A).tolist()
    assert applied(Op.FLOOR_MOD, A.astype(np.int32), zero).tolist() == np.zeros_like(A).tolist()


def test_powers_of_integers() -> None:
    base, exponent = np.array([2, -3, 1, 2, 0], np.int32), np.array([10, 3, -5, -1, -1], np.int32)
    assert applied(Op.POWER, base, exponent).tolist() == [1024, -27, 1, 0, 0]
    assert applied(Op.POWER, base, np.zeros(5, np.int32)).tolist() == [1] * 5
    odd_and_even = np.array([-1, -2, -(2**31)], np.int32)
    assert applied(Op.POWER, np.array(-1, np.int32), odd_and_even).tolist() == [-1, 1, 1]
    assert applied(Op.POWER, np.array(1, np.uint8), np.array([0, 255], np.uint8)).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("count", "right", "left"),
    [(0, [-5, 5], [-5, 5]), (1, [-3, 2], [-10, 10]), (31, [-1, 0], [-(2**31), -(2**31)]), (32, [-1, 0], [0, 0]),
     (99, [-1, 0], [0, 0])],
)  # fmt: skip
def test_shifts_move_everything_out(count: int, right: list[int], left: list[int]) -> None:
    data, by = np.array([-5, 5], np.int32), np.array(count, np.int32)
    assert applied(Op.RIGHT_SHIFT, data, by).tolist() == right
    assert applied(Op.LEFT_SHIFT, data, by).tolist() == left


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_shifts_know_the_bits_of_their_numbers(dtype: str) -> None:
    bits, (low, high) = np.dtype(dtype).itemsize * 8, (np.iinfo(dtype).min, np.iinfo(dtype).max)
    data = np.array([low, low // 2, -1 if low else 0, 0, 1, 3, high], dtype)
    for count in (0, 1, bits - 1, bits, bits + 1, 100):
        right = [int(x) >> count for x in data]
        left = [((int(x) << count) - low) % (1 << bits) + low for x in data]
        assert applied(Op.RIGHT_SHIFT, data, np.array(count, dtype)).tolist() == right
        assert applied(Op.LEFT_SHIFT, data, np.array(count, dtype)).tolist() == left


def test_a_shift_by_less_than_nothing_moves_everything_out() -> None:
    data = np.array([-5, 0, 5], np.int32)
    assert applied(Op.RIGHT_SHIFT, data, np.array(-1, np.int32)).tolist() == [-1, 0, 0]
    assert applied(Op.LEFT_SHIFT, data, np.array(-1, np.int32)).tolist() == [0, 0, 0]


def test_truths_are_combined() -> None:
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert applied(Op.LOGICAL_AND, a, b).tolist() == [True, False, False, False]
    assert applied(Op.LOGICAL_OR, a, b).tolist() == [True, True, True, False]
    assert applied(Op.LOGICAL_XOR, a, b).tolist() == [False, True, True, False]
    assert applied(Op.LOGICAL_NOT, a).tolist() == [False, False, True, True]


def test_where_chooses() -> None:
    assert applied(Op.WHERE, np.array([True, False]), [[1], [2]], [7]).tolist() == [[1, 7], [2, 7]]


def test_values_along_an_axis() -> None:
    data = np.arange(-4, 4, dtype=np.float32).reshape(1, 2, 2, 2)
    bias = np.array([10, 20], np.float32)
    assert np.array_equal(applied(Op.BIAS_ADD, data, bias), data + bias.reshape(1, 2, 1, 1))
    assert np.array_equal(applied(Op.BIAS_ADD, data, bias, attrs=AxisAttrs(-1)), data + bias)
    expected = np.where(data < 0, data * bias.reshape(1, 2, 1, 1), data)
    assert np.array_equal(applied(Op.PRELU, data, bias), expected)


def test_broadcast_to() -> None:
    assert applied(Op.BROADCAST_TO, [[1], [2]], attrs=ShapeAttrs((3, 2, 2))).shape == (3, 2, 2)


F = "float32"


@pytest.mark.parametrize(
    ("op", "types", "attrs", "sentence"),
    [
        (Op.ADD, [((2,), F), ((2,), "int8")], None, "the inputs have elements of one type, not float32, int8"),
        (Op.ADD, [((2,), "bool"), ((2,), "bool")], None, "the inputs hold numbers, not bool"),
        (Op.LEFT_SHIFT, [((2,), F), ((2,), F)], None, "the inputs hold integers, not float32"),
        (Op.LOGICAL_OR, [((2,), "bool"), ((2,), F)], None, "each input has elements bool, not float32"),
        (Op.WHERE, [((2,), F), ((2,), F), ((2,), F)], None, "condition has elements bool, not float32"),
        (
            Op.WHERE,
            [((2,), "bool"), ((2,), F), ((2,), "int8")],
            None,
            "x, y have elements of one type, not float32, int8",
        ),
        (
            Op.BIAS_ADD,
            [((1, 3, 2), F), ((2,), F)],
            AxisAttrs(),
            "the second input has 3 elements, as axis 1, not 2",
        ),
        (
            Op.BIAS_ADD,
            [((1, 3, 2), F), ((3, 1), F)],
            AxisAttrs(),
            "the second input has 1 dimensions, not 2: Tensor[(3, 1), float32]",
        ),
        (
            Op.PRELU,
            [((1, 3), "int8"), ((3,), "int8")],
            AxisAttrs(),
            "data holds floating point numbers, not int8",
        ),
        (Op.BROADCAST_TO, [((3,), F)], ShapeAttrs((2,)), "shape (3,) does not broadcast to (2,)"),
    ],
)
def test_inputs_that_do_not_go_together_are_refused(
    op: Op, types: list[tuple[str | tuple[int, ...], ...]], attrs: AxisAttrs | ShapeAttrs | None, sentence: str
) -> None:
    assert refusal(op, *types, attrs=attrs) == sentence
