import itertools

import numpy as np
import pytest

from runtime.executor.operators.layouts import convert
from runtime.executor.operators.names import Op
from runtime.executor.operators.resize import (
    Coordinates,
    DepthSpaceAttrs,
    DepthSpaceMode,
    NearestRounding,
    Resize2dAttrs,
    ResizeMethod,
    UpsamplingAttrs,
    nearest_indices,
    pixel_places,
)
from tests.support.relay.apply import applied, refusal, shape_of

RAMP = np.array([[[[10, 20, 30, 40]]]], np.float32)


def row(attrs: Resize2dAttrs, data: np.ndarray = RAMP) -> list[float]:
    """Return the only row of a resized image, rounded for reading."""
    return np.round(applied(Op.RESIZE2D, data, attrs=attrs)[0, 0, 0].astype(np.float64), 3).tolist()


@pytest.mark.parametrize(
    ("coordinates", "width", "expected"),
    [
        (Coordinates.HALF_PIXEL, 8, [10, 12.5, 17.5, 22.5, 27.5, 32.5, 37.5, 40]),
        (Coordinates.ASYMMETRIC, 8, [10, 15, 20, 25, 30, 35, 40, 40]),
        (Coordinates.ALIGN_CORNERS, 7, [10, 15, 20, 25, 30, 35, 40]),
        (Coordinates.ALIGN_CORNERS, 1, [10]),
        (Coordinates.HALF_PIXEL, 1, [25]),
        (Coordinates.PYTORCH_HALF_PIXEL, 1, [10]),
        (Coordinates.HALF_PIXEL_SYMMETRIC, 2, [15, 35]),
    ],
)
def test_where_pixels_lie(coordinates: Coordinates, width: int, expected: list[float]) -> None:
    assert row(Resize2dAttrs((1, width), ResizeMethod.LINEAR, coordinates)) == expected


START, END = 0.25, 0.75
"""The part of the image along both axes, where one is asked for."""


def place(rule: Coordinates, i: int, source: int, target: int, scale: float) -> float:
    """Return where pixel ``i`` lies along an axis, by the formulas of ONNX's Resize."""
    match rule:
        case Coordinates.ASYMMETRIC:
            return i / scale
        case Coordinates.HALF_PIXEL:
            return (i + 0.5) / scale - 0.5
        case Coordinates.HALF_PIXEL_SYMMETRIC:
            return source / 2 * (1 - target / (scale * source)) + (i + 0.5) / scale - 0.5
        case Coordinates.PYTORCH_HALF_PIXEL:
            return (i + 0.5) / scale - 0.5 if target > 1 else 0
        case Coordinates.ALIGN_CORNERS:
            return i * (source - 1) / (scale * source - 1) if target > 1 else 0
        case Coordinates.CROP_AND_RESIZE:
            middle = (START + END) / 2
            return (START + i * (END - START) / (target - 1) if target > 1 else middle) * (source - 1)


@pytest.mark.parametrize("coordinates", Coordinates)
@pytest.mark.parametrize("scaled", [False, True])
def test_pixels_lie_where_onnx_says(coordinates: Coordinates, scaled: bool) -> None:
    for (height, width), size in itertools.product([(1, 4), (3, 2), (5, 7)], [(1, 2), (2, 1), (6, 3), (4, 9)]):
        scales = (size[0] / height, size[1] / width)
        if scaled:
            scales = ((size[0] + 0.25) / height, (size[1] + 0.75) / width)
        attrs = Resize2dAttrs(
            size, coordinates=coordinates, scales=scales if scaled else None, roi=(START, START, END, END)
        )
        for found, source, target, scale in zip(
            pixel_places((height, width), attrs), (height, width), size, scales, strict=True
        ):
            wanted = [place(coordinates, i, source, target, scale) for i in range(target)]
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_the_nearest_pixel_is_one_of_the_image() -> None:
    for rounding in NearestRounding:
        attrs = Resize2dAttrs((9, 5), ResizeMethod.NEAREST, Coordinates.HALF_PIXEL_SYMMETRIC, rounding, scales=(2, 0.3))
        rows, columns = nearest_indices((3, 4), attrs)
        assert (len(rows), len(columns)) == (9, 5)
        assert (min(rows), max(rows)) == (0, 2)
        assert (min(columns), max(columns)) == (0, 3)


