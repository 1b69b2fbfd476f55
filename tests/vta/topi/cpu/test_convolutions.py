"""Convolutions in any number of dimensions, window by window in numpy."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import convolutions

RNG = np.random.default_rng(61)
Walk = tuple[int, int, int]
WALKS: list[Walk] = [(1, 0, 1), (2, 1, 1), (1, 2, 2), (3, 1, 2)]
"""Stride, pad and dilation."""


def ints(*shape: int) -> np.ndarray:
    return RNG.integers(-9, 9, shape).astype(np.float32)


def convolved(x: np.ndarray, w: np.ndarray, walk: Walk) -> np.ndarray:
    """Return the convolution of (N, C, space) with (O, C, space)."""
    stride, pad, dilation = walk
    rank = x.ndim - 2
    padded = np.pad(x, [(0, 0), (0, 0), *[(pad, pad)] * rank])
    space = [(padded.shape[2 + d] - (w.shape[2 + d] - 1) * dilation - 1) // stride + 1 for d in range(rank)]
    out = np.zeros((x.shape[0], w.shape[0], *space), np.float64)
    for at in np.ndindex(*w.shape[2:]):
        part = tuple(
            slice(a * dilation, a * dilation + (n - 1) * stride + 1, stride) for a, n in zip(at, space, strict=True)
        )
        out += np.einsum(
            "nc...,oc->no...", padded[(slice(None), slice(None), *part)], w[(slice(None), slice(None), *at)]
        )
    return out


@pytest.mark.parametrize("walk", WALKS)
def test_one_and_three_dimensions(walk: Walk) -> None:
    x, w, v, u = ints(2, 3, 9), ints(4, 3, 3), ints(1, 2, 5, 6, 7), ints(3, 2, 2, 1, 3)
    stride, pad, dilation = walk
    first, last, named, volume, last_volume = computed(
        lambda a, b, c, d, e, f, g, h: [
            convolutions.conv1d_ncw(a, b, stride, pad, dilation), convolutions.conv1d_nwc(c, d, stride, pad, dilation),
            convolutions.conv1d(a, b, stride, pad, dilation), convolutions.conv3d_ncdhw(e, f, stride, pad, dilation),
            convolutions.conv3d_ndhwc(g, h, stride, pad, dilation),
        ],
        x, w, x.transpose(0, 2, 1).copy(), w.transpose(2, 1, 0).copy(), v, u,
        v.transpose(0, 2, 3, 4, 1).copy(), u.transpose(2, 3, 4, 1, 0).copy(),
    )  # fmt: skip
    np.testing.assert_array_equal(first, convolved(x, w, walk))
    np.testing.assert_array_equal(named, first)
    np.testing.assert_array_equal(last.transpose(0, 2, 1), first)
    np.testing.assert_array_equal(volume, convolved(v, u, walk))
    np.testing.assert_array_equal(last_volume.transpose(0, 4, 1, 2, 3), volume)


@pytest.mark.parametrize("walk", WALKS)
def test_other_orders_of_images(walk: Walk) -> None:
    x, w, g = ints(2, 4, 7, 8), ints(6, 4, 3, 2), ints(3, 3, 4, 2)
    stride, pad, dilation = walk
    wanted = convolved(x, w, walk)
    hwcn, blocks, depthwise = computed(
        lambda a, b, c, d, e, f: [
            convolutions.conv2d_hwcn(a, b, stride, pad, dilation),
            convolutions.conv2d_NCHWc(c, d, stride, pad, dilation),
            convolutions.depthwise_conv2d_nhwc(e, f, stride, pad, dilation),
        ],
        x.transpose(2, 3, 1, 0).copy(), w.transpose(2, 3, 1, 0).copy(),
        x.reshape(2, 2, 2, 7, 8).transpose(0, 1, 3, 4, 2).copy(),
        w.reshape(2, 3, 2, 2, 3, 2).transpose(0, 2, 4, 5, 3, 1).copy(),
        x.transpose(0, 2, 3, 1).copy(), g,
    )  # fmt: skip
    np.testing.assert_array_equal(hwcn.transpose(3, 2, 0, 1), wanted)
    np.testing.assert_array_equal(blocks.transpose(0, 1, 4, 2, 3).reshape(wanted.shape), wanted)
    own = [convolved(x[:, c : c + 1], g[:, :, c].transpose(2, 0, 1)[:, None], walk) for c in range(4)]
    np.testing.assert_array_equal(depthwise.transpose(0, 3, 1, 2), np.concatenate(own, 1))


@pytest.mark.parametrize(("stride", "pad", "more"), [(1, 0, 0), (2, 1, 0), (3, (0, 1), 1), (2, 2, 1)])
def test_a_transposed_row(stride: int, pad: int | tuple[int, int], more: int) -> None:
    x, w = ints(2, 3, 5), ints(3, 4, 4)
    [result] = computed(lambda a, b: convolutions.conv1d_transpose_ncw(a, b, stride, pad, output_padding=more), x, w)
    before, after = (pad, pad) if isinstance(pad, int) else pad
    whole = np.zeros((2, 4, 4 * stride + 4 + more))
    for i in range(5):
        whole[:, :, i * stride : i * stride + 4] += np.einsum("nc,cok->nok", x[:, :, i], w)
    np.testing.assert_array_equal(result, whole[:, :, before : whole.shape[2] - after])


def test_pads_by_name() -> None:
    x, w = ints(1, 2, 8), ints(3, 2, 4)
    same, valid = computed(
        lambda a, b: [convolutions.conv1d_ncw(a, b, 1, "SAME"), convolutions.conv1d_ncw(a, b, 1, "VALID")], x, w
    )
    padded = np.pad(x, [(0, 0), (0, 0), (2, 1)])
    np.testing.assert_array_equal(same, convolved(padded, w, (1, 0, 1)))
    np.testing.assert_array_equal(valid, convolved(x, w, (1, 0, 1)))


def test_what_does_not_fit_is_refused() -> None:
    def made(*shapes: Sequence[int]) -> list:  # type: ignore[type-arg]
        return tensors(*(np.zeros(shape, np.float32) for shape in shapes))

    x, w, image, filters, c, o = made(
        (1, 3, 9), (4, 2, 3), (1, 5, 5, 3), (3, 3, 4, 1), (1, 2, 5, 5, 4), (1, 3, 1, 1, 4, 8)
    )
    wrong: list[tuple[Callable[[], object], str]] = [
        (
            lambda: convolutions.conv1d_ncw(x, w),
            "topi.nn.conv1d_ncw: 3 channels do not go with filters of 2 channels",
        ),
        (
            lambda: convolutions.conv1d_ncw(image, w),
            f"topi.nn.conv1d_ncw: expected images NCW and filters OIW, got {image!r} and {w!r}",
        ),
        (
            lambda: convolutions.conv1d_ncw(x, made((4, 3, 3))[0], 0),
            "topi.nn.conv1d_ncw: strides has one number from 1, or 1, not 0",
        ),
        (
            lambda: convolutions.conv1d_ncw(x, made((4, 3, 3))[0], 1, "EVEN"),
            "topi.nn.conv1d_ncw: padding is numbers, 'SAME' or 'VALID', not 'EVEN'",
        ),
        (
            lambda: convolutions.conv1d_ncw(x, made((4, 3, 3))[0], 1, -1),
            "topi.nn.conv1d_ncw: padding has one number from 0, 1, or 2, not -1",
        ),
        (
            lambda: convolutions.conv1d(x, w, data_layout="CNW"),
            "topi.nn.conv1d: layouts are NCW with OIW, or NWC with WIO, not 'CNW'",
        ),
        (
            lambda: convolutions.depthwise_conv2d_nhwc(image, filters, 1, 0),
            "topi.nn.depthwise_conv2d_nhwc: 3 channels do not go with filters for 4",
        ),
        (
            lambda: convolutions.conv1d_transpose_ncw(x, w, 1, 0),
            "topi.nn.conv1d_transpose_ncw: 3 channels do not go with filters of 4 channels",
        ),
        (
            lambda: convolutions.conv1d_transpose_ncw(x, made((3, 2, 3))[0], 1, 4),
            "topi.nn.conv1d_transpose_ncw: pads 4 are larger than filters of 3 allow",
        ),
        (
            lambda: convolutions.conv2d_NCHWc(image, o, 1, 0, 1),
            f"topi.nn.conv2d_NCHWc: expected images NCHWc and filters OIHWio, got {image!r} and {o!r}",
        ),
        (
            lambda: convolutions.conv2d_NCHWc(c, o, 1, 0, 1),
            "topi.nn.conv2d_NCHWc: 2 blocks of 4 channels do not go with filters of 3 of 4",
        ),
    ]
    for build, text in wrong:
        with pytest.raises(OperatorError) as error:
            build()
        assert str(error.value) == text
