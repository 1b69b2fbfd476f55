"""Reductions, against numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import reductions

AXES: list[int | tuple[int, ...] | None] = [0, -1, (0, 2), None]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_products_and_extremes(axis: int | tuple[int, ...] | None, keepdims: bool) -> None:
    x = np.random.default_rng(4).integers(-3, 4, (2, 5, 4)).astype(np.int32)
    names = ("sum", "max", "min", "prod")
    results = computed(lambda t: [getattr(reductions, name)(t, axis, keepdims) for name in names], x)
    for name, result in zip(names, results, strict=True):
        expected = np.atleast_1d(getattr(np, name)(x, axis=axis, keepdims=keepdims))
        np.testing.assert_array_equal(result, expected, err_msg=name)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_places_of_extremes(axis: int | None, last: bool) -> None:
    x = np.random.default_rng(5).integers(-2, 3, (4, 6)).astype(np.int32)
    most, least = computed(
        lambda t: [
            reductions.argmax(t, axis, select_last_index=last), reductions.argmin(t, axis, select_last_index=last),
        ],
        x,
    )  # fmt: skip
    flat = x.reshape(-1) if axis is None else x
    along = 0 if axis is None else axis
    for result, reference in ((most, np.argmax), (least, np.argmin)):
        expected = reference(flat, axis=along)
        if last:
            expected = flat.shape[along] - 1 - reference(np.flip(flat, along), axis=along)
        np.testing.assert_array_equal(result, np.atleast_1d(expected))


def test_truths_and_averages() -> None:
    x = np.random.default_rng(6).uniform(-1, 1, (3, 8)).astype(np.float32)
    [average] = computed(lambda t: reductions.mean(t, 1), x)
    np.testing.assert_allclose(average, x.mean(axis=1), rtol=1e-5)
    every, some = computed(lambda t: [reductions.all(t, 0), reductions.any(t, 0)], x > 0)
    np.testing.assert_array_equal(every.astype(bool), (x > 0).all(axis=0))
    np.testing.assert_array_equal(some.astype(bool), (x > 0).any(axis=0))


def test_axes_that_are_not_there_are_refused() -> None:
    [t] = tensors(np.zeros((2, 3), np.int32))
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: reductions.sum(t, 2), "topi.sum: axis 2 is outside -2 to 1"),
        (lambda: reductions.sum(t, (0, -2)), "topi.sum: an axis is given twice: [0, -2]"),
        (lambda: reductions.sum(t, ()), "topi.sum: expected an axis to reduce over"),
        (lambda: reductions.mean(t, 0), "topi.mean: expected floats, got int32"),
    ]
    for step, sentence in cases:
        with pytest.raises(OperatorError) as error:
            step()
        assert str(error.value) == sentence
