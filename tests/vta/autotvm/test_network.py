"""Tasks of a network: each different layer once, whatever stands for the network; records of them are applied."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import vta
from tests.support.relay.onnx_models import model_of, node
from tests.support.relay.quantised_layers import two_layers
from vta import autotvm, relay
from vta.autotvm import TuningError
from vta.autotvm.library import tiles_of
from vta.autotvm.task import extract_from_network, extract_from_program
from vta.relay.backend.layers import layers
from vta.relay.backend.session import InferenceSession
from vta.relay.front.build import Factory
from vta.topi import Conv2d


def model() -> onnx.ModelProto:
    ones = np.ones((16, 16, 1, 1), np.int8)
    scale, zero = np.float32(0.5), np.int8(0)
    nodes = [
        node("QuantizeLinear", ["x", "scale", "zero"], "q"),
        node("QLinearConv", ["q", "scale", "zero", "w", "scale", "zero", "scale", "zero"], "c"),
        node("DequantizeLinear", ["c", "scale", "zero"], "y"),
    ]
    return model_of(
        nodes, {"x": ("float32", (1, 16, 4, 4))}, weights={"w": ones, "scale": scale, "zero": zero}, opset=21
    )


def test_a_graph_a_module_and_what_was_compiled_of_it_have_the_same_tasks() -> None:
    function, target = two_layers(), vta.get_env().target
    built = relay.build(relay.IRModule.from_expr(function), target)
    assert built.built is not None
    for network in (function, relay.IRModule.from_expr(function), built, built.built):
        [task] = extract_from_network(network)
        assert isinstance(task.operator, Conv2d)
        assert task.name == "conv2d_packed.vta"


def test_a_model_its_path_and_its_session_have_the_same_tasks(tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "net.onnx")
    found = [
        extract_from_network(network)
        for network in (model(), str(tmp_path / "net.onnx"), tmp_path / "net.onnx", InferenceSession(model(), jobs=1))
    ]
    assert [[task.workload for task in tasks] for tasks in found] == [[found[0][0].workload]] * 4


def test_operators_of_relay_choose_layers() -> None:
    function = two_layers()
    assert len(extract_from_program(function, ops=["nn.conv2d"], target=vta.get_env().target)) == 1
    assert extract_from_program(function, ops=["nn.dense"]) == []
    with pytest.raises(TuningError) as caught:
        extract_from_program(function, ops=["nn.softmax"])
    assert str(caught.value) == (
        "extract_from_program: ops are of nn.conv2d, nn.conv2d_transpose, nn.dense, nn.max_pool2d, nn.avg_pool2d, add, "
        "multiply, not 'nn.softmax'"
    )


def test_a_network_that_is_compiled_takes_the_records_of_its_tasks(tmp_path: Path) -> None:
    function, env = two_layers(), vta.get_env()
    [task] = extract_from_network(function)
    index = next(task.config_space.valid_indices())  # the smallest tiles
    log = tmp_path / "log"
    record = autotvm.record.encode(task.input(task.config_space.get(index)), autotvm.MeasureResult((1e-3,)))
    log.write_text(record + "\n")
    plain = relay.build(function, env.target)
    with autotvm.apply_history_best(log):
        tuned = relay.build(function, env.target)
    assert instructions(plain) < instructions(tuned)
    with autotvm.apply_history_best(log):
        [layer] = layers(function, env)
        assert layer.operator.schedule(env).tiles == tiles_of(layer.operator, task.config_space.get(index), env)


def instructions(factory: Factory) -> int:
    return sum(len(launch) for step in factory.network.steps for launch in getattr(step, "launches", ()))


@pytest.mark.parametrize(("network", "name"), [(3, "int"), (None, "NoneType")])
def test_what_is_no_network_is_refused(network: object, name: str) -> None:
    with pytest.raises(TuningError) as caught:
        extract_from_network(network)
    assert str(caught.value) == (
        "a network whose layers are tuned is a graph of relay, an ONNX model, its path, or what was compiled of one "
        f"here, not {name}; of a file of a compiled network, take the model that it was made of"
    )
