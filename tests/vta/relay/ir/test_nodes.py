import numpy as np
import pytest

from runtime.executor.operators.types import RelayError, TensorType, TupleType
from vta.relay.ir.nodes import Constant, Let, Tuple, TupleGetItem, Var, constant, tensor_type

INT8 = TensorType((2,), "int8")


def test_a_node_equals_only_itself() -> None:
    assert Var("x", INT8) != Var("x", INT8)
    assert len({Var("x", INT8), Var("x", INT8)}) == 2


def test_a_constant_has_the_type_of_its_array_and_is_not_written_to() -> None:
    given = Constant(np.zeros((2, 3), np.float32), "w")
    assert given.type == TensorType((2, 3), "float32")
    with pytest.raises(ValueError, match="read-only"):
        given.value[0, 0] = 1


def test_constant_copies_what_it_is_made_of() -> None:
    numbers = np.ones(2, np.int32)
    given = constant(numbers, "int8", name="b")
    numbers[0] = 5
    assert (given.value.tolist(), given.type, given.name) == ([1, 1], INT8, "b")


def test_a_constant_of_no_array_is_refused() -> None:
    with pytest.raises(RelayError, match=r"^a constant is made of a numpy array, not of list$"):
        Constant([1, 2])


def test_a_constant_of_elements_without_a_type_is_refused() -> None:
    with pytest.raises(RelayError, match=r"^a tensor's elements are one of bool, int8, .*, not 'str32'$"):
        Constant(np.array(["a"]))


def test_tuples_have_the_types_of_their_values() -> None:
    x, y = Var("x", INT8), constant(1.5, "float32")
    pair = Tuple((x, y))
    assert pair.type == TupleType((INT8, TensorType((), "float32")))
    assert TupleGetItem(pair, 1).type == y.type
    assert tensor_type(x) is INT8


def test_a_value_that_a_tuple_does_not_have_is_refused() -> None:
    x = Var("x", INT8)
    with pytest.raises(RelayError, match=r"^a tuple of 1 values has no value 1$"):
        TupleGetItem(Tuple((x,)), 1)
    with pytest.raises(RelayError, match=r"^value 0 of a tuple was asked for, and it is a Tensor\[\(2,\), int8\]$"):
        TupleGetItem(x, 0)
    with pytest.raises(RelayError, match=r"^expected a tensor, got a tuple: \(Tensor\[\(2,\), int8\],\)$"):
        tensor_type(Tuple((x,)))


def test_a_let_whose_variable_is_of_another_type_is_refused() -> None:
    with pytest.raises(RelayError) as error:
        Let(Var("v", TensorType((3,), "int8")), Var("x", INT8), Var("y", INT8))
    assert str(error.value) == "let v: the variable is Tensor[(3,), int8], the value Tensor[(2,), int8]"
