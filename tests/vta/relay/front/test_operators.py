"""Operators under TVM's names: the calls that they make, and what is refused."""

import re

import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.types import RelayError
from vta import nd, relay
from vta.relay.front.operators import FUNCTIONS
from vta.relay.front.values import TupleWrapper
from vta.relay.interpreter import run


def x(*shape: int, dtype: str = "float32") -> relay.Var:
    return relay.var("x", shape=shape, dtype=dtype)


def test_every_float_operator_has_a_function_under_its_name() -> None:
    own = {str(op) for op in Op if not str(op).startswith(("qnn.", "onnx."))}
    assert set(FUNCTIONS) == own
    assert relay.add is FUNCTIONS["add"]
    assert relay.nn.conv2d is FUNCTIONS["nn.conv2d"]
    assert relay.add.__doc__ == "Return ``add(lhs, rhs)``; attributes: none."


def test_pads_strides_and_axes_are_written_as_in_tvm() -> None:
    w = relay.var("w", shape=(8, 3, 3, 3))
    for padding in (1, (1,), [1, 1], (1, 1, 1, 1)):
        made = relay.nn.conv2d(x(1, 3, 8, 8), w, strides=2, padding=padding, channels=8, kernel_size=(3, 3))
        assert (made.attrs.padding, made.attrs.strides, made.type.shape) == ((1, 1, 1, 1), (2, 2), (1, 8, 4, 4))
    assert relay.sum(x(2, 3), axis=1).attrs.axis == (1,)
    assert relay.transpose(x(2, 3), [1, 0]).type.shape == (3, 2)
    assert relay.reshape(x(2, 3), newshape=(-1,)).type.shape == (6,)
    assert relay.clip(x(2), 0, np.float32(6)).attrs.a_max == 6
    assert relay.nn.dense(x(2, 3), relay.var("w", shape=(5, 3)), units=5, out_dtype="float32").type.shape == (2, 5)


def test_parts_of_tuples() -> None:
    parts = relay.split(x(6, 2), 3, axis=0)
    assert isinstance(parts, TupleWrapper)
    assert [part.type.shape for part in parts] == [(2, 2)] * 3
    assert parts[-1].index == 2
    uneven = relay.split(x(6, 2), (1, 4), axis=0)
    assert [each.type.shape[0] for each in uneven] == [1, 3, 2]
    joined = relay.concatenate((parts[0], parts[2]), axis=1)
    assert joined.type.shape == (2, 4)
    assert relay.concatenate(parts, 0).type.shape == relay.concatenate(relay.Tuple([*parts]), 0).type.shape == (6, 2)
    data = np.arange(12, dtype=np.float32).reshape(6, 2)
    var = x(6, 2)
    pieces = relay.split(var, 3)
    np.testing.assert_array_equal(run(relay.Function([var], pieces[1]), [data]), data[2:4])
    with pytest.raises(RelayError, match=r"^there are 3 values, and no value 3$"):
        parts[3]


def test_batch_norm_is_the_first_of_a_tuple() -> None:
    ones = [relay.var(name, shape=(3,)) for name in "abcd"]
    [made] = relay.nn.batch_norm(x(1, 3, 4, 4), *ones, epsilon=1e-3, center=True)
    assert (made.type.shape, made.attrs.epsilon) == ((1, 3, 4, 4), 1e-3)


def test_constants_have_tvms_types() -> None:
    assert [str(relay.const(value).type.dtype) for value in (1, 1.5, [2.5], True, np.float64(1), np.arange(2))] == [
        "int32", "float32", "float32", "bool", "float64", "int64",
    ]  # fmt: skip
    assert relay.const(nd.array(np.ones(2, np.float16))).type.dtype == "float16"
    assert relay.const(3, "int8").type.dtype == "int8"


def test_quantisation_has_tvms_arguments() -> None:
    zero = relay.const(3)  # int32, as TVM has it
    made = relay.qnn.op.quantize(x(4), relay.const(0.5), zero, out_dtype="uint8")
    back = relay.qnn.op.dequantize(made, relay.const(0.5), zero)
    var = made.args[0]
    values = np.array([0.2, -9, 1.3, 300], np.float32)
    np.testing.assert_array_equal(run(relay.Function([var], made), [values]), [3, 0, 6, 255])
    np.testing.assert_array_equal(run(relay.Function([var], back), [values]), [0, -1.5, 1.5, 126])


W = (8, 3, 3, 3)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: relay.nn.conv2d(x(1, 3, 8, 8), relay.var("w", shape=W), channels=9),
         "nn.conv2d: channels is 8 by the types, not 9"),
        (lambda: relay.nn.conv2d(x(1, 3, 8, 8), relay.var("w", shape=W), kernel_size=5),
         "nn.conv2d: kernel_size is (3, 3) by the types, not 5"),
        (lambda: relay.nn.conv2d(x(1, 3, 8, 8), relay.var("w", shape=W), out_dtype="int32"),
         "nn.conv2d: out_dtype is '' here, not 'int32'"),
        (lambda: relay.nn.relu(x(1), axis=1), "nn.relu: there is no attribute 'axis'; there are none"),
        (lambda: relay.nn.relu(x(1), 1, 2), "nn.relu: it takes data, not 3 arguments"),
        (lambda: relay.clip(x(1), 0, 1, a_min=2), "clip: a_min is given twice"),
        (lambda: relay.nn.leaky_relu(x(1), alpha="much"), "nn.leaky_relu: attribute 'alpha' is not 'much'"),
        (lambda: relay.add(x(1), "1"),
         "an expression of a graph was expected, not str; see relay.var and relay.const"),
        (lambda: relay.concatenate(axis=1), "concatenate: it takes a tuple of tensors"),
        (lambda: relay.split(x(6, 2), 4), "split: 6 elements are not 4 equal parts"),
        (lambda: relay.split(x(6, 2), 2, axis=2), "split: axis is from -2 to 1, not 2"),
        (lambda: relay.var("v"), "variable 'v' needs a type, as shape=(1, 3, 224, 224)"),
        (lambda: relay.var("v", relay.TensorType((1,), "int8"), shape=(1,)),
         "variable 'v' has a type or a shape, not both"),
        (lambda: TupleWrapper(x(1)), "a tuple of several values was expected, not Tensor[(1,), float32]"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(make: object, text: str) -> None:
    with pytest.raises(RelayError, match=f"^{re.escape(text)}$"):
        make()
