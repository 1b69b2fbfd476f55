"""te.create_prim_func: tensor expressions as functions of blocks."""

import numpy as np
import pytest

from tests.support.compiler.block_programs import check
from vta import te
from vta.te.lowering.lower import LowerError
from vta.tir.interpreter.run import run_func


def test_reductions_of_several_values_with_conditions() -> None:
    a = te.placeholder((3, 7), name="A", dtype="int32")
    k = te.reduce_axis((1, 7), name="k")
    argmax = te.comm_reducer(
        lambda x, y: (te.if_then_else(x[1] >= y[1], x[0], y[0]), te.if_then_else(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    where, most = te.compute((3,), lambda i: argmax((k.var, a[i, k]), axis=k, where=k.var % 2 == 0), name="M")
    func = te.create_prim_func([a, where, most])
    values = np.random.default_rng(4).integers(-50, 50, (3, 7)).astype(np.int32)
    index, value = np.zeros(3, np.int32), np.zeros(3, np.int32)
    run_func(func, [values, index, value])
    chosen = values[:, [2, 4, 6]]
    np.testing.assert_array_equal(value, chosen.max(axis=1))
    np.testing.assert_array_equal(index, chosen.argmax(axis=1) * 2 + 2)


def test_names_of_operations_are_made_unique_and_symbolic_sizes_stay() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A", dtype="int32")
    b = te.compute((n,), lambda i: a[i] + 1, name="T")
    c = te.compute((n,), lambda i: b[i] * 2, name="T")
    func = te.create_prim_func([a, c])
    assert 'block "T" {' in str(func)
    assert 'block "T_1" {' in str(func)
    values = np.arange(6, dtype=np.int32)
    check(func, [values], (values + 1) * 2)


def test_an_input_that_nothing_reads_is_an_argument() -> None:
    a, unread = te.placeholder((4,), name="A", dtype="int32"), te.placeholder((2, 3), name="U", dtype="int8")
    b = te.compute((4,), lambda i: a[i] + 1, name="B")
    func = te.create_prim_func([a, unread, b])
    values = np.arange(4, dtype=np.int32)
    check(func, [values, np.zeros((2, 3), np.int8)], values + 1)


def test_a_reduction_of_no_elements_is_its_start() -> None:
    a = te.placeholder((3, 1), name="A", dtype="int32")
    k, many = te.reduce_axis((0, 0), name="k"), te.reduce_axis((0, 5), name="many")
    most = te.compute((3,), lambda i: te.max(a[i, k] + many, axis=[many, k]), name="B")
    least = te.compute((3,), lambda i: te.min(a[i, k] + most[i], axis=k), name="C")
    values, bounds = np.ones((3, 1), np.int32), np.iinfo(np.int32)
    check(te.create_prim_func([a, most]), [values], np.full(3, bounds.min, np.int32))
    check(te.create_prim_func([a, least]), [values], np.full(3, bounds.max, np.int32))


def test_what_makes_no_function_is_refused() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1, name="B")
    for arguments, sentence in (
        ([b], "tensor 'A' is an input, but not among the arguments"),
        ([a], "create_prim_func: expected a computed tensor among the arguments"),
        ([a, 3], "create_prim_func takes tensors, not 3"),
    ):
        with pytest.raises(LowerError) as error:
            te.create_prim_func(arguments)  # type: ignore[arg-type]
        assert str(error.value) == sentence
