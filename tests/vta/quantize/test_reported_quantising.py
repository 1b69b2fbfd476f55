"""Reports on quantising, from a float model to numbers of the accelerator."""

import numpy as np
import onnx
import pytest

import vta
from runtime.executor.operators.names import Op
from tests.support.relay.float_models import float_model, node
from vta import graph_executor, relay
from vta.quantize import Options, quantise
from vta.relay.backend.session import InferenceSession
from vta.relay.integer.pipeline import integer_network
from vta.relay.interpreter import run
from vta.relay.ir.traverse import calls
from vta.relay.onnx.importer import from_onnx

EYE = np.eye(16, dtype=np.float32).reshape(16, 16, 1, 1)
RAMP = np.linspace(0, 4, 1024, dtype=np.float32).reshape(1, 16, 8, 8)
"""Sums of two of these reach 8."""


def branches(last: str) -> tuple[onnx.ModelProto, np.ndarray]:
    """Return a network whose branches are added, and what it computes of ``RAMP`` in every input."""
    names = ["l", "r", "m"] if last == "three" else ["l", "r"]
    weights: dict[str, np.ndarray] = {"eye": EYE}
    nodes = [node("Conv", [name, "eye"], f"conv_{name}") for name in names]
    wanted = RAMP * len(names)
    nodes.append(node("Add", ["conv_l", "conv_r"], "sum"))
    if last == "three":
        nodes.append(node("Add", ["sum", "conv_m"], "sum3"))
    if last == "constant on the left":
        weights["offset"] = np.linspace(0, 4, 16, dtype=np.float32).reshape(1, 16, 1, 1)
        nodes.append(node("Add", ["offset", "sum"], "sum3"))
        wanted = wanted + weights["offset"]
    if last == "average":
        nodes.append(node("GlobalAveragePool", ["sum"], "y"))
        wanted = wanted.mean((2, 3), keepdims=True)
    else:
        nodes.append(node("Conv", [nodes[-1].output[0], "eye"], "y"))
    return float_model(nodes, weights, image=(1, 16, 8, 8), outputs=["y"], inputs=names), wanted


@pytest.mark.parametrize("power_of_two", [False, True])
@pytest.mark.parametrize("last", ["two", "three", "constant on the left", "average"])
def test_br_132_a_sum_of_branches_is_rescaled_before_it_is_narrowed(last: str, power_of_two: bool) -> None:
    model, wanted = branches(last)
    inputs = {value.name: RAMP for value in model.graph.input}
    made = quantise(model, inputs, Options(power_of_two=power_of_two)).model
    found = {}
    for target in ("sim", "reference"):
        session = InferenceSession(made, env=vta.get_env(), target=target)
        [found[target]] = session.run(None, inputs)
    np.testing.assert_array_equal(found["sim"], found["reference"])
    assert session.built is not None
    np.testing.assert_array_equal(found["sim"], run(session.built.function, inputs))
    assert np.abs(found["sim"] - wanted).max() <= 0.25 * max(1.0, float(wanted.max()) / 8)
    assert found["sim"].min() >= 0
    if last not in ("average", "constant on the left"):
        assert (np.diff(found["sim"].reshape(-1)) >= 0).all()
    _requantised_in_32_bits(made)


def _requantised_in_32_bits(model: onnx.ModelProto) -> None:
    """Every int8 number that is made of sums comes of a rescaling, which rounds and limits 32 bits."""
    narrowed = [call for call in calls(integer_network(from_onnx(model))) if "int8" in str(call.type)]
    made = {call.callee for call in narrowed if call.callee is not Op.QUANTIZE}
    assert Op.RESCALE in made
    assert made <= {Op.RESCALE, Op.QNN_LOOKUP}  # a table is of int8 numbers
    assert all("int32" in str(call.args[0].type) for call in narrowed if call.callee is Op.RESCALE)


@pytest.mark.parametrize("way", ["constant on the left", "constant on the right", "gate"])
def test_br_136_products_with_a_constant_on_the_left_or_with_no_constant_are_quantised(way: str) -> None:
    rng = np.random.default_rng(136)
    weights = {"w": rng.standard_normal((16, 16, 3, 3)).astype(np.float32) / 8,
               "c": rng.uniform(0.5, 2, (1, 16, 1, 1)).astype(np.float32), "eye": EYE}  # fmt: skip
    nodes = [node("Conv", ["x", "w"], "a", pads=[1] * 4)]
    match way:
        case "constant on the left":
            nodes.append(node("Mul", ["c", "a"], "m"))
        case "constant on the right":
            nodes.append(node("Mul", ["a", "c"], "m"))
        case _:
            nodes += [node("GlobalAveragePool", ["a"], "mean"), node("Conv", ["mean", "eye"], "g"),
                      node("Sigmoid", ["g"], "gate"), node("Mul", ["a", "gate"], "m")]  # fmt: skip
    nodes.append(node("Conv", ["m", "eye"], "y"))
    model = float_model(nodes, weights, image=(1, 16, 8, 8), outputs=["y"], inputs=["x"])
    data = {"x": rng.standard_normal((1, 16, 8, 8)).astype(np.float32)}
    session = InferenceSession(quantise(model, data).model, env=vta.get_env())
    assert session.built is not None
    assert Op.MULTIPLY not in {call.callee for call in calls(session.built.function)}
    [found] = session.run(None, data)
    np.testing.assert_array_equal(found, run(session.built.function, data))
    real = np.asarray(run(from_onnx(model), data))
    assert np.abs(found - real).max() < 0.04 * np.abs(real).max()


@pytest.mark.parametrize("length", [2000, 2001, 2015])
@pytest.mark.parametrize("multiplier", [0.3, 0.11])
def test_br_141_host_and_accelerator_rescale_to_the_same_bits_in_tails_too(length: int, multiplier: float) -> None:
    values = np.resize(np.arange(-1000, 1001), length)  # 8 a + b
    cells = np.stack([values // 8, values % 8]).astype(np.int8).reshape(1, 2, 1, length)
    x = relay.var("x", shape=cells.shape)
    one, zero = relay.const(1.0), relay.const(0)
    data = relay.qnn.op.dequantize(relay.qnn.op.quantize(x, one, zero), one, zero)
    kernel = relay.qnn.op.dequantize(relay.const(np.array([8, 1], np.int8).reshape(1, 2, 1, 1)), one, zero)
    step = relay.const(np.float32(1 / multiplier))
    made = relay.qnn.op.dequantize(relay.qnn.op.quantize(relay.nn.conv2d(data, kernel), step, zero), step, zero)
    function = relay.Function([x], made)
    env, found = vta.get_env(), []
    for target, device in (("llvm", vta.nd.cpu(0)), (env.target, vta.nd.ext_dev(0))):
        module = graph_executor.GraphModule(relay.build(function, target)["default"](device))
        module.run(x=cells.astype(np.float32))
        found.append(module.get_output(0).numpy())
    np.testing.assert_array_equal(found[0], found[1])
    untied = np.abs(values * multiplier % 1 - 0.5) > 1e-6
    wanted = np.clip(np.rint(values * multiplier), -128, 127) / multiplier
    np.testing.assert_allclose(found[1].reshape(-1)[untied], wanted[untied], rtol=1e-5)
    assert np.abs(found[1].reshape(-1) - wanted).max() < 1.01 / multiplier
