"""Operators that ONNX defines by others: written out as these, under the node's own name."""

import numpy as np
import onnx
import pytest

from runtime.executor.operators.names import Op
from runtime.executor.operators.types import TensorType
from tests.support.relay.onnx_models import model_of, node
from vta.relay.interpreter import run
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import calls
from vta.relay.onnx.errors import OnnxError
from vta.relay.onnx.functions import function_of
from vta.relay.onnx.importer import from_onnx

X = {"x": ("float32", (2, 3, 4, 5))}


def test_defaults_of_attributes_hold_in_the_definition() -> None:
    function = from_onnx(model_of([node("MeanVarianceNormalization", ["x"], "y")], X))
    x = np.random.default_rng(1).standard_normal((2, 3, 4, 5)).astype(np.float32)
    wanted = (x - x.mean((0, 2, 3), keepdims=True)) / x.std((0, 2, 3), keepdims=True)
    np.testing.assert_allclose(run(function, [x]), wanted, rtol=1e-4, atol=1e-5)


def test_calls_come_from_the_node_that_the_model_has() -> None:
    function = from_onnx(model_of([node("RMSNormalization", ["x", "s"], "y")], {**X, "s": ("float32", (5,))}, opset=23))
    made = calls(function)
    assert len(made) > 3
    assert {origin for call in made for origin in call.origins} == {Origin("y", "RMSNormalization")}
    assert all(call.callee is not Op.ONNX_NODE for call in made)
    x, s = (np.random.default_rng(2).standard_normal(shape).astype(np.float32) for shape in ((2, 3, 4, 5), (5,)))
    wanted = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * s
    np.testing.assert_allclose(run(function, [x, s]), wanted, rtol=1e-5, atol=1e-6)


def test_what_is_no_function_is_left_alone() -> None:
    kind = {"x": TensorType((2,), "float32")}
    assert function_of(node("Relu", ["x"], "y"), kind, {"": 6}) is None
    assert function_of(node("Nothing", ["x"], "y"), kind, {"": 21}) is None
    assert function_of(onnx.helper.make_node("Odd", ["x"], ["y"], domain="odd"), kind, {"": 21, "odd": 1}) is None


def test_a_function_whose_parts_have_no_converter_is_refused_by_its_own_name() -> None:
    model = model_of([node("Bernoulli", ["x"], "y")], X)
    with pytest.raises(OnnxError, match=r"^Bernoulli 'y': this operator is not supported$"):
        from_onnx(model)
