"""What a computation's function may return: expressions, tensor elements, numbers, nodes made directly."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.compiler.te_run import run
from vta import te, tir
from vta.te.elements import as_element
from vta.tir.expr import EQ, Add, Cast, IntImm, Select, Var, same


def test_expressions_stay_the_same_object() -> None:
    i = Var("i")
    k = te.reduce_axis((0, 3), "k")
    x = te.placeholder((3, 4), "int32", "x")
    for expr in (i, i + 1, te.max(i, 3), te.if_then_else(i < 2, i * 2, 0), tir.select(i < 2, i, 5), te.sum(x(k, 0), k)):
        assert as_element(expr, "y") is expr


def test_numbers_and_elements_become_expressions() -> None:
    x = te.placeholder((3,), "int8", "x")
    assert same(as_element(3, "y"), IntImm(3))
    element = as_element(x[1], "y")
    assert (type(element).__name__, element.dtype) == ("ProducerLoad", "int8")
    assert isinstance(as_element(x[1] == x[2], "y"), EQ)


def test_nodes_made_directly_get_expressions_of_one_type() -> None:
    x = te.placeholder((3,), "int8", "x")
    i = Var("i")
    chosen = as_element(Select(x[i] == 0, x[i], 0), "y")
    assert isinstance(chosen, Select)
    assert (chosen.dtype, chosen.false_value.dtype, type(chosen.condition)) == ("int8", "int8", EQ)
    total = as_element(Add(x[i], x[i].astype("int32")), "y")
    assert isinstance(total, Add)
    assert (total.a.dtype, total.b.dtype) == ("int32", "int32")
    cast = as_element(Cast("int32", x[i]), "y")
    assert isinstance(cast, Cast)
    assert cast.dtype == "int32"


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x, i: tir.Select(x[i] > 3, x[i], 0), lambda x: np.where(x > 3, x, 0)),
        (lambda x, i: tir.Max(x[i], tir.Min(5, x[i])), lambda x: np.maximum(x, np.minimum(5, x))),
        (lambda x, i: tir.Cast("int32", tir.And(x[i] == 4, i < 9)), lambda x: (x == 4).astype(np.int32)),
        (lambda x, i: tir.Select(tir.Not(x[i] == 4), 1, x[i]), lambda x: np.where(x == 4, x, 1)),
    ],
)
def test_computations_of_nodes_equal_numpy(make: Callable[..., Any], expected: Callable[..., Any]) -> None:
    x = te.placeholder((9,), "int32", "x")
    y = te.compute((9,), lambda i: make(x, i), "y")
    values = np.arange(9, dtype=np.int32)
    np.testing.assert_array_equal(run(te.create_schedule(y.op), [x, y], values), expected(values))


def test_something_that_is_no_number_is_refused() -> None:
    x = te.placeholder((3,), "int32", "x")
    expected = "compute 'y': expected the function to return an expression, got "
    for value, got in (
        (None, "None; does it lack a return?"),
        ("x", "'x'"),
        (x, "tensor 'x'; name an element of it, x[i, ...]"),
    ):
        with pytest.raises(te.ComputeError) as error:
            te.compute((3,), lambda _i, value=value: value, "y")
        assert str(error.value) == expected + got
