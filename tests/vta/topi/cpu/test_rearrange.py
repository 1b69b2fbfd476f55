"""Elements in other places, against numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import rearrange

X = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


def test_other_shapes_and_orders() -> None:
    results = computed(
        lambda t: [
            rearrange.reshape(t, (4, 6)), rearrange.reshape(t, (-1, 8)), rearrange.transpose(t),
            rearrange.transpose(t, (1, 2, 0)), rearrange.expand_dims(t, 1), rearrange.expand_dims(t, -1, 2),
            rearrange.squeeze(rearrange.expand_dims(t, 0)), rearrange.flip(t, 1), rearrange.repeat(t, 3, 1),
            rearrange.tile(t, (2, 1, 3)), rearrange.tile(t, (2, 1, 1, 1)), rearrange.stack([t, t], 1),
        ],
        X,
    )  # fmt: skip
    expected = [
        X.reshape(4, 6), X.reshape(-1, 8), X.T, X.transpose(1, 2, 0), X[:, None], X[..., None, None], X, X[:, ::-1],
        np.repeat(X, 3, 1), np.tile(X, (2, 1, 3)), np.tile(X, (2, 1, 1, 1)), np.stack([X, X], 1),
    ]  # fmt: skip
    for k, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        np.testing.assert_array_equal(result, wanted, err_msg=str(k))


def test_parts_and_wholes() -> None:
    y = X[:, :2] + 100
    [joined] = computed(lambda s, t: rearrange.concatenate([s, t, s], 1), X, y)
    np.testing.assert_array_equal(joined, np.concatenate([X, y, X], 1))
    for sections in (2, [1, 3]):
        parts = computed(lambda t, n=sections: rearrange.split(t, n, 2), X)
        for part, wanted in zip(parts, np.split(X, sections, 2), strict=True):
            np.testing.assert_array_equal(part, wanted)
    sliced, back = computed(
        lambda t: [
            rearrange.strided_slice(t, [0, 1, 0], [2, 3, 4], [1, 1, 2]),
            rearrange.strided_slice(t, [3], [-5], [-2], axes=[2]),
        ],
        X,
    )
    np.testing.assert_array_equal(sliced, X[0:2, 1:3, 0:4:2])
    np.testing.assert_array_equal(back, X[:, :, 3:-5:-2])


def test_elements_that_indices_name() -> None:
    indices = np.array([[0, 2], [5, -1]], np.int32)
    clipped, wrapped, flat = computed(
        lambda t, i: [rearrange.take(t, i, 1), rearrange.take(t, i, 1, "wrap"), rearrange.take(t, i)], X, indices
    )
    np.testing.assert_array_equal(clipped, np.take(X, indices, 1, mode="clip"))
    np.testing.assert_array_equal(wrapped, np.take(X, indices, 1, mode="wrap"))
    np.testing.assert_array_equal(flat, np.take(X, indices, mode="clip"))
    places = np.random.default_rng(7).integers(0, 3, (2, 2, 4)).astype(np.int64)
    [gathered] = computed(lambda t, i: rearrange.gather(t, 1, i), X, places)
    np.testing.assert_array_equal(gathered, np.take_along_axis(X, places, 1))
    [chosen] = computed(rearrange.where, (X % 2).astype(np.int32), X, -X)
    np.testing.assert_array_equal(chosen, np.where(X % 2, X, -X))
    for axis in (-1, 0):
        [hot] = computed(lambda i, a=axis: rearrange.one_hot(i, 2, -1, 6, a, "int32"), indices)
        wanted = np.where(indices[..., None] == np.arange(6), 2, -1)
        np.testing.assert_array_equal(hot, np.moveaxis(wanted, -1, axis))


def test_numbers_in_a_row() -> None:
    first, second, _ = computed(
        lambda t: [rearrange.arange(5), rearrange.arange(7, 1, -2, "int32"), rearrange.flip(t)], X
    )
    np.testing.assert_array_equal(first, np.arange(5, dtype=np.float32))
    np.testing.assert_array_equal(second, np.arange(7, 1, -2))


def test_what_does_not_fit_is_refused() -> None:
    t, u = tensors(X, X[:, :, :3])
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: rearrange.reshape(t, (5, 5)), "topi.reshape: 24 elements do not fit a shape of 25"),
        (lambda: rearrange.reshape(t, (-1, 5)), "topi.reshape: 24 elements do not fit shape ['-1', '5']"),
        (
            lambda: rearrange.transpose(t, (0, 0, 1)),
            "topi.transpose: axes [0, 0, 1] are not the 3 dimensions, each once",
        ),
        (lambda: rearrange.expand_dims(t, 5), "topi.expand_dims: axis 5 is outside -4 to 3"),
        (lambda: rearrange.squeeze(t, 0), "topi.squeeze: dimension 0 has 2 elements, not one"),
        (lambda: rearrange.split(t, 3, 2), "topi.split: 4 elements do not make 3 equal parts"),
        (lambda: rearrange.split(t, [3, 2], 2), "topi.split: cuts [3, 2] do not lie in order between 0 and 4"),
        (
            lambda: rearrange.take(t, u, 0, "fast"),
            "topi.take: mode is 'clip' or 'wrap', not 'fast'; unchecked reads are not done",
        ),
        (lambda: rearrange.strided_slice(t, [2], [1]), "topi.strided_slice: nothing is left of dimension 0"),
        (
            lambda: rearrange.where(t, u, u),
            "topi.where: condition and values must have one shape, and the values one type",
        ),
        (lambda: rearrange.concatenate([]), "topi.concatenate: expected a tensor or more"),
        (lambda: rearrange.arange(3, 1), "topi.arange: there is no number from 3 to 1 in steps of 1"),
    ]
    for step, sentence in cases:
        with pytest.raises(OperatorError) as error:
            step()
        assert str(error.value) == sentence
    with pytest.raises(OperatorError, match=r"do not go together along axis 0$"):
        rearrange.concatenate([t, u], 0)
