"""Gradients agree with differences of the function itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic
from vta.te.gradient import GradientError, gradient
from vta.tir import math_ops
from vta.tir.expr import Expr, Select

Values = list[np.ndarray[Any, Any]]
RNG = np.random.default_rng(11)


def run(tensors: list[te.Tensor], outputs: list[te.Tensor], values: Values) -> Values:
    outs = [vta.nd.empty([int(s) for s in t.shape], str(t.dtype)) for t in outputs]
    schedule = te.create_schedule([t.op for t in outputs])
    build_generic(schedule, [*tensors, *outputs])(*map(vta.nd.array, values), *outs)
    return [out.numpy() for out in outs]


def check(output: te.Tensor, inputs: list[te.Tensor], low: float = -1.0, high: float = 1.0) -> None:
    """Compare gradients, by a head and whole, with central differences in double precision."""
    values = [RNG.uniform(low, high, [int(s) for s in t.shape]) for t in inputs]
    head = te.placeholder((2, *output.shape), "float64", "head")
    weights = RNG.uniform(-1, 1, [int(s) for s in head.shape])
    found = run([*inputs, head], gradient(output, inputs, head), [*values, weights])
    whole = run(inputs, gradient(output, inputs), values)
    func = build_generic(te.create_schedule(output.op), [*inputs, output])
    shape = [int(s) for s in output.shape]

    def outcome(at: Values) -> np.ndarray[Any, Any]:
        out = vta.nd.empty(shape, "float64")
        func(*map(vta.nd.array, at), out)
        return out.numpy()

    for k, value in enumerate(values):
        jacobian = np.zeros((*shape, *value.shape))
        for place in np.ndindex(value.shape):
            moved = [v.copy() for v in values]
            moved[k][place] += 1e-6
            above = outcome(moved)
            moved[k][place] -= 2e-6
            jacobian[(..., *place)] = (above - outcome(moved)) / 2e-6
        np.testing.assert_allclose(whole[k], jacobian, atol=1e-5)
        np.testing.assert_allclose(found[k], np.tensordot(weights, jacobian, len(shape)), atol=1e-5)


def placeholder(*shape: int, name: str = "A") -> te.Tensor:
    return te.placeholder(shape, "float64", name)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x + 3.0 * x - 1.0 / (x + 2.0), te.exp, te.tanh, te.sigmoid, te.abs, math_ops.sin, math_ops.cos,
        math_ops.tan, math_ops.atan, math_ops.erf, lambda x: math_ops.sin(x) * te.floor(x),
        lambda x: te.if_then_else(x > 0.1, x * 2.0, te.exp(x)), lambda x: te.power(x + 3.0, 2.5),
        lambda x: te.log(x + 2.0) * te.sqrt(x + 2.0),
    ],
)  # fmt: skip
def test_functions_of_single_elements(function: Callable[[Expr], Expr]) -> None:
    a = placeholder(2, 3)
    check(te.compute((2, 3), lambda i, j: function(a(i, j)), "B"), [a])


def test_sums_products_and_stages_between() -> None:
    a, w = placeholder(3, 4), placeholder(4, 2, name="W")
    k = te.reduce_axis((0, 4), "k")
    hidden = te.compute((3, 4), lambda i, j: te.tanh(a[i, j] * 2.0), "hidden")
    product = te.compute((3, 2), lambda i, j: te.sum(hidden[i, k] * w[k, j], axis=k), "product")
    check(te.compute((3, 2), lambda i, j: product[i, j] * product[2 - i, j] + a[i, j + 1], "out"), [a, w])


def test_convolutions_with_pads_and_strides() -> None:
    image, kernel = placeholder(1, 2, 5, 5, name="image"), placeholder(2, 2, 3, 3, name="kernel")
    padded = te.compute(
        (1, 2, 7, 7),
        lambda n, c, y, x: te.if_then_else(
            te.all(y >= 1, y < 6, x >= 1, x < 6), image(n, c, y - 1, x - 1), te.const(0.0, "float64")
        ),
        "padded",
    )
    c, dy, dx = (te.reduce_axis((0, size), name) for size, name in ((2, "c"), (3, "dy"), (3, "dx")))
    made = te.compute(
        (1, 2, 3, 3),
        lambda n, o, y, x: te.sum(padded[n, c, y * 2 + dy, x * 2 + dx] * kernel[o, c, dy, dx], axis=[c, dy, dx]),
        "conv",
    )
    check(made, [image, kernel])


def test_the_largest_the_repeated_and_the_rearranged() -> None:
    a = placeholder(3, 4)
    k = te.reduce_axis((0, 4), "k")
    check(te.compute((3,), lambda i: te.max(a[i, k], axis=k), "largest"), [a])
    check(te.compute((12,), lambda i: a[i // 4, i % 4] * 2.0, "flat"), [a])
    check(te.compute((2, 2), lambda i, j: a[i * 2, j * 3] + a[1, 1] * a[2 - i, 0], "strided"), [a])


def test_stages_of_several_tensors() -> None:
    a, w = placeholder(3, 4), placeholder(3, 4, name="W")
    both = te.compute((3, 4), lambda i, j: (a[i, j] * w[i, j], te.exp(a[i, j]) + w[2 - i, j]), "both")
    first, second = both
    check(te.compute((3, 4), lambda i, j: first[i, j] * second[i, 3 - j], "out"), [a, w])
    check(second, [a, w])


def test_reductions_of_several_tensors() -> None:
    a, w = placeholder(3, 4), placeholder(3, 4, name="W")
    k = te.reduce_axis((0, 4), "k")
    moments = te.comm_reducer(
        lambda x, y: (x[0] + y[0], te.max(x[1], y[1])),
        lambda t0, t1: (te.const(0.0, t0), te.min_value(t1)),
        name="moments",
    )
    total, most = te.compute((3,), lambda i: moments((a[i, k] * w[i, k], a[i, k] - w[i, k]), axis=k), "moments")
    check(te.compute((3,), lambda i: total[i] * most[i] + most[2 - i], "out"), [a, w])


def test_the_numbers_beside_the_largest_ones() -> None:
    """argmax: the derivative goes to what was chosen, of the number that decides and of those beside it."""
    a, w = placeholder(3, 4), placeholder(3, 4, name="W")
    k = te.reduce_axis((0, 4), "k")

    def larger(x: tuple[Expr, ...], y: tuple[Expr, ...]) -> tuple[Expr, ...]:
        first = x[1] >= y[1]
        return tuple(Select(first, u, v) for u, v in zip(x, y, strict=True))

    argmax = te.comm_reducer(
        larger, lambda i, v, u: (te.const(-1, i), te.min_value(v), te.const(0.0, u)), name="argmax"
    )
    at, most, beside = te.compute((3,), lambda i: argmax((k, a[i, k], a[i, k] * w[i, k]), axis=k), "argmax")
    check(te.compute((3,), lambda i: beside[i] * 2.0 + most[i] * most[i] + at[i], "out"), [a, w])


def test_choices_of_several_conditions_have_no_derivative() -> None:
    a = placeholder(3, 4)
    k = te.reduce_axis((0, 4), "k")
    mixed = te.comm_reducer(
        lambda x, y: (Select(x[0] >= y[0], x[0], y[0]), Select(x[1] >= y[0], x[1], y[1])),
        lambda t0, t1: (te.min_value(t0), te.min_value(t1)),
        name="mixed",
    )
    _, second = te.compute((3,), lambda i: mixed((a[i, k], a[i, k] * 2.0), axis=k), "mixed")
    with pytest.raises(GradientError, match="gradient: stage 'mixed' is a reduction that has no derivative here"):
        gradient(second, [a])


def test_what_does_not_depend_is_zero() -> None:
    a, b = placeholder(2), placeholder(3, name="B")
    out = te.compute((2,), lambda i: a[i] * 2.0, "out")
    (zero,) = run([], gradient(out, b), [])
    np.testing.assert_array_equal(zero, np.zeros((2, 3)))


def test_what_has_no_derivative_is_refused() -> None:
    a, n = placeholder(4), te.placeholder((4,), "int32", "n")
    k = te.reduce_axis((0, 4), "k")
    multiply = te.comm_reducer(lambda x, y: x * y, lambda kind: te.const(1.0, kind), name="prod")
    first = te.compute((4,), lambda i: math_ops.log1p(a[i]), "first")
    second = te.compute((1,), lambda _: multiply(a[k], axis=k), "second")
    third = te.extern((4,), [a], lambda ins, outs: outs[0].vstore([0], ins[0].vload([0])), name="third")
    fourth = te.compute((4,), lambda i: n[i] + 1, "fourth")
    assert isinstance(third, te.Tensor)
    for output, text in (
        (first, "tir.log1p has no derivative here"),
        (second, "gradient: stage 'second' is a reduction that has no derivative here; sums, max, min and choices do"),
        (third, "gradient: stage 'third' is no computation, so it has no derivative here"),
        (fourth, "gradient of 'fourth': expected a tensor of floats, got int32"),
    ):
        with pytest.raises(GradientError) as error:
            gradient(output, [a])
        assert str(error.value) == text
    with pytest.raises(GradientError) as error:
        gradient(te.compute((4,), lambda i: a[i]), [a], placeholder(3))
    assert str(error.value) == "gradient of 'compute': the last sizes of the head are not those of the tensor"
