"""The evaluator that the simplifier is compared with: every operation on integers, against Python's."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.tir_eval import evaluate
from vta.tir.dtype import DType
from vta.tir.expr import Builtin, Call, IntImm, Var

X, Y = (Var(name, DType("int8")) for name in "xy")


@pytest.mark.parametrize(
    ("op", "meaning"),
    [
        (Builtin.SHIFT_LEFT, lambda a, b: a << b),
        (Builtin.SHIFT_RIGHT, lambda a, b: a >> b),
        (Builtin.BITWISE_AND, lambda a, b: a & b),
        (Builtin.BITWISE_OR, lambda a, b: a | b),
        (Builtin.BITWISE_XOR, lambda a, b: a ^ b),
    ],
)
def test_calls_of_two_numbers_wrap(op: Builtin, meaning: Callable[[int, int], int]) -> None:
    counts = range(8) if op in (Builtin.SHIFT_LEFT, Builtin.SHIFT_RIGHT) else range(-128, 128, 5)
    a, b = np.arange(-128, 128)[:, None], np.array(counts)
    found = evaluate(Call(X.dtype, op, (X, Y)), {X: a, Y: b})
    expected = [[(meaning(x, y) + 128) % 256 - 128 for y in counts] for x in range(-128, 128)]
    np.testing.assert_array_equal(found, expected)


def test_the_other_calls() -> None:
    values = np.arange(-128, 128)
    np.testing.assert_array_equal(evaluate(Call(X.dtype, Builtin.BITWISE_NOT, (X,)), {X: values}), ~values)
    choice = Call(X.dtype, Builtin.IF_THEN_ELSE, (X < 0, IntImm(1, X.dtype), X))
    np.testing.assert_array_equal(evaluate(choice, {X: values}), np.where(values < 0, 1, values))
    np.testing.assert_array_equal(evaluate(Call("bool", Builtin.LIKELY, (X < 3,)), {X: values}), values < 3)
