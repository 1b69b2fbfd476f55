"""Convolutions, against sums over windows in numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import convolution

RNG = np.random.default_rng(9)


def integers(*shape: int) -> np.ndarray:
    """Whole numbers as floats: sums are exact in any order."""
    return RNG.integers(-3, 4, shape).astype(np.float32)


def conv(
    x: np.ndarray, w: np.ndarray, stride: int, pads: tuple[int, ...], dilation: int, groups: int = 1
) -> np.ndarray:
    """The convolution by its definition: images (N, C, H, W), filters (O, C / groups, KH, KW)."""
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    outputs, inner, kh, kw = w.shape
    rows = (x.shape[2] - (kh - 1) * dilation - 1) // stride + 1
    columns = (x.shape[3] - (kw - 1) * dilation - 1) // stride + 1
    result = np.zeros((x.shape[0], outputs, rows, columns), x.dtype)
    for f in range(outputs):
        first = f // (outputs // groups) * inner
        for c in range(inner):
            for dy in range(kh):
                for dx in range(kw):
                    part = x[:, first + c, dy * dilation :, dx * dilation :][:, ::stride, ::stride]
                    result[:, f] += part[:, :rows, :columns] * w[f, c, dy, dx]
    return result


CASES = [
    (1, (0, 0, 0, 0), 1), (1, (1, 1, 1, 1), 1), (2, (1, 1, 1, 1), 1), (1, (2, 1, 0, 2), 1), (2, (2, 2, 2, 2), 2),
]  # fmt: skip


@pytest.mark.parametrize(("stride", "pads", "dilation"), CASES)
def test_both_layouts(stride: int, pads: tuple[int, ...], dilation: int) -> None:
    x, w = integers(2, 3, 9, 8), integers(4, 3, 3, 3)
    expected = conv(x, w, stride, pads, dilation)
    [nchw] = computed(lambda s, t: convolution.conv2d_nchw(s, t, stride, pads, dilation), x, w)
    np.testing.assert_array_equal(nchw, expected)
    turned = x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy()
    [nhwc] = computed(lambda s, t: convolution.conv2d_nhwc(s, t, stride, pads, dilation), *turned)
    np.testing.assert_array_equal(nhwc, expected.transpose(0, 2, 3, 1))


def test_groups_and_depth_by_depth() -> None:
    x, w = integers(1, 4, 7, 7), integers(6, 2, 3, 3)
    [grouped] = computed(lambda s, t: convolution.group_conv2d_nchw(s, t, 1, 1, 1, 2), x, w)
    np.testing.assert_array_equal(grouped, conv(x, w, 1, (1, 1, 1, 1), 1, 2))
    own = integers(4, 2, 3, 3)
    [deep] = computed(lambda s, t: convolution.depthwise_conv2d_nchw(s, t, 2, "SAME"), x, own)
    np.testing.assert_array_equal(deep, conv(x, own.reshape(8, 1, 3, 3), 2, (1, 1, 1, 1), 1, 4))


@pytest.mark.parametrize(("stride", "pads", "more"), [(1, 0, (0, 0)), (2, 1, (1, 0)), (3, (0, 1, 1, 0), (0, 2))])
def test_transposed(stride: int, pads: int | tuple[int, ...], more: tuple[int, int]) -> None:
    x, w = integers(1, 2, 4, 5), integers(2, 3, 3, 4)
    [result] = computed(lambda s, t: convolution.conv2d_transpose_nchw(s, t, stride, pads, output_padding=more), x, w)
    top, left, bottom, right = convolution.pads_of(pads, (3, 4), "test")
    full = np.zeros((1, 3, 3 * stride + 3 + more[0], 4 * stride + 4 + more[1]), np.float32)
    for y in range(4):
        for column in range(5):
            part = np.einsum("nc,cokl->nokl", x[:, :, y, column], w)
            full[:, :, y * stride : y * stride + 3, column * stride : column * stride + 4] += part
    np.testing.assert_array_equal(result, full[:, :, top : full.shape[2] - bottom, left : full.shape[3] - right])


def test_integers_are_summed_in_a_wider_type() -> None:
    x, w = (RNG.integers(-128, 128, s).astype(np.int8) for s in ((1, 3, 6, 6), (2, 3, 3, 3)))
    [result] = computed(lambda s, t: convolution.conv2d_nchw(s, t, 1, 0, out_dtype="int32"), x, w)
    np.testing.assert_array_equal(result, conv(x.astype(np.int32), w.astype(np.int32), 1, (0, 0, 0, 0), 1))


def test_what_does_not_fit_is_refused() -> None:
    x, w = tensors(integers(1, 3, 6, 6), integers(2, 4, 3, 3))
    cases: list[tuple[Callable[[], object], str]] = [
        (
            lambda: convolution.conv2d_nchw(x, w, 1, 0),
            "topi.nn.conv2d_nchw: 3 channels in 1 groups do not go with filters of 4 channels",
        ),
        (
            lambda: convolution.conv2d_nchw(x, w, 0, 0),
            "topi.nn.conv2d_nchw: 3 channels in 1 groups do not go with filters of 4 channels",
        ),
        (
            lambda: convolution.pads_of((1, 2, 3), (3, 3), "here"),
            "here: expected one, two or four pads, at least 0, got (1, 2, 3)",
        ),
    ]
    for step, sentence in cases:
        with pytest.raises(OperatorError) as error:
            step()
        assert str(error.value) == sentence
