"""Functions of two tensors, against numpy's broadcasting."""

import numpy as np
import pytest

from tests.support.compiler.cpu_operators import computed, tensors
from vta.topi.core.operator import OperatorError
from vta.topi.cpu import pairs

BOTH = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
}  # fmt: skip
INTEGERS = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "floor_divide": np.floor_divide, "floor_mod": np.mod, "mod": np.fmod, "divide": lambda a, b: np.trunc(a / b),
}  # fmt: skip
SHAPES = [((3, 4), (3, 4)), ((3, 1), (4,)), ((2, 3, 4), (3, 1)), ((1,), (2, 3)), ((4, 1, 3), (1, 5, 1))]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_shapes_are_broadcast_as_numpy_does(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    x, y = (rng.integers(-4, 5, shape).astype(np.int32) for shape in (a, b))
    y[y == 0] = 3
    table = {**BOTH, **INTEGERS}
    results = computed(lambda s, t: [getattr(pairs, name)(s, t) for name in table], x, y)
    for (name, reference), result in zip(table.items(), results, strict=True):
        np.testing.assert_array_equal(result, reference(x, y), err_msg=name)


def test_floats_truths_and_shifts() -> None:
    rng = np.random.default_rng(3)
    x, y = (rng.uniform(0.5, 3, (2, 3)).astype(np.float32) for _ in range(2))
    quotient, power = computed(lambda s, t: [pairs.divide(s, t), pairs.power(s, t)], x, y)
    np.testing.assert_allclose(quotient, x / y, rtol=1e-6)
    np.testing.assert_allclose(power, x**y, rtol=1e-5)
    p, q = np.array([[True], [False]]), np.array([True, False])
    for name, reference in (
        ("logical_and", np.logical_and),
        ("logical_or", np.logical_or),
        ("logical_xor", np.logical_xor),
    ):
        [result] = computed(getattr(pairs, name), p, q)
        np.testing.assert_array_equal(result.astype(bool), reference(p, q), err_msg=name)
    numbers, counts = np.array([1, -8, 5], np.int32), np.array([0, 2, 3], np.int32)
    up, down = computed(lambda s, t: [pairs.left_shift(s, t), pairs.right_shift(s, t)], numbers, counts)
    np.testing.assert_array_equal(up, numbers << counts)
    np.testing.assert_array_equal(down, numbers >> counts)


def test_numbers_and_repeated_shapes() -> None:
    x = np.arange(3, dtype=np.float32).reshape(3, 1)
    more, less, wide = computed(
        lambda t: [pairs.add(t, 1), pairs.subtract(2.5, t), pairs.broadcast_to(t, (2, 3, 4))], x
    )
    np.testing.assert_array_equal(more, x + 1)
    np.testing.assert_array_equal(less, 2.5 - x)
    np.testing.assert_array_equal(wide, np.broadcast_to(x, (2, 3, 4)))


def test_shapes_that_do_not_go_together_are_refused() -> None:
    a, b = tensors(np.zeros((2, 3), np.float32), np.zeros((4,), np.float32))
    with pytest.raises(OperatorError) as error:
        pairs.add(a, b)
    assert str(error.value) == "T_add: shapes (2, 3) and (4) do not go together in dimension 1"
    with pytest.raises(OperatorError) as error:
        pairs.broadcast_to(a, (1, 3))
    assert str(error.value) == "broadcast_to: a tensor of shape (2, 3) cannot be repeated to (1, 3)"
