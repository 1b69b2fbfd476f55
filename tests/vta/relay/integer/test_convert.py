"""What to_integers leaves alone, refuses, and keeps."""

import numpy as np
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.types import RelayError, TensorType
from tests.support.relay.onnx_models import model_of, node
from tests.support.relay.quantised_models import Quantised, expected
from vta.relay.integer import to_integers
from vta.relay.interpreter import run
from vta.relay.ir.nodes import Function, Let, Var
from vta.relay.ir.traverse import calls
from vta.relay.onnx.importer import from_onnx
from vta.relay.ops.call import call, call_function


def test_a_float_graph_stays_what_it_is() -> None:
    nodes = [node("Relu", ["x"], "a"), node("Softmax", ["a"], "y")]
    function = from_onnx(model_of(nodes, {"x": ("float32", (2, 3))}))
    assert [c.callee for c in calls(to_integers(function))] == [Op.RELU, Op.SOFTMAX]


def test_float_operators_between_integers_keep_their_place() -> None:
    q = Quantised()
    real = q.both("x", 0.05)
    last = q.op("Softmax", [real], axis=1)
    q.quantize(last, 1 / 256, -128)
    model = model_of(q.nodes, {"x": ("float32", (1, 8))}, weights=q.weights)
    x = np.linspace(-4, 4, 8, dtype=np.float32)[None]
    function = to_integers(from_onnx(model))
    assert [c.callee for c in calls(function)] == [Op.QUANTIZE, Op.DEQUANTIZE, Op.SOFTMAX, Op.QUANTIZE]
    np.testing.assert_array_equal(run(function, [x]), expected(model, {"x": x})[0])


def test_a_layer_whose_result_is_real_is_int32_sums_and_one_scale() -> None:
    q = Quantised()
    weights, scales = q.weight((5, 8))
    q.op("Gemm", [q.both("x", 0.05), weights, q.bias(scales * np.float32(0.05), 5)], transB=1)
    model = model_of(q.nodes, {"x": ("float32", (3, 8))}, weights=q.weights)
    x = q.rng.standard_normal((3, 8)).astype(np.float32)
    function = to_integers(from_onnx(model))
    assert Op.QNN_DENSE in {c.callee for c in calls(function)}
    np.testing.assert_allclose(run(function, [x]), expected(model, {"x": x})[0], rtol=1e-5, atol=1e-5)


def test_int8_inputs_and_outputs_stay_what_they_are() -> None:
    q = Quantised()
    real = q.dequantize("x", 0.1, 3)
    q.quantize(q.op("Relu", [real]), 0.1, 3)
    model = model_of(q.nodes, {"x": ("int8", (4, 4))}, weights=q.weights)
    x = q.rng.integers(-128, 128, (4, 4)).astype(np.int8)
    function = to_integers(from_onnx(model))
    assert [str(param.type) for param in function.params] == ["Tensor[(4, 4), int8]"]
    np.testing.assert_array_equal(run(function, [x]), np.maximum(x, 3))


def test_a_tensor_that_is_read_twice_is_computed_once() -> None:
    q = Quantised()
    weights, scales = q.weight((6, 6, 1, 1))
    real = q.both(q.op("Conv", [q.both("x", 0.05), weights, q.bias(scales * np.float32(0.05), 6)]), 0.1)
    q.quantize(q.op("Add", [q.op("Relu", [real]), real]), 0.2)
    model = model_of(q.nodes, {"x": ("float32", (1, 6, 4, 4))}, weights=q.weights)
    function = to_integers(from_onnx(model))
    assert sum(c.callee is Op.QNN_CONV2D for c in calls(function)) == 1


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: Let(Var("t", x.type), call(Op.RELU, (x,)), x),
         "integers are made of graphs without let; write its values where they are used"),
        (lambda x: call_function(Function((x,), call(Op.RELU, (x,))), (x,)),
         "integers are made before functions are called; this graph has been fused or partitioned"),
    ],
)  # fmt: skip
def test_graphs_of_other_kinds_are_refused(make: object, text: str) -> None:
    x = Var("x", TensorType((2,), "float32"))
    with pytest.raises(RelayError, match=f"^{text}$"):
        to_integers(Function((x,), make(x)))  # type: ignore[operator]
