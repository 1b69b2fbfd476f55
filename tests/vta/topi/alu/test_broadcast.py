import numpy as np
import pytest

from tests.support.compiler.host_run import on_host
from vta import te, topi
from vta.topi.core.operator import OperatorError

OPERATORS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
}
SHAPES = [((3, 4), (3, 4)), ((3, 4), (4,)), ((1, 4), (3, 1)), ((2, 3, 4), (3, 1)), ((4,), (2, 3, 4))]


@pytest.mark.parametrize(("name", "number"), [(name, i % 5) for i, name in enumerate([*OPERATORS, "add", "add"])])
def test_two_tensors_are_broadcast_as_in_numpy(name: str, number: int) -> None:
    shapes = SHAPES[number]
    a, b = (te.placeholder(shape, "int32", label) for shape, label in zip(shapes, "ab", strict=True))
    rng = np.random.default_rng(1)
    x, y = (rng.integers(0, 9, shape).astype(np.int32) for shape in shapes)
    np.testing.assert_array_equal(on_host(getattr(topi, name)(a, b), [a, b], x, y), OPERATORS[name](x, y))


def test_one_operand_may_be_a_number() -> None:
    a = te.placeholder((5,), "int32", "a")
    x = np.arange(-2, 3, dtype=np.int32)
    np.testing.assert_array_equal(on_host(topi.add(a, 7), [a], x), x + 7)
    np.testing.assert_array_equal(on_host(topi.subtract(7, a), [a], x), 7 - x)


def test_operators_of_one_tensor() -> None:
    a = te.placeholder((5,), "int32", "a")
    x = np.array([-300, -2, 0, 4, 200], np.int32)
    np.testing.assert_array_equal(on_host(topi.relu(a), [a], x), np.maximum(x, 0))
    np.testing.assert_array_equal(on_host(topi.negative(a), [a], x), -x)
    np.testing.assert_array_equal(on_host(topi.identity(a), [a], x), x)
    np.testing.assert_array_equal(on_host(topi.clip(a, -3, 100), [a], x), np.clip(x, -3, 100))
    np.testing.assert_array_equal(on_host(topi.cast(a, "int8"), [a], x), x.astype(np.int8))


def test_stages_have_tvm_s_names_and_tags() -> None:
    a, b = te.placeholder((3, 4), "int32", "a"), te.placeholder((4,), "int32", "b")
    assert (topi.add(a, a).op.name, topi.add(a, a).op.tag) == ("T_add", "elemwise")
    assert (topi.add(a, b).op.name, topi.add(a, b).op.tag) == ("T_add", "broadcast")
    assert topi.clip(a, 0, 1).op.name == "clipB"


def test_shapes_that_do_not_go_together_are_refused() -> None:
    a, b = te.placeholder((3, 4), "int32", "a"), te.placeholder((2, 4), "int32", "b")
    with pytest.raises(OperatorError) as caught:
        topi.add(a, b)
    assert str(caught.value) == "T_add: shapes (3, 4) and (2, 4) do not go together in dimension 0"
    with pytest.raises(OperatorError) as caught:
        topi.add(1, 2)
    assert str(caught.value) == "T_add: one of the operands must be a tensor"
