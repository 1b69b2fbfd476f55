"""Pools of plain images, window by window in numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta import te
from vta.topi import testing
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import pooling

RNG = np.random.default_rng(10)
Pair = tuple[int, int]
Case = tuple[Pair, Pair, Pair, tuple[int, int, int, int], bool]
CASES: list[Case] = [
    ((2, 2), (2, 2), (1, 1), (0, 0, 0, 0), False), ((3, 3), (2, 2), (1, 1), (1, 1, 1, 1), False),
    ((3, 2), (1, 2), (1, 1), (1, 0, 1, 1), False), ((2, 2), (1, 1), (2, 2), (0, 0, 0, 0), False),
    ((3, 3), (2, 2), (1, 1), (0, 0, 0, 0), True),
]  # fmt: skip


def windows(x: np.ndarray, case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each window its largest element, its sum, and how many elements of the image it has."""
    (kh, kw), (sh, sw), (dh, dw), (top, left, bottom, right), ceil = case
    h, w = x.shape[2:]
    room = [h + top + bottom - (kh - 1) * dh - 1, w + left + right - (kw - 1) * dw - 1]
    rows, columns = (-(-r // s) + 1 if ceil else r // s + 1 for r, s in zip(room, (sh, sw), strict=True))
    most = np.full((*x.shape[:2], rows, columns), -np.inf)
    total, count = np.zeros_like(most), np.zeros((rows, columns))
    for y in range(rows):
        for c in range(columns):
            for dy in range(kh):
                for dx in range(kw):
                    row, column = y * sh - top + dy * dh, c * sw - left + dx * dw
                    if 0 <= row < h and 0 <= column < w:
                        most[:, :, y, c] = np.maximum(most[:, :, y, c], x[:, :, row, column])
                        total[:, :, y, c] += x[:, :, row, column]
                        count[y, c] += 1
    return most, total, count


@pytest.mark.parametrize("case", CASES)
def test_pools_are_windows(case: Case) -> None:
    kernel, stride, dilation, pads, ceil = case
    x = RNG.integers(-9, 9, (2, 3, 8, 9)).astype(np.float32)
    most, total, count = windows(x, case)

    def pools(t: te.Tensor) -> list[te.Tensor]:
        return [pooling.pool2d(t, kernel, stride, dilation, pads, kind, ceil, "NCHW", False) for kind in ("max", "avg")]

    largest, average = computed(pools, x)
    np.testing.assert_array_equal(largest, most)
    np.testing.assert_allclose(average, total / np.maximum(count, 1), rtol=1e-6)


def test_pads_may_count_and_layouts_may_differ() -> None:
    x = RNG.integers(-9, 9, (1, 2, 6, 6)).astype(np.float32)
    _, total, _ = windows(x, ((3, 3), (1, 1), (1, 1), (1, 1, 1, 1), False))
    [average] = computed(
        lambda t: pooling.pool2d(t, (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), "avg", layout="NHWC"),
        x.transpose(0, 2, 3, 1).copy(),
    )
    np.testing.assert_allclose(average.transpose(0, 3, 1, 2), total / 9, rtol=1e-6)


def test_whole_images_and_larger_ones() -> None:
    x = RNG.integers(-9, 9, (2, 3, 4, 5)).astype(np.float32)
    most, average, large = computed(
        lambda t: [pooling.global_pool(t, "max"), pooling.global_pool(t, "avg"), pooling.upsampling(t, 2, 3)], x
    )
    np.testing.assert_array_equal(most, x.max(axis=(2, 3), keepdims=True))
    np.testing.assert_allclose(average, x.mean(axis=(2, 3), keepdims=True), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(large, x.repeat(2, 2).repeat(3, 3))


def test_rows_and_volumes() -> None:
    row, volume = (RNG.integers(-9, 9, shape).astype(np.float32) for shape in ((2, 3, 9), (1, 2, 5, 6, 7)))
    for kind in ("max", "avg"):
        for counts in (False, True):
            one, three = computed(
                lambda t, u, k=kind, c=counts: [
                    pooling.pool1d(t, (3,), (2,), (1,), (1, 0), k, True, "NCW", c),
                    pooling.pool3d(u, (2, 3, 2), (1, 2, 2), (1, 1, 2), (0, 1, 0, 1, 1, 1), k, False, "NCDHW", c),
                ],
                row, volume,
            )  # fmt: skip
            wanted = testing.poolnd_python(row, (3,), (2,), (1,), (1,), (0,), kind, counts, True)
            np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-6)
            wanted = testing.poolnd_python(volume, (2, 3, 2), (1, 2, 2), (1, 1, 2), (0, 1, 0), (1, 1, 1), kind, counts)
            np.testing.assert_allclose(three, wanted, rtol=1e-5, atol=1e-6)


def test_what_is_no_pool_is_refused() -> None:
    [x] = tensors(np.zeros((1, 2, 4, 4), np.int32))
    cases: list[tuple[Callable[[], object], str]] = [
        (
            lambda: pooling.pool2d(x, (2, 2), (1, 1), (1, 1), (0, 0, 0, 0), "avg"),
            "topi.nn.pool2d: averages are of floats, not int32",
        ),
        (
            lambda: pooling.pool2d(x, (2, 2), (1, 1), (1, 1), (0, 0), "max"),
            "topi.nn.pool2d: expected two kernel sizes, strides and dilations, and four pads",
        ),
        (
            lambda: pooling.pool1d(x, (2,), (1,), (1,), (0, 0), "max", layout="NHC"),
            "topi.nn.pool1d: expected a layout of N, C and W, got 'NHC'",
        ),
        (
            lambda: pooling.pool3d(x, (2,), (1,), (1,), (0, 0), "max"),
            "topi.nn.pool3d: expected three kernel sizes, strides and dilations, and six pads",
        ),
        (
            lambda: pooling.pool2d(x, (2, 2), (1, 1), (1, 1), (0, 0, 0, 0), "sum"),
            "topi.nn.pool2d: pool_type is 'max' or 'avg', not 'sum'",
        ),
        (
            lambda: pooling.global_pool(x, "max", "NCHWc"),
            "topi.nn.global_pool: expected a layout of N, C, H and W, got 'NCHWc'",
        ),
    ]
    for step, sentence in cases:
        with pytest.raises(OperatorError) as error:
            step()
        assert str(error.value) == sentence
