"""Functions of every element, against numpy."""

import math

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import elementwise

FLOATS = {
    "exp": np.exp, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "asinh": np.arcsinh, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc,
    "abs": np.abs, "negative": np.negative, "sign": np.sign, "erf": np.vectorize(math.erf),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip
POSITIVE = {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "log2": np.log2, "log10": np.log10}
SMALL = {"asin": np.arcsin, "acos": np.arccos, "atanh": np.arctanh}


@pytest.mark.parametrize("table", [FLOATS, POSITIVE, SMALL], ids=["any", "positive", "small"])
def test_functions_of_floats_are_numpys(table: dict[str, np.ufunc]) -> None:
    x = np.random.default_rng(1).uniform(-0.99 if table is SMALL else -3, 0.99 if table is SMALL else 3, (3, 16))
    x = (np.abs(x) + 0.1 if table is POSITIVE else x).astype(np.float32)
    results = computed(lambda t: [getattr(elementwise, name)(t) for name in table], x)
    for (name, reference), result in zip(table.items(), results, strict=True):
        np.testing.assert_allclose(result, reference(x), rtol=2e-5, atol=1e-6, err_msg=name)


def test_integers_truths_and_constants() -> None:
    x = np.array([[-5, 0, 3], [7, -1, 2]], np.int32)
    sign, inverted, clipped, zeros, ones, fives = computed(
        lambda t: [
            elementwise.sign(t), elementwise.bitwise_not(t), elementwise.clip(t, -2, 3), elementwise.zeros_like(t),
            elementwise.ones_like(t), elementwise.full((2, 2), "int32", 5),
        ],
        x,
    )  # fmt: skip
    np.testing.assert_array_equal(sign, np.sign(x))
    np.testing.assert_array_equal(inverted, ~x)
    np.testing.assert_array_equal(clipped, np.clip(x, -2, 3))
    assert (zeros.sum(), ones.sum(), fives.sum()) == (0, 6, 20)
    [opposite] = computed(elementwise.logical_not, x > 0)
    np.testing.assert_array_equal(opposite.astype(bool), x <= 0)


def test_kinds_of_numbers() -> None:
    x = np.array([1.0, np.nan, np.inf, -np.inf], np.float32)
    results = computed(lambda t: [f(t) for f in (elementwise.isnan, elementwise.isinf, elementwise.isfinite)], x)
    for result, reference in zip(results, (np.isnan, np.isinf, np.isfinite), strict=True):
        np.testing.assert_array_equal(result.astype(bool), reference(x))


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(OperatorError) as error:
        elementwise.exp(3)  # type: ignore[arg-type]
    assert str(error.value) == "topi.exp: expected a tensor, got 3"


def test_bits_of_elements_are_read_as_another_type() -> None:
    x = np.array([[1.0, -2.5, 0.0]], np.float32)
    [bits] = computed(lambda t: elementwise.reinterpret(t, "int32"), x)
    np.testing.assert_array_equal(bits, x.view(np.int32))
