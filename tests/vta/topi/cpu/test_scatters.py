"""Elements put where indices say, against numpy."""

from collections.abc import Callable

import numpy as np
import pytest

from isa.errors import VTAError
from tests.support.compiler.cpu_operators import computed, tensors
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import scatters
from vta.topi.cpu.rearrange import reshape

RNG = np.random.default_rng(43)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_updates_land_along_an_axis(axis: int) -> None:
    data, updates = RNG.integers(0, 99, (4, 3, 5)).astype(np.int32), RNG.integers(0, 99, (2, 3, 4)).astype(np.int32)
    size = data.shape[axis]
    places = RNG.integers(-size, size, updates.shape).astype(np.int64)
    put, added = computed(
        lambda d, i, u: [scatters.scatter(d, i, u, axis), scatters.scatter_add(d, i, u, axis)], data, places, updates
    )
    wanted, sums = data.copy(), data.copy()
    for where in np.ndindex(updates.shape):
        at = list(where)
        at[axis] = places[where]
        wanted[tuple(at)] = updates[where]
        sums[tuple(at)] += updates[where]
    np.testing.assert_array_equal(put, wanted)
    np.testing.assert_array_equal(added, sums)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_parts_at_coordinates(depth: int) -> None:
    data = RNG.integers(0, 99, (4, 3, 5)).astype(np.int32)
    many = (2, 3)
    places = np.stack([RNG.integers(0, data.shape[d], many) for d in range(depth)]).astype(np.int32)
    updates = RNG.integers(0, 99, (*many, *data.shape[depth:])).astype(np.int32)
    results = computed(
        lambda d, i, u: [
            *(scatters.scatter_nd(d, i, u, mode) for mode in ("update", "add", "mul", "min", "max")),
            scatters.gather_nd(d, i),
        ],
        data, places, updates,
    )  # fmt: skip
    steps = (lambda _, b: b, np.add, np.multiply, np.minimum, np.maximum)
    for result, step in zip(results, steps, strict=False):
        wanted = data.copy()
        for where in np.ndindex(many):
            at = tuple(places[(slice(None), *where)])
            wanted[at] = step(wanted[at], updates[where])
        np.testing.assert_array_equal(result, wanted)
    np.testing.assert_array_equal(results[-1], data[tuple(places)])


def test_coordinates_after_shared_dimensions() -> None:
    data = RNG.integers(0, 99, (3, 4, 5)).astype(np.int32)
    places = RNG.integers(0, 4, (1, 3, 2)).astype(np.int32)
    [result] = computed(lambda d, i: scatters.gather_nd(d, i, 1), data, places)
    np.testing.assert_array_equal(result, [[data[b, j] for j in places[0, b]] for b in range(3)])


def test_dense_tensors_of_sparse_ones() -> None:
    for places, shape, values in (
        (np.array(2, np.int32), [5], np.array(7, np.float32)),
        (np.array([0, 3, 4], np.int32), [5], np.array([1, 2, 3], np.float32)),
        (np.array([[0, 1], [2, 0]], np.int32), [3, 2], np.array([5, 6], np.float32)),
    ):
        [result] = computed(lambda i, v, s=shape: scatters.sparse_to_dense(i, s, v, -1), places, values)
        wanted = np.full(shape, -1, np.float32)
        wanted[tuple(places.T) if places.ndim == 2 else places] = values
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
def test_running_sums_and_products(axis: int | None, exclusive: bool) -> None:
    x = RNG.integers(-3, 4, (3, 4, 2)).astype(np.int32)
    sums, products = computed(
        lambda t: [
            scatters.cumsum(t, axis, exclusive=exclusive), scatters.cumprod(t, axis, "int64", exclusive=exclusive)
        ],
        x,
    )  # fmt: skip
    for result, function, start in ((sums, np.cumsum, 0), (products, np.cumprod, 1)):
        flat = x.reshape(-1) if axis is None else x
        wanted = function(flat, axis or 0)
        if exclusive:
            dim = (axis or 0) % flat.ndim
            first = np.full_like(np.take(wanted, [0], dim), start)
            wanted = np.concatenate([first, np.take(wanted, range(wanted.shape[dim] - 1), dim)], dim)
        np.testing.assert_array_equal(result, wanted)
    assert products.dtype == np.int64


def test_permutations_turned_round() -> None:
    x = RNG.permutation(9).astype(np.int64)
    [result] = computed(scatters.invert_permutation, x)
    np.testing.assert_array_equal(result, np.argsort(x))


@pytest.mark.parametrize(
    ("begin", "end", "strides"),
    [([1, 0], [5, 4], [2, 1]), ([5, 3], [-99, 0], [-2, -1]), ([-3, 0], [-1, 4], [1, 3])],
)
def test_slices_replaced(begin: list[int], end: list[int], strides: list[int]) -> None:
    a = RNG.integers(0, 99, (6, 4)).astype(np.int32)
    part = tuple(slice(b, e, s) for b, e, s in zip(begin, end, strides, strict=True))
    v = -RNG.integers(1, 99, a[part].shape).astype(np.int32)
    wanted = a.copy()
    wanted[part] = v
    [result] = computed(lambda x, y: scatters.strided_set(x, y, begin, end, strides), a, v)
    np.testing.assert_array_equal(result, wanted)


def test_an_index_outside_ends_the_call() -> None:
    data, updates = np.zeros(4, np.int32), np.ones(2, np.int32)
    for wrong in (4, -5):
        places = np.array([0, wrong], np.int32)
        for function, text in (
            (scatters.scatter, "topi.scatter: an index is outside of -4 to 3"),
            (lambda d, i, u: scatters.scatter_nd(d, reshape(i, (1, 2)), u), "topi.scatter_nd: an index is"),
        ):
            with pytest.raises(VTAError, match=text):
                computed(function, data, places, updates)


def test_what_does_not_fit_is_refused() -> None:
    t, u, i = tensors(np.zeros((2, 5), np.float32), np.zeros((3, 4), np.float32), np.zeros((1, 2, 2), np.int32))
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: scatters.scatter(t, u, t), f"topi.scatter: {u!r} and {t!r} do not go with {t!r} along axis 0"),
        (
            lambda: scatters.scatter_nd(t, i, u, "div"),
            "topi.scatter_nd: mode is one of update, add, mul, min, max, not 'div'",
        ),
        (lambda: scatters.scatter_nd(t, i, u), f"topi.scatter_nd: {i!r} and {u!r} do not go with {t!r}"),
        (
            lambda: scatters.gather_nd(t, u),
            f"topi.gather_nd: 3 coordinates after 0 dimensions are too many for {t!r}",
        ),
        (
            lambda: scatters.sparse_to_dense(i, [3], u),
            "topi.sparse_to_dense: expected at most two dimensions of indices, got 3",
        ),
        (
            lambda: scatters.sparse_to_dense(t, [3], u),
            f"topi.sparse_to_dense: {t!r} has no coordinates in a shape of [3]",
        ),
        (
            lambda: scatters.strided_set(t, u, [0], [1]),
            f"topi.strided_set: expected a begin, an end and a stride for each dimension of {t!r}",
        ),
        (
            lambda: scatters.strided_set(t, u, [0, 0], [2, 2]),
            f"topi.strided_set: {u!r} does not fit the [2, 2] elements",
        ),
    ]
    for build, text in wrong:
        with pytest.raises(OperatorError) as error:
            build()
        assert str(error.value) == text
