from typing import Any

import numpy as np
import pytest

from runtime.executor.operators.layouts import convert
from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.products import (
    QnnBatchMatmulAttrs,
    QnnConv2dAttrs,
    QnnConv2dTransposeAttrs,
    QnnDenseAttrs,
    QnnMulAttrs,
)
from tests.support.relay.apply import applied, refusal
from tests.support.relay.plain_windows import plain_conv2d, plain_conv2d_transpose

LIMITS = {"int8": (-128, 128), "uint8": (0, 256)}


def drawn(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(*LIMITS[dtype], shape).astype(dtype)


@pytest.mark.parametrize(("data_type", "zero"), [("int8", 0), ("int8", -128), ("uint8", 0), ("uint8", 131)])
@pytest.mark.parametrize(("weight_type", "kernel_zero"), [("int8", (0,)), ("uint8", (128,)), ("int8", (1, -2, 3, 4))])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_convolution_adds_nothing_for_pads(
    data_type: str, zero: int, weight_type: str, kernel_zero: tuple[int, ...], groups: int
) -> None:
    data, weight = drawn((1, 4, 5, 4), data_type, 1), drawn((4, 4 // groups, 3, 2), weight_type, 2)
    moves = {"strides": (2, 1), "padding": (1, 0, 2, 1), "dilation": (1, 2), "groups": groups}
    attrs = QnnConv2dAttrs(**moves, input_zero_point=zero, kernel_zero_point=kernel_zero)
    zeros = np.array(kernel_zero).reshape(-1, 1, 1, 1)
    expected = plain_conv2d(data.astype(int) - zero, weight.astype(int) - zeros, **moves)
    result = applied(Op.QNN_CONV2D, data, weight, attrs=attrs)
    assert result.dtype == np.int32
    assert np.array_equal(result, expected)


def test_layouts_do_not_change_what_is_computed() -> None:
    data, weight = drawn((1, 8, 4, 4), "int8", 3), drawn((8, 8, 3, 3), "int8", 4)
    zeros = tuple(range(8))
    plain = applied(Op.QNN_CONV2D, data, weight, attrs=QnnConv2dAttrs(kernel_zero_point=zeros))
    packed = applied(
        Op.QNN_CONV2D,
        convert(data, "NCHW", "NCHW1n4c"),
        convert(weight, "OIHW", "OIHW4o4i"),
        attrs=QnnConv2dAttrs(
            data_layout="NCHW1n4c", kernel_layout="OIHW4o4i", kernel_zero_point=zeros, input_zero_point=0
        ),
    )
    assert np.array_equal(convert(packed, "NCHW1n4c", "NCHW"), plain)


def test_a_transposed_convolution_is_exact() -> None:
    data, weight = drawn((2, 4, 3, 3), "uint8", 5), drawn((4, 3, 3, 2), "int8", 6)
    moves = {"strides": (2, 3), "padding": (1, 0, 0, 1), "output_padding": (1, 0)}
    attrs = QnnConv2dTransposeAttrs(**moves, input_zero_point=100, kernel_zero_point=(3, -4, 5))
    zeros = np.array([3, -4, 5]).reshape(1, 3, 1, 1)
    expected = plain_conv2d_transpose(data.astype(int) - 100, weight.astype(int) - zeros, **moves)
    assert np.array_equal(applied(Op.QNN_CONV2D_TRANSPOSE, data, weight, attrs=attrs), expected)


def test_a_dense_layer_is_exact() -> None:
    data, weight = drawn((3, 2000), "uint8", 7), drawn((5, 2000), "int8", 8)
    attrs = QnnDenseAttrs(12, (0, 1, 2, 3, 4))
    expected = (data.astype(np.int64) - 12) @ (weight.astype(np.int64) - np.arange(5)[:, None]).T
    assert np.array_equal(applied(Op.QNN_DENSE, data, weight, attrs=attrs), expected)


def test_sums_beyond_what_float32_counts_are_exact() -> None:
    data, weight = drawn((1, 2000, 2, 2), "uint8", 13), drawn((3, 2000, 1, 1), "int8", 14)
    data[:], weight[:] = data | 201, weight & 127 | 97  # odd, and large
    expected = plain_conv2d(data.astype(int), weight.astype(int), strides=(1, 1), padding=(0,) * 4)
    assert abs(expected).max() > 1 << 24
    assert np.array_equal(applied(Op.QNN_CONV2D, data, weight, attrs=QnnConv2dAttrs()), expected)
    turned = weight.transpose(1, 0, 2, 3)
    found = applied(Op.QNN_CONV2D_TRANSPOSE, data, np.ascontiguousarray(turned), attrs=QnnConv2dTransposeAttrs())
    assert np.array_equal(found, expected)  # of kernels of one pixel both are the same


def test_sums_wrap_at_32_bits() -> None:
    ones = np.full((1, 40_000), 255, np.uint8)
    total = 40_000 * 255 * 255
    assert applied(Op.QNN_DENSE, ones, ones).item() == (total + 2**31) % 2**32 - 2**31


def test_stacks_of_matrices_are_exact() -> None:
    a, b = drawn((2, 5, 3), "uint8", 9), drawn((1, 4, 5), "int8", 10)
    attrs = QnnBatchMatmulAttrs(transpose_a=True, transpose_b=True, a_zero_point=7, b_zero_point=-1)
    expected = np.einsum("nkm,bok->nmo", a.astype(int) - 7, b.astype(int) + 1)
    assert np.array_equal(applied(Op.QNN_BATCH_MATMUL, a, b, attrs=attrs), expected)


def test_products_element_by_element_broadcast() -> None:
    a, b = drawn((2, 3), "uint8", 11), drawn((3,), "int8", 12)
    expected = (a.astype(int) - 5) * (b.astype(int) - 6)
    assert np.array_equal(applied(Op.QNN_MUL, a, b, attrs=QnnMulAttrs(5, 6)), expected)


IMAGE, KERNEL = ((1, 4, 5, 5), "int8"), ((4, 4, 3, 3), "int8")


@pytest.mark.parametrize(
    ("op", "types", "attrs", "sentence"),
    [
        (Op.QNN_CONV2D, [((1, 4, 5, 5), "int16"), KERNEL], QnnConv2dAttrs(),
         "data has elements int8 or uint8, not int16"),
        (Op.QNN_CONV2D, [IMAGE, KERNEL], QnnConv2dAttrs(input_zero_point=200),
         "the zero point of data is from -128 to 127, not 200"),
        (Op.QNN_CONV2D, [IMAGE, KERNEL], QnnConv2dAttrs(kernel_zero_point=(0, 1)),
         "kernel_zero_point is one number, or one for each of 4 channels, not 2"),
        (Op.QNN_CONV2D_TRANSPOSE, [IMAGE, ((4, 2, 3, 3), "int8")],
         QnnConv2dTransposeAttrs(groups=2, kernel_zero_point=(0, 1)),
         "kernel_zero_point is one number where there are groups"),
        (Op.QNN_DENSE, [((1, 4), "int8"), ((3, 4), "int8")], QnnDenseAttrs(0, (128,)),
         "the zero point of weight is from -128 to 127, not 128"),
        (Op.QNN_BATCH_MATMUL, [((1, 4), "int8"), ((4, 4), "float32")], QnnBatchMatmulAttrs(),
         "b has elements int8 or uint8, not float32"),
        (Op.QNN_MUL, [((1, 4), "int8"), ((4,), "int64")], QnnMulAttrs(),
         "rhs has elements int8 or uint8 or int32, not int64"),
    ],
)  # fmt: skip
def test_operands_that_cannot_be_are_refused(
    op: Op, types: list[tuple[str | tuple[int, ...], ...]], attrs: Any, sentence: str
) -> None:
    assert refusal(op, *types, attrs=attrs) == sentence
