import numpy as np
import pytest

from tests.support.compiler.te_run import run
from vta import te, topi


@pytest.mark.parametrize(("shape", "strides"), [((3, 4), (2, 3)), ((1, 5), (4, 1)), ((2, 1), (1, 1))])
def test_zeros_stand_between_the_elements(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    x = te.placeholder(shape, "int8", "x")
    y = topi.nn.dilate(x, strides)
    values = np.arange(1, 1 + shape[0] * shape[1], dtype=np.int8).reshape(shape)
    expected = np.zeros([(n - 1) * s + 1 for n, s in zip(shape, strides, strict=True)], np.int8)
    expected[:: strides[0], :: strides[1]] = values
    np.testing.assert_array_equal(run(te.create_schedule(y.op), [x, y], values), expected)


def test_another_value_can_stand_there() -> None:
    x = te.placeholder((2,), "int32", "x")
    y = topi.nn.dilate(x, (3,), dilation_value=7)
    assert run(te.create_schedule(y.op), [x, y], np.array([1, 2], np.int32)).tolist() == [1, 7, 7, 2]


def test_strides_must_fit_the_tensor() -> None:
    x = te.placeholder((2, 3), "int8", "x")
    with pytest.raises(topi.nn.DilateError) as error:
        topi.nn.dilate(x, (2,))
    assert str(error.value) == "dilate: 1 strides for tensor 'x' of 2 dimensions"
    with pytest.raises(topi.nn.DilateError) as error:
        topi.nn.dilate(x, (2, 0))
    assert str(error.value) == "dilate of tensor 'x': a stride is a number from 1, not 0"
