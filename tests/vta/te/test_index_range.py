"""Reads beyond a tensor: refused where they are certain, left alone where they are not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.compiler.te_run import run
from vta import te, tir


def placeholder() -> te.Tensor:
    return te.placeholder((4, 8), "int32", "x")


def refusal(shape: tuple[int, ...], fcompute: Callable[..., Any]) -> str:
    with pytest.raises(te.TensorError) as error:
        te.create_schedule(te.compute(shape, fcompute, "y").op)  # rows before a state's first one are found here
    return str(error.value)


def test_an_index_that_reaches_beyond_is_refused_with_its_range() -> None:
    x = placeholder()
    hint = "te.if_then_else(condition, x[...], 0) pads"
    assert refusal((4,), lambda i: x[i + 1, 0]) == (
        f"compute 'y': index (i + 1) in dimension 0 of tensor 'x': expected 0 to 3, got 1 to 4; {hint}"
    )
    assert refusal((4,), lambda i: x[i, i * 2 - 1]) == (
        f"compute 'y': index ((i*2) - 1) in dimension 1 of tensor 'x': expected 0 to 7, got -1 to 5; {hint}"
    )
    assert refusal((4,), lambda i: x[i, 8] + 1) == (
        f"compute 'y': index 8 in dimension 1 of tensor 'x': expected 0 to 7, got 8; {hint}"
    )


def test_a_reduction_axis_counts() -> None:
    x = placeholder()
    k = te.reduce_axis((1, 6), "k")
    assert "index (i + k) in dimension 1 of tensor 'x': expected 0 to 7, got 1 to 8" in refusal(
        (4,), lambda i: te.sum(x[i, i + k], axis=k)
    )
    te.compute((4,), lambda i: te.sum(x[i, i + k], axis=k, where=i + k < 8), "y")
    te.compute((3,), lambda i: te.sum(x[i, i + k], axis=k), "y")


def test_start_values_are_read_for_every_element_too() -> None:
    x, first, k = placeholder(), te.placeholder((4,), "int32", "first"), te.reduce_axis((0, 5), "k")
    te.compute((4,), lambda i: te.sum(x[i, k], axis=k, init=first[i]), "y")
    assert "index (i + 1) in dimension 0 of tensor 'first': expected 0 to 3, got 1 to 4" in refusal(
        (4,), lambda i: te.sum(x[i, k], axis=k, init=first[i + 1], where=k < i)
    )


def test_what_is_guarded_or_not_known_is_left_alone() -> None:
    x, chosen = placeholder(), te.placeholder((9,), "int32", "chosen")
    n = te.var("n")
    sized = te.placeholder((n,), "int32", "sized")
    te.compute((9, 9), lambda i, j: te.if_then_else(te.all(i < 4, j < 8), x[i, j], 0), "y")
    te.compute((9,), lambda i: tir.Select(i < 4, x[i, 0], te.const(0)), "y")
    te.compute((9,), lambda i: x[te.min(i, 3), i // 3], "y")
    te.compute((9,), lambda i: x[chosen[i], 0], "y")
    te.compute((9,), lambda i: sized[i + 100], "y")
    te.compute((n,), lambda i: x[i, 0], "y")


@given(st.integers(-3, 3), st.integers(-3, 3), st.integers(-9, 9), st.integers(1, 4), st.integers(1, 4))
def test_what_is_accepted_reads_inside_and_what_is_refused_does_not(a: int, b: int, c: int, m: int, n: int) -> None:
    x = te.placeholder((6,), "int32", "x")
    values = a * np.arange(m)[:, None] + b * np.arange(n) + c
    inside = values.min() >= 0 and values.max() < 6
    if not inside:
        assert f"got {values.min()}" in refusal((m, n), lambda i, j: x[i * a + j * b + c])
        return
    y = te.compute((m, n), lambda i, j: x[i * a + j * b + c], "y")
    data = np.arange(6, dtype=np.int32) * 7
    np.testing.assert_array_equal(run(te.create_schedule(y.op), [x, y], data), data[values])
