import pytest

from vta import te
from vta.topi.core.operator import OperatorError
from vta.topi.core.sizes import sizes


def test_a_constant_shape_is_a_tuple_of_numbers() -> None:
    assert sizes(te.placeholder((2, 3, 4), "int8", "x")) == (2, 3, 4)


def test_a_variable_shape_is_refused() -> None:
    with pytest.raises(OperatorError) as error:
        sizes(te.placeholder((te.var("n"), 4), "int8", "x"))
    assert str(error.value) == "tensor 'x': the sizes of an operator are numbers, not (n, 4)"