def test_without_a_part_a_crop_is_the_whole_image() -> None:
    whole = Resize2dAttrs((1, 4), coordinates=Coordinates.CROP_AND_RESIZE)
    assert row(whole) == [10, 20, 30, 40]
    assert row(Resize2dAttrs((1, 7), coordinates=Coordinates.CROP_AND_RESIZE)) == [10, 15, 20, 25, 30, 35, 40]


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        (NearestRounding.FLOOR, [10, 10, 20, 20, 30, 30, 40]),
        (NearestRounding.CEIL, [10, 20, 30, 30, 40, 40, 40]),
        (NearestRounding.ROUND_PREFER_FLOOR, [10, 20, 20, 30, 30, 40, 40]),
        (NearestRounding.ROUND_PREFER_CEIL, [10, 20, 20, 30, 30, 40, 40]),
    ],
)
def test_which_pixel_is_the_nearest(rounding: NearestRounding, expected: list[int]) -> None:
    attrs = Resize2dAttrs((1, 7), ResizeMethod.NEAREST, Coordinates.ASYMMETRIC, rounding)
    assert row(attrs, RAMP.astype(np.int8)) == expected


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [(NearestRounding.ROUND_PREFER_FLOOR, [10, 30]), (NearestRounding.ROUND_PREFER_CEIL, [20, 40])],
)
def test_ties_between_pixels(rounding: NearestRounding, expected: list[int]) -> None:
    assert row(Resize2dAttrs((1, 2), ResizeMethod.NEAREST, Coordinates.HALF_PIXEL, rounding)) == expected


def test_a_cubic_kernel_keeps_lines_straight_inside() -> None:
    line = np.arange(8, dtype=np.float32).reshape(1, 1, 1, 8)
    result = row(Resize2dAttrs((1, 16), ResizeMethod.CUBIC, cubic_alpha=-0.5), line)
    assert np.allclose(result[4:12], [(i + 0.5) / 2 - 0.5 for i in range(4, 12)])


def test_a_cubic_kernel_has_its_weights() -> None:
    impulse = np.array([[[[0, 0, 0, 1, 0, 0, 0, 0]]]], np.float32)
    a = -0.75
    near = ((a + 2) * 0.25 - (a + 3)) * 0.0625 + 1
    far = ((a * 1.25 - 5 * a) * 1.25 + 8 * a) * 1.25 - 4 * a
    result = row(Resize2dAttrs((1, 16), ResizeMethod.CUBIC), impulse)
    assert np.allclose(result[6], near, atol=1e-3)
    assert np.allclose(result[4], far, atol=1e-3)


def test_weights_outside_may_be_left_out() -> None:
    ones = np.ones((1, 1, 1, 4), np.float32)
    attrs = Resize2dAttrs((1, 9), ResizeMethod.CUBIC, exclude_outside=True)
    assert row(attrs, ones) == [1] * 9
    assert row(attrs)[0] != row(Resize2dAttrs((1, 9), ResizeMethod.CUBIC))[0]


def test_antialiasing_averages_what_is_left_out() -> None:
    spikes = np.array([[[[0, 8, 0, 8, 0, 8, 0, 8]]]], np.float32)
    plain = row(Resize2dAttrs((1, 2), coordinates=Coordinates.HALF_PIXEL), spikes)
    smooth = row(Resize2dAttrs((1, 2), antialias=True), spikes)
    assert plain == [4, 4]
    assert smooth == [3.25, 4.75]


def test_a_scale_of_its_own_moves_pixels() -> None:
    assert row(Resize2dAttrs((1, 2), coordinates=Coordinates.ASYMMETRIC, scales=(1, 0.6))) == [10, 26.667]


def test_a_part_of_the_image_with_a_value_outside_of_it() -> None:
    attrs = Resize2dAttrs(
        (1, 4), coordinates=Coordinates.CROP_AND_RESIZE, roi=(0, 0.5, 1, 1.5), extrapolation=-1
    )  # fmt: skip
    assert row(attrs) == [25, 35, -1, -1]
    middle = Resize2dAttrs((1, 1), coordinates=Coordinates.CROP_AND_RESIZE, roi=(0, 0, 1, 0.5))
    assert row(middle) == [17.5]


def test_both_axes_and_layouts() -> None:
    data = np.random.default_rng(1).integers(0, 99, (2, 4, 3, 5)).astype(np.float32)
    plain = applied(Op.RESIZE2D, data, attrs=Resize2dAttrs((5, 4)))
    by_rows = applied(Op.RESIZE2D, data, attrs=Resize2dAttrs((5, 5)))
    assert np.allclose(applied(Op.RESIZE2D, by_rows, attrs=Resize2dAttrs((5, 4))), plain, atol=1e-4)
    other = applied(Op.RESIZE2D, convert(data, "NCHW", "NHWC"), attrs=Resize2dAttrs((5, 4), layout="NHWC"))
    assert np.array_equal(convert(other, "NHWC", "NCHW"), plain)


