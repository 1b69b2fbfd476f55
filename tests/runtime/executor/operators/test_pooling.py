from typing import Any

import numpy as np
import pytest

from runtime.executor.operators.layouts import convert
from runtime.executor.operators.names import Op
from runtime.executor.operators.pooling import AvgPool2dAttrs, GlobalPoolAttrs, Pool2dAttrs, window_counts
from runtime.executor.operators.windows import Window
from tests.support.relay.apply import applied, refusal, shape_of
from tests.support.relay.plain_windows import plain_windows

WINDOWS = [
    {"pool_size": (2, 2), "strides": (2, 2)},
    {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1)},
    {"pool_size": (3, 2), "strides": (2, 3), "padding": (1, 0, 2, 1), "ceil_mode": True},
    {"pool_size": (2, 3), "dilation": (2, 1), "padding": (0, 2, 1, 0), "strides": (1, 2), "ceil_mode": True},
]


def windows(data: np.ndarray, attrs: Pool2dAttrs, outputs: tuple[int, int]) -> Any:
    return plain_windows(
        data, kernel=attrs.pool_size, strides=attrs.strides, padding=attrs.padding, dilation=attrs.dilation,
        outputs=outputs,
    )  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8"])
def test_a_max_pool_is_the_largest_element_of_every_window(window: Any, dtype: str) -> None:
    low = 0 if dtype == "uint8" else -100
    data = np.random.default_rng(1).integers(low, 100, (2, 2, 7, 8)).astype(dtype)
    attrs = Pool2dAttrs(**window)
    result = applied(Op.MAX_POOL2D, data, attrs=attrs)
    for place, inside, _ in windows(data, attrs, result.shape[2:]):
        assert result[place] == max(inside)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("include", [False, True])
def test_an_average_pool_divides_by_what_is_in_the_image_or_in_its_pads(window: Any, include: bool) -> None:
    data = np.random.default_rng(2).integers(-9, 9, (1, 2, 7, 8)).astype(np.float32)
    attrs = AvgPool2dAttrs(**window, count_include_pad=include)
    result = applied(Op.AVG_POOL2D, data, attrs=attrs)
    for place, inside, padded in windows(data, attrs, result.shape[2:]):
        assert np.isclose(result[place], sum(inside) / (padded if include else len(inside)))


def test_global_pools_leave_one_pixel() -> None:
    data = np.random.default_rng(3).integers(-9, 9, (2, 4, 3, 5)).astype(np.float32)
    assert np.array_equal(applied(Op.GLOBAL_MAX_POOL2D, data), data.max(axis=(2, 3), keepdims=True))
    assert np.allclose(applied(Op.GLOBAL_AVG_POOL2D, data), data.mean(axis=(2, 3), keepdims=True))
    assert applied(Op.GLOBAL_MAX_POOL2D, data.astype(np.int8)).dtype == np.int8


@pytest.mark.parametrize("layout", ["NHWC", "NCHW1n2c"])
def test_layouts_do_not_change_what_is_computed(layout: str) -> None:
    data = np.random.default_rng(4).integers(-9, 9, (2, 4, 6, 6)).astype(np.float32)
    moved = convert(data, "NCHW", layout)
    for op, attrs in (
        (Op.MAX_POOL2D, lambda text: Pool2dAttrs((3, 2), (2, 2), layout=text)),
        (Op.AVG_POOL2D, lambda text: AvgPool2dAttrs((3, 2), (2, 2), (1, 1, 1, 1), layout=text)),
        (Op.GLOBAL_MAX_POOL2D, GlobalPoolAttrs),
        (Op.GLOBAL_AVG_POOL2D, GlobalPoolAttrs),
    ):
        result = applied(op, moved, attrs=attrs(layout))
        assert np.array_equal(convert(result, layout, "NCHW"), applied(op, data, attrs=attrs("NCHW")))


def test_shapes_are_inferred() -> None:
    attrs = Pool2dAttrs((3, 3), (2, 2), (1, 1, 1, 1))
    assert shape_of(Op.MAX_POOL2D, ((1, 64, 112, 112), "int8"), attrs=attrs) == (1, 64, 56, 56)


@pytest.mark.parametrize(
    ("op", "dtype", "attrs", "sentence"),
    [
        (
            Op.MAX_POOL2D,
            "int8",
            Pool2dAttrs((2, 2), padding=(0, 2, 0, 0)),
            "padding (0, 2, 0, 0) is as large as the window, (2, 2): it would hold nothing",
        ),
        (Op.AVG_POOL2D, "int8", AvgPool2dAttrs((2, 2)), "data holds floating point numbers, not int8"),
        (Op.GLOBAL_AVG_POOL2D, "int8", GlobalPoolAttrs(), "data holds floating point numbers, not int8"),
        (
            Op.GLOBAL_MAX_POOL2D,
            "int8",
            GlobalPoolAttrs("NCDW"),
            "the layout of images has the axes N, C, H, W, and NCDW has others",
        ),
    ],
)
def test_a_pool_that_cannot_be_is_refused(
    op: Op, dtype: str, attrs: AvgPool2dAttrs | GlobalPoolAttrs | Pool2dAttrs, sentence: str
) -> None:
    assert refusal(op, ((1, 2, 5, 5), dtype), attrs=attrs) == sentence


def test_a_last_window_has_what_is_there_of_it() -> None:
    """In ceil mode, over five rows and eight columns: the windows of the last row have half of their elements."""
    window = Window((2, 2), (2, 2), (0, 0, 0, 0), (1, 1), ceil_mode=True)
    for include in (False, True):
        assert window_counts((5, 8), window, count_include_pad=include).tolist() == [[4] * 4, [4] * 4, [2] * 4]
        assert window_counts((8, 5), window, count_include_pad=include).tolist() == [[4, 4, 2]] * 4
    padded = Window((2, 2), (2, 2), (1, 0, 0, 0), (1, 1), ceil_mode=True)
    assert window_counts((4, 2), padded, count_include_pad=True).tolist() == [[4], [4], [2]]
    assert window_counts((4, 2), padded, count_include_pad=False).tolist() == [[2], [4], [2]]
