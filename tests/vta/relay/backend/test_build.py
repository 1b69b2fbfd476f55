"""Quantised graphs on the accelerator: on every engine the same bits as the integer graph's interpreter."""

import numpy as np
import onnx
import pytest

import vta
from isa.config import VTAConfig
from runtime.executor.container import network_from_bytes, network_to_bytes
from runtime.executor.network import DeviceStep
from runtime.executor.operators.names import Op
from runtime.executor.operators.qnn.products import QnnConv2dAttrs, QnnDenseAttrs
from runtime.executor.operators.qnn.saturating import RescaleAttrs
from runtime.executor.operators.qnn.tables import QnnPool2dAttrs
from runtime.executor.operators.types import Array, TensorType
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.configs import CONFIGS
from tests.support.relay.patterns import PATTERNS, Pattern, made, max_pool
from tests.support.turns import in_turn
from vta.relay.backend.build import Built, build_network, host_reasons
from vta.relay.backend.kernel import Kernel
from vta.relay.backend.recognise import PlacementError
from vta.relay.backend.session import InferenceSession
from vta.relay.interpreter import run
from vta.relay.ir.nodes import Expr, Function, Var, constant
from vta.relay.onnx.importer import from_onnx
from vta.relay.ops.call import call

SMALL = CONFIGS["b1k8"]
PADDED = QnnConv2dAttrs(padding=(1, 1, 1, 1))


def ran(built: Built, x: Array, device: str) -> Array:
    network = network_from_bytes(network_to_bytes(built.network))  # through the file, as users do
    runner = NetworkRunner(network, Session(network.config, device))
    [result] = runner.run({"x": x}).values()
    return result


@pytest.mark.parametrize(("name", "config"), in_turn((p.__name__ for p in PATTERNS), ("default", "b1k8"), quick=1))
def test_a_pattern_gives_the_bits_of_its_integer_graph(name: str, config: str) -> None:
    [pattern] = [each for each in PATTERNS if each.__name__ == name]
    model, x = made(pattern, 6)
    built = build_network(from_onnx(model), vta.Environment(CONFIGS[config]), jobs=1)
    np.testing.assert_array_equal(ran(built, x, "sim"), run(built.function, [x]))


ON_TSIM = (
    "relu_folded",
    "residual_without_quantisation",
    "residual_with_quantisation",
    "uint8_with_zero_points",
    "transposed",
)


@pytest.mark.parametrize(
    "pattern", [p for p in PATTERNS if p.__name__ in ON_TSIM], ids=lambda pattern: pattern.__name__
)
def test_a_pattern_gives_the_same_bits_on_the_hardware(pattern: Pattern) -> None:
    model, x = made(pattern, 7)
    built = build_network(from_onnx(model), vta.get_env(), jobs=1)
    np.testing.assert_array_equal(ran(built, x, "tsim"), run(built.function, [x]))


@pytest.mark.parametrize(
    ("name", "kernels"),
    [
        ("gemm", ["Dense"]),
        ("max_pool", ["MaxPool2d"]),
        ("relu_after_its_own_quantisation", ["Conv2d"]),
        ("relu_folded", ["Conv2d"]),
        ("residual_with_quantisation", ["Conv2d"]),
        ("residual_without_quantisation", ["Conv2d"]),
        ("strided_in_groups", ["Conv2d"]),
        ("transposed", ["Conv2dTranspose"]),
        ("uint8_with_zero_points", ["Conv2d"]),
    ],
)
def test_what_follows_a_layer_is_part_of_its_kernel(name: str, kernels: list[str]) -> None:
    [pattern] = [p for p in PATTERNS if p.__name__ == name]
    model, _ = made(pattern, 1)
    built = build_network(from_onnx(model), vta.get_env(), jobs=1)
    found = [type(item.operator).__name__ for item in built.items if isinstance(item, Kernel)]
    assert found == kernels
    assert sum(isinstance(step, DeviceStep) for step in built.network.steps) == len(kernels)
    assert built.macs == sum(item.operator.macs for item in built.items if isinstance(item, Kernel))