def test_upsampling_repeats_pixels() -> None:
    data = np.array([[[[1, 2]]]], np.int8)
    result = applied(Op.UPSAMPLING, data, attrs=UpsamplingAttrs(2, 3))
    assert result[0, 0].tolist() == [[1, 1, 1, 2, 2, 2]] * 2
    assert applied(Op.UPSAMPLING, data, attrs=UpsamplingAttrs(1, 2))[0, 0].tolist() == [[1, 1, 2, 2]]
    assert applied(Op.UPSAMPLING, data, attrs=UpsamplingAttrs(2, 1))[0, 0].tolist() == [[1, 2]] * 2
    assert shape_of(Op.UPSAMPLING, ((1, 2, 2, 4), "int8"), attrs=UpsamplingAttrs(2, 1, "NHWC")) == (1, 4, 2, 4)


@pytest.mark.parametrize("op", [Op.DEPTH_TO_SPACE, Op.SPACE_TO_DEPTH])
def test_blocks_of_one_pixel_change_nothing(op: Op) -> None:
    data = np.arange(24, dtype=np.int8).reshape(2, 3, 2, 2)
    assert np.array_equal(applied(op, data, attrs=DepthSpaceAttrs(1)), data)


@pytest.mark.parametrize("mode", DepthSpaceMode)
def test_depth_and_space_are_inverse(mode: DepthSpaceMode) -> None:
    data = np.arange(2 * 8 * 3 * 2, dtype=np.int8).reshape(2, 8, 3, 2)
    attrs = DepthSpaceAttrs(2, mode)
    space = applied(Op.DEPTH_TO_SPACE, data, attrs=attrs)
    assert space.shape == (2, 2, 6, 4)
    assert np.array_equal(applied(Op.SPACE_TO_DEPTH, space, attrs=attrs), data)


def test_depth_to_space_takes_far_or_near_channels() -> None:
    data = np.arange(8, dtype=np.int8).reshape(1, 8, 1, 1)
    far = applied(Op.DEPTH_TO_SPACE, data, attrs=DepthSpaceAttrs(2, DepthSpaceMode.DCR))
    near = applied(Op.DEPTH_TO_SPACE, data, attrs=DepthSpaceAttrs(2, DepthSpaceMode.CRD))
    assert far[0, 0].tolist() == [[0, 2], [4, 6]]
    assert near[0, 0].tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("op", "dtype", "attrs", "sentence"),
    [
        (Op.RESIZE2D, "int8", Resize2dAttrs((2, 2)),
         "data of a linear resize holds floating point numbers, not int8"),
        (Op.RESIZE2D, "float32", Resize2dAttrs((0, 2)), "size consists of 2 integers from 1, not (0, 2)"),
        (Op.RESIZE2D, "float32", Resize2dAttrs((1, 2), scales=(1, 0)), "scales are positive, not (1, 0)"),
        (Op.UPSAMPLING, "int8", UpsamplingAttrs(2, 0), "scales are integers from 1, not 2 and 0"),
        (Op.UPSAMPLING, "int8", UpsamplingAttrs(0, 2), "scales are integers from 1, not 0 and 2"),
        (Op.DEPTH_TO_SPACE, "int8", DepthSpaceAttrs(0), "4 channels are not blocks of 0 x 0"),
        (Op.SPACE_TO_DEPTH, "int8", DepthSpaceAttrs(0), "6 x 5 pixels are not blocks of 0 x 0"),
        (Op.SPACE_TO_DEPTH, "int8", DepthSpaceAttrs(5), "6 x 5 pixels are not blocks of 5 x 5"),
        (Op.DEPTH_TO_SPACE, "int8", DepthSpaceAttrs(3), "4 channels are not blocks of 3 x 3"),
        (Op.SPACE_TO_DEPTH, "int8", DepthSpaceAttrs(2), "6 x 5 pixels are not blocks of 2 x 2"),
    ],
)  # fmt: skip
def test_a_size_that_cannot_be_is_refused(
    op: Op, dtype: str, attrs: DepthSpaceAttrs | Resize2dAttrs | UpsamplingAttrs, sentence: str
) -> None:
    assert refusal(op, ((1, 4, 6, 5), dtype), attrs=attrs) == sentence
