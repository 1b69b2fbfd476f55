from typing import Any

import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.quantize import DequantizeAttrs, QuantizeAttrs
from runtime.executor.operators.types import RelayError
from tests.support.relay.apply import applied, refusal


def f32(*values: float) -> np.ndarray:
    return np.array(values if len(values) > 1 else values[0], np.float32)


def test_halves_go_to_the_even_integer_and_the_rest_to_the_nearest() -> None:
    data = f32(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.7, 300, -300)
    result = applied(Op.QUANTIZE, data, f32(1), np.array(0, np.int8))
    assert result.tolist() == [-2, -2, 0, 0, 2, 2, 1, 127, -128]


def test_the_zero_point_comes_after_rounding() -> None:
    data = f32(0.5, 1.5, -0.5, 200)
    result = applied(Op.QUANTIZE, data, f32(1), np.array(3, np.uint8), attrs=QuantizeAttrs("uint8"))
    assert result.tolist() == [3, 5, 3, 203]


def test_infinities_saturate_and_nan_is_zero() -> None:
    result = applied(Op.QUANTIZE, f32(np.inf, -np.inf, np.nan), f32(0.5), np.array(-7, np.int8))
    assert result.tolist() == [127, -128, -7]


def test_scales_of_channels() -> None:
    data = np.arange(-4, 4, dtype=np.float32).reshape(1, 2, 4)
    scale, zero = f32(0.5, 2), np.array([0, 10], np.int8)
    result = applied(Op.QUANTIZE, data, scale, zero)
    assert result.tolist() == [[[-8, -6, -4, -2], [10, 10, 11, 12]]]
    back = applied(Op.DEQUANTIZE, result, scale, zero)
    assert back.tolist() == [[[-4, -3, -2, -1], [0, 0, 2, 4]]]
    last = applied(Op.DEQUANTIZE, result, f32(1, 1, 1, 2), np.array([0] * 4, np.int8), attrs=DequantizeAttrs(-1))
    assert last[0, 1].tolist() == [10, 10, 11, 24]


def test_a_bias_of_32_bits_is_dequantised() -> None:
    result = applied(Op.DEQUANTIZE, np.array([2**31 - 1, -5], np.int32), f32(0.25), np.array(0, np.int32))
    assert result.tolist() == [2.0**29, -1.25]


F, S = ((2, 3), "float32"), ((), "float32")


@pytest.mark.parametrize(
    ("op", "types", "attrs", "sentence"),
    [
        (Op.QUANTIZE, [((2, 3), "int8"), S, ((), "int8")], QuantizeAttrs(), "data has elements float32, not int8"),
        (Op.QUANTIZE, [F, S, ((), "uint8")], QuantizeAttrs(), "zero_point has elements int8, not uint8"),
        (Op.QUANTIZE, [F, ((), "float64"), ((), "int8")], QuantizeAttrs(), "scale has elements float32, not float64"),
        (Op.QUANTIZE, [F, ((3,), "float32"), ((), "int8")], QuantizeAttrs(),
         "scale and zero_point have one shape, not (3,) and ()"),
        (Op.QUANTIZE, [F, ((2,), "float32"), ((2,), "int8")], QuantizeAttrs(),
         "scale is a scalar or has the 3 elements of axis 1, not (2,)"),
        (Op.QUANTIZE, [F, S, ((), "int64")], QuantizeAttrs("int64"),
         "the result has elements int8 or uint8 or int16 or uint16 or int32, not int64"),
        (Op.DEQUANTIZE, [((2,), "int64"), S, ((), "int64")], DequantizeAttrs(),
         "data has elements int8 or uint8 or int16 or uint16 or int32, not int64"),
    ],
)  # fmt: skip
def test_scales_that_do_not_go_with_the_data_are_refused(
    op: Op, types: Any, attrs: DequantizeAttrs | QuantizeAttrs, sentence: str
) -> None:
    assert refusal(op, *types, attrs=attrs) == sentence


def test_a_type_that_is_none_is_refused() -> None:
    with pytest.raises(RelayError, match=r"not 'int4'$"):
        QuantizeAttrs("int4")
