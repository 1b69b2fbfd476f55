from dataclasses import dataclass

import pytest

from vta import te
from vta.topi.operator import OperatorError
from vta.topi.sizes import require_sizes, sizes


@dataclass(frozen=True)
class Layer:
    rows: object = 1
    kernel: object = (1, 1)


def test_a_constant_shape_is_a_tuple_of_numbers() -> None:
    assert sizes(te.placeholder((2, 3, 4), "int8", "x")) == (2, 3, 4)


def test_a_variable_shape_is_refused() -> None:
    with pytest.raises(OperatorError) as error:
        sizes(te.placeholder((te.var("n"), 4), "int8", "x"))
    assert str(error.value) == "tensor 'x': the sizes of an operator are numbers, not (n, 4)"


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (Layer(rows=0), "Layer: rows takes a number from 1, not 0"),
        (Layer(rows="2"), "Layer: rows takes a number from 1, not '2'"),
        (Layer(kernel=(3, 0)), "Layer: kernel takes numbers from 1, not (3, 0)"),
    ],
)
def test_sizes_of_an_operator_are_positive_numbers(layer: Layer, text: str) -> None:
    require_sizes(Layer(), "rows", "kernel")
    with pytest.raises(OperatorError) as error:
        require_sizes(layer, "rows", "kernel")
    assert str(error.value) == text
