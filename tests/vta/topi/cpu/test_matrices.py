"""Products by letters, triangles, diagonals and grids, against numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import matrices

RNG = np.random.default_rng(53)


def ints(*shape: int) -> np.ndarray:
    return RNG.integers(-9, 9, shape).astype(np.int32)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ii", [(4, 4)]), ("ii->i", [(4, 4)]),
        ("ij->ji", [(2, 3)]), ("ji", [(2, 3)]), ("bij, bjk -> bik", [(2, 3, 4), (2, 4, 2)]),
        ("i,j,ij->", [(2,), (3,), (2, 3)]), ("ijk,k->ji", [(2, 3, 4), (4,)]),
    ],
)  # fmt: skip
def test_letters_are_numpys(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [ints(*shape) for shape in shapes]
    [result] = computed(lambda *t: matrices.einsum(subscripts, *t), *arrays)
    np.testing.assert_array_equal(result, np.einsum(subscripts, *arrays))


def test_products_over_axes() -> None:
    a, b = ints(2, 3, 4), ints(3, 4, 5)
    whole, outer, named, one = computed(
        lambda x, y: [
            matrices.tensordot(x, y), matrices.tensordot(x, y, 0), matrices.tensordot(x, y, [[2, 1], [1, 0]]),
            matrices.tensordot(x, y, (-1, 1)),
        ],
        a, b,
    )  # fmt: skip
    np.testing.assert_array_equal(whole, np.tensordot(a, b))
    np.testing.assert_array_equal(outer, np.tensordot(a, b, 0))
    np.testing.assert_array_equal(named, np.tensordot(a, b, [[2, 1], [1, 0]]))
    np.testing.assert_array_equal(one, np.tensordot(a, b, (-1, 1)))


@pytest.mark.parametrize("k", [-2, 0, 1, 5])
def test_triangles(k: int) -> None:
    a = ints(2, 3, 4)
    up, down, given = computed(
        lambda x, d: [matrices.trilu(x, k, True), matrices.trilu(x, k, False), matrices.trilu(x, d, True)],
        a, np.array([k], np.int64),
    )  # fmt: skip
    np.testing.assert_array_equal(up, np.triu(a, k))
    np.testing.assert_array_equal(down, np.tril(a, k))
    np.testing.assert_array_equal(given, np.triu(a, k))


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
@pytest.mark.parametrize("k", [(-1, 1), (0, 2), (-2, -1), (-2, 3)])
def test_several_diagonals(align: str, k: tuple[int, int]) -> None:
    a = ints(2, 3, 4)
    low, high = k
    lengths = {d: min(4 - max(d, 0), 3 + min(d, 0)) for d in range(low, high + 1)}
    longest = max(lengths.values())
    diagonals = RNG.integers(100, 200, (2, high - low + 1, longest)).astype(np.int32)
    [result] = computed(lambda x, y: matrices.matrix_set_diag(x, y, k, align), a, diagonals)
    wanted, (above, below) = a.copy(), align.split("_")
    for d, length in lengths.items():
        left = (d >= 0 and above == "LEFT") or (d <= 0 and below == "LEFT")
        first = 0 if left else longest - length
        for i in range(length):
            wanted[:, i + max(-d, 0), i + max(d, 0)] = diagonals[:, high - d, first + i]
    np.testing.assert_array_equal(result, wanted)


def test_one_diagonal() -> None:
    a = ints(3, 5)
    for k in (-1, 0, 2):
        diagonal = np.arange(100, 100 + len(np.diagonal(a, k)), dtype=np.int32)
        [result] = computed(lambda x, y, k=k: matrices.matrix_set_diag(x, y, k), a, diagonal)
        wanted = a.copy()
        for i, value in enumerate(diagonal):
            wanted[i + max(-k, 0), i + max(k, 0)] = value
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_grids(indexing: str) -> None:
    rows = [np.arange(3, dtype=np.int32), np.arange(4, dtype=np.int32) * 10, np.arange(2, dtype=np.int32) * 100]
    for count in (1, 2, 3):
        results = computed(lambda *t: matrices.meshgrid(t, indexing), *rows[:count])
        for result, wanted in zip(results, np.meshgrid(*rows[:count], indexing=indexing), strict=True):  # type: ignore[call-overload]
            np.testing.assert_array_equal(result, wanted)


def test_coordinates_and_sizes() -> None:
    places = RNG.integers(0, 24, (2, 5)).astype(np.int64)
    where, sizes, count = computed(
        lambda i, s: [matrices.unravel_index(i, s), matrices.shape(i, "int64"), matrices.ndarray_size(i)],
        places, np.array([2, 3, 4], np.int32),
    )  # fmt: skip
    np.testing.assert_array_equal(where, np.unravel_index(places, (2, 3, 4)))
    assert sizes.tolist() == [2, 5]
    assert int(count) == 10
    assert count.shape == ()


def test_windows_sums_and_advanced_indices() -> None:
    x, a, b = ints(2, 5, 6), np.array([[1], [0]], np.int32), np.array([4, 0, 2], np.int64)
    windows, total, picked, small, same = computed(
        lambda t, i, j: [
            matrices.sliding_window(t, 1, [3, 2], [1, 2]), matrices.elemwise_sum([t, t, t]),
            matrices.adv_index(t, [i, j]), matrices.collapse_sum(t, (5, 1)), matrices.collapse_sum(t, (2, 5, 6)),
        ],
        x, a, b,
    )  # fmt: skip
    np.testing.assert_array_equal(windows, np.lib.stride_tricks.sliding_window_view(x, (3, 2), (1, 2))[:, :, ::2])
    np.testing.assert_array_equal(total, 3 * x)
    np.testing.assert_array_equal(picked, x[a, b])
    np.testing.assert_array_equal(small, x.sum((0, 2))[:, None])
    np.testing.assert_array_equal(same, x)


def test_what_does_not_fit_is_refused() -> None:
    t, u = tensors(np.zeros((2, 5), np.float32), np.zeros((3, 4), np.float32))
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: matrices.einsum("i...", t), "topi.einsum: expected letters such as 'ij,jk->ik', got 'i...'"),
        (lambda: matrices.einsum("ijk", t), f"topi.einsum: 'ijk' does not go with {t!r}"),
        (lambda: matrices.einsum("ij,jk", t, u), "topi.einsum: 'j' has 5 and 3 elements"),
        (lambda: matrices.einsum("ij->ik", t), "topi.einsum: the result 'ik' takes each letter of 'ij' once at most"),
        (lambda: matrices.tensordot(t, u, 1), f"topi.tensordot: axes 1 of {t!r} and {u!r} do not go together"),
        (
            lambda: matrices.matrix_set_diag(t, u, (1, 0)),
            "topi.matrix_set_diag: diagonals (1, 0) and align 'RIGHT_LEFT' mean nothing",
        ),
        (lambda: matrices.meshgrid([t], "ji"), "topi.meshgrid: indexing is 'ij' or 'xy', not 'ji'"),
        (
            lambda: matrices.sliding_window(t, 0, [1], [1]),
            "topi.sliding_window: expected 2 window sizes and strides",
        ),
        (
            lambda: matrices.sliding_window(t, 0, [3, 1], [1, 1]),
            "topi.sliding_window: windows [3, 1] do not fit [2, 5]",
        ),
        (lambda: matrices.elemwise_sum([t, u]), "topi.elemwise_sum: expected tensors of one shape"),
        (lambda: matrices.adv_index(t, [t, u]), "topi.adv_index: indices of 2 and 3 elements do not go together"),
        (
            lambda: matrices.collapse_sum(t, (3, 5)),
            "topi.collapse_sum: a tensor of shape [3, 5] cannot be repeated to [2, 5]",
        ),
    ]
    for build, text in wrong:
        with pytest.raises(OperatorError) as error:
            build()
        assert str(error.value) == text
