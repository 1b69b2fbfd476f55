from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.compiler.te_run import run
from vta import te
from vta.te.tensor import Tensor
from vta.tir.expr import Max, Min, Reduce, Var


@pytest.fixture
def x() -> te.Tensor:
    return te.placeholder((3, 5), "int32", "x")


def reduced(x: te.Tensor, reducer: Callable[..., Any], **options: Any) -> np.ndarray:
    k = te.reduce_axis((0, 5), "k")
    y = te.compute((3,), lambda i: reducer(x[i, k], axis=k, **options), "y")
    return run(te.create_schedule(y.op), [x, y], DATA)


DATA = np.array([[3, -1, 4, 1, 5], [-9, -2, -6, -5, -3], [8, 9, 7, 9, 3]], np.int32)


def test_sum_max_and_min_reduce(x: Tensor) -> None:
    assert reduced(x, te.sum).tolist() == DATA.sum(axis=1).tolist()
    assert reduced(x, te.max).tolist() == DATA.max(axis=1).tolist()
    assert reduced(x, te.min).tolist() == DATA.min(axis=1).tolist()


def test_a_reduction_starts_from_init(x: Tensor) -> None:
    assert reduced(x, te.sum, init=100).tolist() == (DATA.sum(axis=1) + 100).tolist()
    assert reduced(x, te.max, init=6).tolist() == np.maximum(DATA.max(axis=1), 6).tolist()


def test_a_start_value_may_be_an_element_of_a_tensor(x: Tensor) -> None:
    bias, k = te.placeholder((3,), "int32", "bias"), te.reduce_axis((0, 5), "k")
    y = te.compute((3,), lambda i: te.sum(x[i, k], axis=k, init=bias[i]), "y")
    s = te.create_schedule(y.op)
    s[y].reorder(k, *y.op.axis)
    start = np.array([1, 20, 300], np.int32)
    assert run(s, [x, bias, y], DATA, start).tolist() == (DATA.sum(axis=1) + start).tolist()


def test_a_reducer_of_ones_own() -> None:
    x, k = te.placeholder((4,), "int32", "x"), te.reduce_axis((0, 4), "k")
    product = te.comm_reducer(lambda a, b: a * b, lambda t: te.const(1, t), name="product")
    y = te.compute((1,), lambda _i: product(x[k], axis=[k]), "y")
    assert run(te.create_schedule(y.op), [x, y], np.array([2, 3, 5, 7], np.int32)).tolist() == [210]


def test_of_two_values_max_and_min_are_plain_expressions(x: Tensor) -> None:
    assert isinstance(te.max(x[0, 0], 0), Max)
    assert isinstance(te.min(x[0, 0].astype("int8"), 127), Min)
    assert te.min(x[0, 0].astype("int8"), 127).dtype == "int8"


def test_the_start_of_max_is_the_smallest_value_of_the_type() -> None:
    k = te.reduce_axis((0, 2))
    reduce = te.max(te.placeholder((2,), "int8")[k], axis=k)
    assert isinstance(reduce, Reduce)
    assert int(reduce.combiner.identity[0]) == -128


def test_several_values_are_combined_from_left_to_right() -> None:
    @te.comm_reducer
    def less(a: Any, b: Any) -> Any:
        return a - b

    assert str(less(Var("a"), Var("b"), Var("c"), 4)) == "(((a - b) - c) - 4)"


def check(text: str, build: Callable[..., Any]) -> None:
    with pytest.raises((te.ComputeError, te.TensorError)) as error:
        build()
    assert str(error.value) == text


def test_misuse_is_refused_with_a_sentence(x: Tensor) -> None:
    k, i = te.reduce_axis((0, 5), "k"), te.compute((3,), lambda i: x[i, 0]).op.axis[0]
    two = te.comm_reducer(lambda a, _b: (a[0],), lambda _t, _u: (0, 0), name="two")
    check("sum of values takes nothing else; for a reduction give axis=", lambda: te.sum(x[0, 0], 1, where=k < 2))
    check(
        "reduce reduces over axes with a neutral element: comm_reducer(fcombine, fidentity)",
        lambda: te.comm_reducer(lambda a, b: a + b)(x[0, k], k),
    )
    check(
        "max: no axis to reduce over was given, but a condition or a start value",
        lambda: te.max(x[0, 0], axis=[], where=x[0, 0] > 1),
    )
    assert str(te.max(x[0, 0] + 1, axis=[])) == str(x[0, 0] + 1)
    check("min: i is not a reduction axis; make one with te.reduce_axis((begin, end))", lambda: te.min(x[0, k], axis=i))
    check(
        "sum: 'k' is not a reduction axis; make one with te.reduce_axis((begin, end))",
        lambda: te.sum(x[0, k], axis=["k"]),
    )
    check("sum: where= takes a condition (bool), not int32", lambda: te.sum(x[0, k], axis=k, where=k + 1))
    check("sum: init= has 2 values for 1 sources", lambda: te.sum(x[0, k], axis=k, init=(1, 2)))
    check(
        "a reduction of 2 values: the combination returned 1, the identity 2", lambda: two((x[0, k], x[1, k]), axis=k)
    )