def test_tables_of_channels_may_stand_behind_a_residual() -> None:
    rng = np.random.default_rng(8)
    data = Var("x", TensorType((1, 24, 5, 5), "int8"))
    sums = call(Op.QNN_CONV2D, (data, constant(rng.integers(-9, 9, (24, 24, 3, 3)).astype(np.int8))), PADDED)

    def rescaled(numbers: Expr, shift: int, *residual: Expr) -> Expr:
        bias, multiplier = (constant(rng.integers(1, most, (24, 1, 1)), "int32") for most in (500, 1000))
        attrs = RescaleAttrs(shift=shift, residual_multiplier=700 if residual else 0)
        return call(Op.RESCALE, (numbers, bias, constant(0, "int32"), multiplier, *residual), attrs)

    function = Function((data,), rescaled(rescaled(sums, 15, data), 9))
    built = build_network(function, vta.get_env(), jobs=1)
    assert [type(item.operator).__name__ for item in built.items if isinstance(item, Kernel)] == ["Conv2d"]
    x = rng.integers(-128, 128, (1, 24, 5, 5)).astype(np.int8)
    np.testing.assert_array_equal(ran(built, x, "sim"), run(function, [x]))


def test_sums_of_windows_and_dense_layers_with_zero_points_run_on_the_accelerator() -> None:
    rng = np.random.default_rng(9)
    data = Var("x", TensorType((1, 24, 6, 6), "int8"))
    small = (constant(0, "int32"), constant(0, "int32"), constant(300, "int32"))
    sums = call(Op.QNN_SUM_POOL2D, (data,), QnnPool2dAttrs((6, 6), zero_point=-128))
    average = call(Op.RESCALE, (sums, *small), RescaleAttrs(shift=14, zero_point=-30))
    row = call(Op.BATCH_FLATTEN, (average,))
    weights = constant(rng.integers(-99, 99, (40, 24)).astype(np.int8))
    product = call(Op.QNN_DENSE, (row, weights), QnnDenseAttrs(input_zero_point=-30))
    function = Function((data,), call(Op.RESCALE, (product, *small), RescaleAttrs(shift=15)))
    built = build_network(function, vta.get_env(), jobs=1)
    assert [type(item.operator).__name__ for item in built.items if isinstance(item, Kernel)] == ["SumPool2d", "Dense"]
    x = rng.integers(-128, 128, (1, 24, 6, 6)).astype(np.int8)
    np.testing.assert_array_equal(ran(built, x, "sim"), run(function, [x]))


def test_what_stays_with_the_host_says_why() -> None:
    [pattern] = [p for p in PATTERNS if p.__name__ == "sigmoid"]
    model, _ = made(pattern, 1)
    built = build_network(from_onnx(model), vta.get_env(), jobs=1)
    assert list(host_reasons(built).values()) == [
        "the accelerator has no operator for qnn.quantize",
        "as a polyline, this function takes 106 operations for a number, and 64 are the most",
    ]


def test_what_the_library_has_no_tiles_for_stays_with_the_host() -> None:
    [pattern] = [p for p in PATTERNS if p.__name__ == "relu_folded"]
    model, x = made(pattern, 1)
    tiny = VTAConfig(log_wgt_buff_size=11)
    built = build_network(from_onnx(model), vta.Environment(tiny), jobs=1)
    np.testing.assert_array_equal(ran(built, x, "sim"), run(built.function, [x]))


def test_a_configuration_without_int8_is_refused() -> None:
    [pattern] = [p for p in PATTERNS if p.__name__ == "relu_folded"]
    model, _ = made(pattern, 1)
    narrow = VTAConfig(log_inp_width=2, log_wgt_width=2, log_wgt_buff_size=16, log_inp_buff_size=13)
    with pytest.raises(
        PlacementError, match=r"^networks need operands of 8 bits, and .* has inputs of 4, weights of 4, "
    ):
        build_network(from_onnx(model), vta.Environment(narrow), jobs=1)


def test_one_value_may_be_several_outputs() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(made(max_pool, 3)[0])
    [last] = model.graph.output
    for name in ("again", "once more"):
        model.graph.node.add(op_type="Identity", input=[last.name], output=[name])
        model.graph.output.add(name=name, type=last.type)
    session = InferenceSession(model, env=vta.get_env(), target="sim")
    [given] = session.get_inputs()
    image = np.random.default_rng(1).standard_normal(given.shape).astype(np.float32)
    first, *others = session.run(None, {given.name: image})
    assert [each.name for each in session.get_outputs()] == [last.name, "again", "once more"]
    for other in others:
        np.testing.assert_array_equal(other, first)
    [found] = session.run(["again"], {given.name: image})
    np.testing.assert_array_equal(found, first)
