"""Images of other sizes, against numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta.topi import testing
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import resize

RNG = np.random.default_rng(67)


@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("size", [(4, 5), (8, 10), (3, 7), (1, 1)])
def test_resizes_are_numpys(mode: str, size: tuple[int, int]) -> None:
    x = RNG.integers(-99, 99, (2, 3, 4, 5)).astype(np.float32)
    near, linear, last = computed(
        lambda t, u: [
            resize.resize2d(t, None, size, "NCHW", "nearest_neighbor", mode),
            resize.resize2d(t, [0.0] * 4, size, "NCHW", "linear", mode),
            resize.resize2d(u, None, size, "NHWC", "linear", mode),
        ],
        x, x.transpose(0, 2, 3, 1).copy(),
    )  # fmt: skip
    np.testing.assert_allclose(linear, testing.resize2d_python(x, size, "linear", mode), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(last.transpose(0, 3, 1, 2), linear, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(near, testing.resize2d_python(x, size, "nearest_neighbor", mode))


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 2), (7, 8), (9, 5)])
def test_windows_cover_each_image(size: tuple[int, int]) -> None:
    x = RNG.integers(-99, 99, (2, 3, 7, 8)).astype(np.float32)
    most, mean = computed(lambda t: [resize.adaptive_pool(t, size, kind) for kind in ("max", "avg")], x)
    np.testing.assert_array_equal(most, testing.adaptive_pool(x, size, "max"))
    np.testing.assert_allclose(mean, testing.adaptive_pool(x, size, "avg"), rtol=1e-5, atol=1e-5)


def test_what_does_not_fit_is_refused() -> None:
    t, i = tensors(np.zeros((1, 2, 4, 4), np.float32), np.zeros((1, 2, 4, 4), np.int32))
    wrong: list[tuple[Callable[[], object], str]] = [
        (
            lambda: resize.resize2d(t, None, (2, 2), "CHWN"),
            "topi.image.resize2d: expected images NCHW or NHWC, got 4 dimensions, 'CHWN'",
        ),
        (
            lambda: resize.resize2d(t, None, (2, 2), coordinate_transformation_mode="tf"),
            "topi.image.resize2d: coordinates are half_pixel, align_corners, asymmetric, not 'tf'",
        ),
        (
            lambda: resize.resize2d(t, [0, 0, 1, 1], (2, 2)),
            "topi.image.resize2d: a region of interest is not done; slice the image first",
        ),
        (
            lambda: resize.resize2d(t, None, (2, 2), method="cubic"),
            "topi.image.resize2d: method is 'nearest_neighbor' or 'linear', not 'cubic'",
        ),
        (
            lambda: resize.resize2d(t, None, (2, 2), method="nearest_neighbor", rounding_method="up"),
            "topi.image.resize2d: rounding_method is 'round' or 'floor', not 'up'",
        ),
        (lambda: resize.resize2d(i, None, (2, 2)), "topi.image.resize2d: linear means are of floats, not int32"),
        (
            lambda: resize.adaptive_pool(i, (2, 2), "avg"),
            "topi.nn.adaptive_pool: pool_type is 'max', or 'avg' of floats, not 'avg' of int32",
        ),
    ]
    for build, text in wrong:
        with pytest.raises(OperatorError) as error:
            build()
        assert str(error.value) == text
