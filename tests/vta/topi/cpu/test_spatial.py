"""Elements between space, channels and batch, against numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import spatial

RNG = np.random.default_rng(47)


@pytest.mark.parametrize(("b", "shape"), [(1, (1, 2, 2, 3)), (2, (2, 3, 4, 6)), (3, (1, 2, 6, 3))])
def test_blocks_of_pixels_are_channels(b: int, shape: tuple[int, ...]) -> None:
    n, c, h, w = shape
    x = RNG.integers(-99, 99, shape).astype(np.int32)
    deep = np.zeros((n, c * b * b, h // b, w // b), np.int32)
    for dy in range(b):
        for dx in range(b):
            deep[:, (dy * b + dx) * c : (dy * b + dx + 1) * c] = x[:, :, dy::b, dx::b]
    last = x.transpose(0, 2, 3, 1).copy()
    made, back, of_last = computed(
        lambda t, u: [
            spatial.space_to_depth(t, b), spatial.depth_to_space(spatial.space_to_depth(t, b), b),
            spatial.space_to_depth(u, b, "NHWC"),
        ],
        x, last,
    )  # fmt: skip
    np.testing.assert_array_equal(made, deep)
    np.testing.assert_array_equal(back, x)
    np.testing.assert_array_equal(of_last, deep.transpose(0, 2, 3, 1))


def test_channels_of_one_block_side_by_side() -> None:
    x = RNG.integers(-99, 99, (2, 8, 3, 2)).astype(np.int32)
    crd, last = computed(
        lambda t, u: [spatial.depth_to_space(t, 2, mode="CRD"), spatial.depth_to_space(u, 2, "NHWC")],
        x, x.transpose(0, 2, 3, 1).copy(),
    )  # fmt: skip
    wanted, dcr = np.zeros((2, 2, 6, 4), np.int32), np.zeros((2, 2, 6, 4), np.int32)
    for dy in range(2):
        for dx in range(2):
            wanted[:, :, dy::2, dx::2] = x[:, dy * 2 + dx :: 4]
            dcr[:, :, dy::2, dx::2] = x[:, (dy * 2 + dx) * 2 : (dy * 2 + dx) * 2 + 2]
    np.testing.assert_array_equal(crd, wanted)
    np.testing.assert_array_equal(last, dcr.transpose(0, 2, 3, 1))


@pytest.mark.parametrize(
    ("shape", "blocks", "before", "after"),
    [((2, 4, 6, 3), [2, 3], [0, 0], [0, 0]), ((1, 3, 4), [2], [1], [0]), ((2, 5, 4, 1), [3, 2], [0, 1], [1, 1])],
)
def test_blocks_of_space_are_batches(
    shape: tuple[int, ...], blocks: list[int], before: list[int], after: list[int]
) -> None:
    x = RNG.integers(-99, 99, shape).astype(np.int32)
    widths = [(0, 0), *zip(before, after, strict=True), *[(0, 0)] * (x.ndim - 1 - len(blocks))]
    padded = np.pad(x, widths, constant_values=7)
    batches = [
        padded[(slice(None), *(slice(d, None, b) for d, b in zip(at, blocks, strict=True)))]
        for at in np.ndindex(*blocks)
    ]
    made, back = computed(
        lambda t: [
            spatial.space_to_batch_nd(t, blocks, before, after, 7),
            spatial.batch_to_space_nd(spatial.space_to_batch_nd(t, blocks, before, after, 7), blocks, before, after),
        ],
        x,
    )
    np.testing.assert_array_equal(made, np.concatenate(batches))
    np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize(("mode", "name"), [("SYMMETRIC", "symmetric"), ("REFLECT", "reflect")])
def test_edges_are_mirrors(mode: str, name: str) -> None:
    x = RNG.integers(-99, 99, (3, 4, 5)).astype(np.int32)
    before, after = [2, 0, 3], [1, 3, 4]
    one, both = computed(
        lambda t: [spatial.mirror_pad(t, before, after, mode), spatial.mirror_pad(t, [1, 2, 0], mode=mode)], x
    )
    np.testing.assert_array_equal(one, np.pad(x, list(zip(before, after, strict=True)), name))
    np.testing.assert_array_equal(both, np.pad(x, [(1, 1), (2, 2), (0, 0)], name))


def test_sequences_end_and_turn_round() -> None:
    x = RNG.integers(1, 99, (3, 4, 2)).astype(np.float32)
    of_rows, of_columns = np.array([0, 4, 2], np.int32), np.array([1, 3, 0, 2], np.int32)
    later, earlier, turned, other = computed(
        lambda t, r, c: [
            spatial.sequence_mask(t, r, -1, 1), spatial.sequence_mask(t, c), spatial.reverse_sequence(t, r),
            spatial.reverse_sequence(t, c, 0, 1),
        ],
        x, of_rows, of_columns,
    )  # fmt: skip
    place = np.arange(4)[None, :, None] < of_rows[:, None, None]
    np.testing.assert_array_equal(later, np.where(place, x, -1))
    np.testing.assert_array_equal(earlier, np.where(np.arange(3)[:, None, None] < of_columns[None, :, None], x, 0))
    wanted, columns = x.copy(), x.copy()
    for b, n in enumerate(of_rows):
        wanted[b, :n] = x[b, :n][::-1]
    for b, n in enumerate(of_columns):
        columns[:n, b] = x[:n, b][::-1]
    np.testing.assert_array_equal(turned, wanted)
    np.testing.assert_array_equal(other, columns)


def test_a_buffer_moves_on() -> None:
    old, new = RNG.integers(0, 9, (2, 5)).astype(np.int32), RNG.integers(0, 9, (2, 3)).astype(np.int32)
    [moved] = computed(lambda d, b: spatial.fifo_buffer(d, b, 1), new, old)
    np.testing.assert_array_equal(moved, np.concatenate([old[:, 3:], new], 1))


def test_what_does_not_fit_is_refused() -> None:
    t, row = tensors(np.zeros((2, 3, 5, 6), np.float32), np.zeros(9, np.float32))
    wrong: list[tuple[Callable[[], object], str]] = [
        (
            lambda: spatial.space_to_depth(row, 2),
            "topi.nn.space_to_depth: expected images NCHW or NHWC, got 1 dimensions, 'NCHW'",
        ),
        (lambda: spatial.space_to_depth(t, 2), "topi.nn.space_to_depth: images of 5 by 6 have no whole blocks of 2"),
        (lambda: spatial.depth_to_space(t, 2), "topi.nn.depth_to_space: 3 channels make no blocks of 2 by 2"),
        (
            lambda: spatial.depth_to_space(t, 2, mode="X"),
            "topi.nn.depth_to_space: mode is 'DCR' or 'CRD', not 'X'",
        ),
        (
            lambda: spatial.space_to_batch_nd(t, [2], [0, 1], [0]),
            f"topi.nn.space_to_batch_nd: 1 blocks and their pads do not go with {t!r}",
        ),
        (
            lambda: spatial.space_to_batch_nd(t, [2], [0], [0]),
            "topi.nn.space_to_batch_nd: [3] elements have no whole blocks [2]",
        ),
        (
            lambda: spatial.batch_to_space_nd(t, [3], [0], [0]),
            f"topi.nn.batch_to_space_nd: blocks [3] and their crops do not go with {t!r}",
        ),
        (
            lambda: spatial.mirror_pad(t, [0, 0, 0, 0], mode="EDGE"),
            "topi.nn.mirror_pad: mode is 'SYMMETRIC' or 'REFLECT', not 'EDGE'",
        ),
        (
            lambda: spatial.mirror_pad(t, [0, 0]),
            "topi.nn.mirror_pad: expected 4 pads on each side, got [0, 0] and [0, 0]",
        ),
        (
            lambda: spatial.mirror_pad(t, [0, 3, 0, 0], mode="REFLECT"),
            "topi.nn.mirror_pad: pads [0, 3, 0, 0] and [0, 3, 0, 0] are more than there is to mirror: [2, 3, 5, 6]",
        ),
        (
            lambda: spatial.sequence_mask(t, row, axis=2),
            "topi.sequence_mask: expected axis 0 or 1 of two dimensions at least, got axis 2",
        ),
        (
            lambda: spatial.fifo_buffer(row, tensors(np.zeros(2))[0], 0),
            "topi.nn.fifo_buffer: 9 new elements do not fit a buffer of 2",
        ),
    ]
    for build, text in wrong:
        with pytest.raises(OperatorError) as error:
            build()
        assert str(error.value) == text
