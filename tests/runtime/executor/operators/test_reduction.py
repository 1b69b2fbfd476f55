from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.reduction import ArgAttrs, ReduceAttrs
from tests.support.relay.apply import applied, refusal

DATA = np.random.default_rng(1).integers(-9, 9, (2, 3, 4)).astype(np.float32)


@pytest.mark.parametrize(
    ("op", "reference"),
    [(Op.SUM, np.sum), (Op.MEAN, np.mean), (Op.MAX, np.max), (Op.MIN, np.min), (Op.PROD, np.prod)],
)
@pytest.mark.parametrize("axis", [None, (1,), (0, -1), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_are_those_of_numpy(op: Op, reference: Callable[..., Any], axis: Any, keepdims: bool) -> None:
    result = applied(op, DATA, attrs=ReduceAttrs(axis, keepdims))
    assert np.allclose(result, reference(DATA, axis=axis, keepdims=keepdims))


def test_integers_wrap_in_their_own_type() -> None:
    assert applied(Op.SUM, np.array([100, 100], np.int8)) == np.int8(-56)
    assert applied(Op.PROD, np.array([100, 100], np.int32)) == 10_000


def test_truths() -> None:
    data = np.array([[True, False], [True, True]])
    assert applied(Op.ALL, data, attrs=ReduceAttrs((1,))).tolist() == [False, True]
    assert applied(Op.ANY, data, attrs=ReduceAttrs((0,), keepdims=True)).tolist() == [[True, True]]


@pytest.mark.parametrize(("is_last", "largest", "smallest"), [(False, [1, 0], [0, 1]), (True, [2, 0], [0, 2])])
def test_of_several_places_the_first_or_the_last_is_found(
    is_last: bool, largest: list[int], smallest: list[int]
) -> None:
    data = np.array([[1, 5, 5], [7, 2, 2]], np.int8)
    attrs = ArgAttrs(-1, select_last_index=is_last)
    assert applied(Op.ARGMAX, data, attrs=attrs).tolist() == largest
    assert applied(Op.ARGMIN, data, attrs=attrs).tolist() == smallest
    assert applied(Op.ARGMAX, data, attrs=ArgAttrs(1, keepdims=True)).shape == (2, 1)


@pytest.mark.parametrize(
    ("op", "shape", "dtype", "sentence"),
    [
        (Op.SUM, (2,), "bool", "data holds numbers, not bool"),
        (Op.MEAN, (2,), "int8", "data holds floating point numbers, not int8"),
        (Op.ALL, (2,), "int8", "data has elements bool, not int8"),
        (Op.MAX, (0, 2), "int8", "there is no largest or smallest of no elements, and the shape is (0, 2)"),
        (Op.ARGMIN, (0, 2), "int8", "there is no largest or smallest of no elements, and the shape is (0, 2)"),
    ],
)
def test_a_reduction_that_cannot_be_is_refused(op: Op, shape: tuple[int, ...], dtype: str, sentence: str) -> None:
    assert refusal(op, (shape, dtype)) == sentence


def test_an_axis_that_comes_twice_is_refused() -> None:
    assert refusal(Op.SUM, ((2, 3), "int8"), attrs=ReduceAttrs((0, -2))) == "an axis comes twice in (0, -2)"
