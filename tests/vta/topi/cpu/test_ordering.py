"""Sorted elements, against numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta import te
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import ordering

RNG = np.random.default_rng(41)
CASES = [((1,), 0), ((7,), 0), ((3, 8), -1), ((5, 4), 0), ((2, 9, 3), 1)]


def both(made: object) -> list[te.Tensor]:
    assert isinstance(made, list)
    return made


@pytest.mark.parametrize(("shape", "axis"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_order_is_numpys_stable_one(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x = RNG.integers(-3, 4, shape).astype(dtype)
    k = max(1, x.shape[axis] - 1)
    up, down, places, values, indices = computed(
        lambda t: [
            ordering.argsort(t, axis=axis, dtype="int32"), ordering.argsort(t, axis=axis, is_ascend=False),
            ordering.sort(t, axis), *both(ordering.topk(t, k, axis)),
        ],
        x,
    )  # fmt: skip
    falling = np.argsort(-x.astype(np.int64), axis, kind="stable")
    np.testing.assert_array_equal(up, np.argsort(x, axis, kind="stable"))
    np.testing.assert_array_equal(down, falling)
    assert down.dtype == np.float32
    np.testing.assert_array_equal(places, np.sort(x, axis))
    first = np.take(falling, range(k), axis)
    np.testing.assert_array_equal(indices, first)
    np.testing.assert_array_equal(values, np.take_along_axis(x, first, axis))
    assert indices.dtype == np.int64


def test_what_is_no_number_comes_last() -> None:
    x = np.array([3, np.nan, -np.inf, 1, np.nan, np.inf], np.float32)
    up, down = computed(lambda t: [ordering.sort(t), ordering.sort(t, is_ascend=False)], x)
    np.testing.assert_array_equal(up, np.sort(x))
    np.testing.assert_array_equal(down, [np.inf, 3, 1, -np.inf, np.nan, np.nan])


def test_parts_of_topk() -> None:
    x = RNG.permutation(12).astype(np.int32)
    [values, places] = computed(
        lambda t: [ordering.topk(t, 3, ret_type="values", is_ascend=True), ordering.topk(t, 0, ret_type="indices")], x
    )
    np.testing.assert_array_equal(values, [0, 1, 2])
    np.testing.assert_array_equal(places, np.argsort(-x))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("length", [1, 2, 5, 8, 13])
def test_values_belong_where_numpy_says(right: bool, length: int) -> None:
    one, many = np.sort(RNG.integers(0, 6, length)), np.sort(RNG.integers(0, 6, (3, length)), -1)
    keys = RNG.integers(-1, 8, (3, 7))
    side = "right" if right else "left"
    of_one, of_many = computed(
        lambda a, b, v: [ordering.searchsorted(a, v, right), ordering.searchsorted(b, v, right, "int32")],
        one.astype(np.float32), many.astype(np.float32), keys.astype(np.float32),
    )  # fmt: skip
    np.testing.assert_array_equal(of_one, np.searchsorted(one, keys, side))
    np.testing.assert_array_equal(of_many, [np.searchsorted(a, v, side) for a, v in zip(many, keys, strict=True)])


def test_what_does_not_fit_is_refused() -> None:
    t, u = tensors(np.zeros((2, 5), np.float32), np.zeros((3, 4), np.float32))
    wrong: list[tuple[Callable[[], object], str]] = [
        (
            lambda: ordering.argsort(t, u),
            "topi.argsort: valid_count is not done; sort all elements, and take the first ones",
        ),
        (
            lambda: ordering.topk(t, 2, ret_type="all"),
            "topi.topk: ret_type is 'both', 'values' or 'indices', not 'all'",
        ),
        (lambda: ordering.topk(t, 6), "topi.topk: expected at most the 5 elements of dimension 1, got k=6"),
        (
            lambda: ordering.searchsorted(t, u),
            f"topi.searchsorted: rows of {u!r} do not go with rows of {t!r}",
        ),
    ]
    for build, text in wrong:
        with pytest.raises(OperatorError) as error:
            build()
        assert str(error.value) == text
