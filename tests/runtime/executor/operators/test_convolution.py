from typing import Any

import numpy as np
import pytest

from runtime.executor.operators.convolution import Conv2dAttrs, Conv2dTransposeAttrs
from runtime.executor.operators.layouts import convert
from runtime.executor.operators.names import Op
from tests.support.relay.apply import applied, refusal, shape_of
from tests.support.relay.plain_windows import plain_conv2d, plain_conv2d_transpose

CASES = [
    ((1, 3, 5, 5), (2, 3, 3, 3), {}),
    ((2, 4, 6, 7), (6, 2, 3, 2), {"groups": 2, "strides": (2, 1), "padding": (1, 0, 2, 1)}),
    ((1, 4, 7, 6), (4, 1, 3, 3), {"groups": 4, "dilation": (2, 1), "padding": (1, 1, 1, 1)}),
    ((1, 4, 5, 5), (8, 1, 1, 2), {"groups": 4, "strides": (3, 2)}),
]


def floats(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [rng.integers(-8, 8, shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize(("data", "weight", "attrs"), CASES)
def test_a_convolution_is_its_definition(data: tuple[int, ...], weight: tuple[int, ...], attrs: Any) -> None:
    arrays = floats(np.random.default_rng(1), data, weight)
    assert np.array_equal(applied(Op.CONV2D, *arrays, attrs=Conv2dAttrs(**attrs)), plain_conv2d(*arrays, **attrs))


@pytest.mark.parametrize(
    ("data", "weight", "attrs"),
    [
        ((1, 3, 4, 5), (3, 2, 3, 3), {}),
        ((2, 4, 3, 3), (4, 3, 2, 3), {"groups": 2, "strides": (2, 3), "padding": (1, 0, 0, 2)}),
        ((1, 2, 4, 4), (2, 2, 3, 3), {"strides": (2, 2), "output_padding": (1, 1), "dilation": (2, 1)}),
        ((1, 2, 3, 3), (2, 1, 1, 1), {"groups": 2, "strides": (3, 2)}),
    ],
)
def test_a_transposed_convolution_is_its_definition(data: tuple[int, ...], weight: tuple[int, ...], attrs: Any) -> None:
    arrays = floats(np.random.default_rng(2), data, weight)
    result = applied(Op.CONV2D_TRANSPOSE, *arrays, attrs=Conv2dTransposeAttrs(**attrs))
    assert np.array_equal(result, plain_conv2d_transpose(*arrays, **attrs))


@pytest.mark.parametrize("data_layout", ["NHWC", "NCHW2n4c", "CNHW"])
@pytest.mark.parametrize("kernel_layout", ["HWIO", "OIHW4o4i"])
def test_layouts_do_not_change_what_is_computed(data_layout: str, kernel_layout: str) -> None:
    data, weight = floats(np.random.default_rng(3), (2, 8, 5, 5), (12, 8, 3, 3))
    plain = applied(Op.CONV2D, data, weight, attrs=Conv2dAttrs(padding=(1, 1, 1, 1)))
    result = applied(
        Op.CONV2D,
        convert(data, "NCHW", data_layout),
        convert(weight, "OIHW", kernel_layout),
        attrs=Conv2dAttrs(padding=(1, 1, 1, 1), data_layout=data_layout, kernel_layout=kernel_layout),
    )
    assert np.array_equal(convert(result, data_layout, "NCHW"), plain)


def test_float64_stays_float64() -> None:
    data, weight = np.ones((1, 1, 1, 1)), np.full((1, 1, 1, 1), 1 / 3)
    assert applied(Op.CONV2D, data, weight)[0, 0, 0, 0] == 1 / 3


def test_shapes_are_inferred() -> None:
    image = ((1, 3, 224, 224), "float32")
    assert shape_of(Op.CONV2D, image, ((64, 3, 7, 7), "float32"), attrs=Conv2dAttrs((2, 2), (3, 3, 3, 3))) == (
        1, 64, 112, 112,
    )  # fmt: skip


F = "float32"


@pytest.mark.parametrize(
    ("types", "attrs", "sentence"),
    [
        (
            [((1, 4, 5, 5), F), ((2, 3, 3, 3), F)],
            {},
            "the weight takes 3 channels in each of 1 groups, and the data has 4",
        ),
        ([((1, 4, 5, 5), F), ((3, 2, 3, 3), F)], {"groups": 2}, "3 output channels are not a multiple of 2 groups"),
        ([((1, 4, 5, 5), F), ((3, 4, 3, 3), F)], {"groups": 0}, "groups is from 1, not 0"),
        (
            [((1, 4, 2, 5), F), ((3, 4, 3, 3), F)],
            {},
            "a window reaches over 3 rows, and the padded image has 2",
        ),
        (
            [((1, 4, 5), F), ((3, 4, 3, 3), F)],
            {},
            "layout NCHW has 4 axes, and the shape is (1, 4, 5)",
        ),
        (
            [((1, 4, 5, 5), F), ((3, 4, 3, 3), F)],
            {"data_layout": "NCDH"},
            "the data layout has the axes C, H, N, W, and NCDH has others",
        ),
        (
            [((1, 4, 5, 5), F), ((3, 4, 3, 3), F)],
            {"kernel_layout": "NCHW"},
            "the kernel layout has the axes H, I, O, W, and NCHW has others",
        ),
        ([((1, 4, 5, 5), "int8"), ((3, 4, 3, 3), "int8")], {}, "data holds floating point numbers, not int8"),
        (
            [((1, 4, 5, 5), F), ((3, 4, 3, 3), "float64")],
            {},
            "data, weight have elements of one type, not float32, float64",
        ),
    ],
)
def test_a_convolution_that_cannot_be_is_refused(
    types: list[tuple[str | tuple[int, ...], ...]], attrs: Any, sentence: str
) -> None:
    assert refusal(Op.CONV2D, *types, attrs=Conv2dAttrs(**attrs)) == sentence


@pytest.mark.parametrize(
    ("types", "attrs", "sentence"),
    [
        (
            [((1, 4, 5, 5), F), ((3, 4, 3, 3), F)],
            {},
            "the weight takes 3 channels in 1 groups, and the data has 4",
        ),
        (
            [((1, 3, 5, 5), F), ((3, 4, 3, 3), F)],
            {"groups": 2},
            "the weight takes 3 channels in 2 groups, and the data has 3",
        ),
        (
            [((1, 3, 1, 5), F), ((3, 4, 3, 3), F)],
            {"padding": (2, 0, 1, 0)},
            "the padding cuts 3 rows off, and there are 3",
        ),
        (
            [((1, 3, 1, 5), F), ((3, 4, 3, 3), F)],
            {"output_padding": (0, -1)},
            "output_padding consists of 2 integers from 0, not (0, -1)",
        ),
    ],
)
def test_a_transposed_convolution_that_cannot_be_is_refused(
    types: list[tuple[str | tuple[int, ...], ...]], attrs: Any, sentence: str
) -> None:
    assert refusal(Op.CONV2D_TRANSPOSE, *types, attrs=Conv2dTransposeAttrs(**attrs)) == sentence
