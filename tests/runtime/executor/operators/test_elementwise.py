import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.executor.operators.elementwise import CastAttrs, ClipAttrs, HardSigmoidAttrs, SlopeAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import RelayError
from tests.support.relay.apply import applied, refusal

X = np.array([-1000.0, -3.5, -2.5, -1.0, -0.25, 0.0, 0.25, 0.5, 1.5, 2.5, 3.0, 1000.0], np.float32)

REAL = {
    Op.ABS: abs,
    Op.ATAN: math.atan,
    Op.CEIL: math.ceil,
    Op.COPY: lambda x: x,
    Op.STOP_FUSION: lambda x: x,
    Op.DROPOUT: lambda x: x,
    Op.COS: math.cos,
    Op.ERF: math.erf,
    Op.FLOOR: math.floor,
    Op.HARD_SWISH: lambda x: x * min(max(x / 6 + 0.5, 0), 1),
    Op.NEGATIVE: lambda x: -x,
    Op.RELU: lambda x: max(x, 0),
    Op.ROUND: round,
    Op.SIGMOID: lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0,
    Op.SIGN: lambda x: (x > 0) - (x < 0),
    Op.SIN: math.sin,
    Op.TAN: math.tan,
    Op.TANH: math.tanh,
}


@pytest.mark.parametrize("op", REAL)
def test_an_operator_is_its_function(op: Op) -> None:
    result = applied(op, X)
    assert result.dtype == np.float32
    assert np.allclose(result, [REAL[op](float(x)) for x in X], rtol=1e-5, atol=1e-6)


POSITIVE = {Op.LOG: math.log, Op.SQRT: math.sqrt, Op.RSQRT: lambda x: 1 / math.sqrt(x)}
SMALL = {
    Op.ACOS: math.acos,
    Op.ASIN: math.asin,
    Op.COSH: math.cosh,
    Op.EXP: math.exp,
    Op.SINH: math.sinh,
}


@pytest.mark.parametrize(("op", "function"), [*POSITIVE.items(), *SMALL.items()])
def test_an_operator_of_part_of_the_numbers_is_its_function(op: Op, function: Callable[..., Any]) -> None:
    x = np.array([0.01, 0.25, 0.5, 1.0], np.float32)
    assert np.allclose(applied(op, x), [function(float(each)) for each in x], rtol=1e-5)


def test_what_has_no_result_is_nan_or_infinite_without_a_warning() -> None:
    x = np.array([-1.0, 0.0, np.inf, np.nan], np.float32)
    assert np.array_equal(applied(Op.LOG, x), np.array([np.nan, -np.inf, np.inf, np.nan], np.float32), equal_nan=True)
    assert np.array_equal(applied(Op.SIGMOID, x)[2:], [1, np.nan], equal_nan=True)


def test_operators_of_attributes() -> None:
    assert np.array_equal(applied(Op.CLIP, X, attrs=ClipAttrs(-1, 6)), np.clip(X, -1, 6))
    assert np.allclose(applied(Op.LEAKY_RELU, X, attrs=SlopeAttrs(0.1)), np.where(X < 0, 0.1 * X, X))
    assert np.allclose(applied(Op.ELU, X, attrs=SlopeAttrs(2)), [x if x >= 0 else 2 * math.expm1(x) for x in X])
    assert np.allclose(applied(Op.HARD_SIGMOID, X, attrs=HardSigmoidAttrs(0.5, 0.25)), np.clip(X / 2 + 0.25, 0, 1))


def test_integers_are_clipped_to_whole_bounds_inside() -> None:
    data = np.array([-128, -2, 0, 5, 127], np.int8)
    assert applied(Op.CLIP, data, attrs=ClipAttrs(-1.5, 4.5)).tolist() == [-1, -1, 0, 4, 4]
    assert applied(Op.CLIP, data).tolist() == data.tolist()
    assert applied(Op.RELU, data).tolist() == [0, 0, 0, 5, 127]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("int8", [-128, -2, 0, 2, 127, 0]),
        ("uint8", [0, 0, 0, 2, 255, 0]),
        ("int32", [-(2**31), -2, 0, 2, 2**31 - 1, 0]),
        ("int64", [-(2**63), -2, 0, 2, 2**63 - 1, 0]),
    ],
)
def test_a_float_that_an_integer_does_not_hold_becomes_its_nearest_one(dtype: str, expected: list[int]) -> None:
    data = np.array([-np.inf, -2.9, -0.5, 2.9, 1e30, np.nan], np.float32)
    assert applied(Op.CAST, data, attrs=CastAttrs(dtype)).tolist() == expected


def test_floats_at_the_ends_of_an_integer_type() -> None:
    data = np.array([126.9, 127.0, 127.9, 128.0, -128.0, -128.5, -129.0], np.float64)
    assert applied(Op.CAST, data, attrs=CastAttrs("int8")).tolist() == [126, 127, 127, 127, -128, -128, -128]
    assert applied(Op.CAST, data + 128, attrs=CastAttrs("uint8")).tolist() == [254, 255, 255, 255, 0, 0, 0]


def test_an_integer_keeps_its_low_bits() -> None:
    data = np.array([-129, 128, 300], np.int32)
    assert applied(Op.CAST, data, attrs=CastAttrs("int8")).tolist() == [127, -128, 44]
    assert applied(Op.CAST, data, attrs=CastAttrs("float32")).dtype == np.float32
    assert applied(Op.CAST, data, attrs=CastAttrs("bool")).tolist() == [True, True, True]


@pytest.mark.parametrize(
    ("op", "dtype", "sentence"),
    [
        (Op.LOG, "int8", "data holds floating point numbers, not int8"),
        (Op.LOGICAL_NOT, "int8", "data has elements bool, not int8"),
        (Op.RELU, "bool", "data holds numbers, not bool"),
    ],
)
def test_elements_that_an_operator_does_not_take_are_refused(op: Op, dtype: str, sentence: str) -> None:
    assert refusal(op, ((2,), dtype)) == sentence


def test_limits_that_an_integer_type_does_not_reach_are_its_own() -> None:
    data = np.array([0, 7, 255], np.uint8)
    for low, high, wanted in ((-5.0, -1.0, [0, 0, 0]), (300.0, np.inf, [255] * 3), (0.5, 7.5, [1, 7, 7])):
        found = operator(Op.CLIP).evaluate([data], ClipAttrs(low, high))
        np.testing.assert_array_equal(found, np.array(wanted, np.uint8), strict=True)


def test_attributes_that_cannot_be_are_refused() -> None:
    with pytest.raises(RelayError, match=r"^clip: a_min is 2, which is not below a_max, 1$"):
        ClipAttrs(2, 1)
    with pytest.raises(RelayError, match=r"^a tensor's elements are one of bool, .*, not 'int4'$"):
        CastAttrs("int4")
