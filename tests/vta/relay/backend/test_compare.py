"""Comparisons: equal where they are, and a planted difference at its node, by its amount."""

from dataclasses import replace

import numpy as np

from isa.config import VTAConfig
from runtime.executor.network import DeviceStep, Network
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.relay.patterns import PATTERNS, made
from tests.support.relay.random_networks import random_network
from vta.environment import Environment, get_env
from vta.relay.backend.build import Built
from vta.relay.backend.compare import against_integers, against_onnxruntime
from vta.relay.backend.session import compile_model


def built(name: str) -> tuple[Built, object, np.ndarray]:
    [pattern] = [p for p in PATTERNS if p.__name__ == name]
    model, x = made(pattern, 8)
    return compile_model(model, get_env(), jobs=1), model, x


def run_of(network: Network) -> NetworkRunner:
    return NetworkRunner(network, Session(network.config, "sim"))


def test_every_node_of_a_device_is_compared() -> None:
    whole, _, x = built("residual_with_quantisation")
    nodes = against_integers(whole, run_of(whole.network), {"x": x})
    assert [node.operator for node in nodes] == ["qnn.quantize", "qnn.add"]
    assert not any(node.different for node in nodes)


def test_a_depthwise_layer_on_a_core_with_taps_has_the_bits_of_its_integers() -> None:
    """The kernel is packed when the network is compiled: a step takes the three places of a row."""
    [pattern] = [p for p in PATTERNS if p.__name__ == "strided_in_groups"]
    model, x = made(pattern, 8)
    steps = []
    for taps in (0, 3):
        whole = compile_model(model, Environment(replace(VTAConfig(), depthwise_taps=taps)), jobs=1)
        session = Session(whole.network.config, "sim")
        nodes = against_integers(whole, NetworkRunner(whole.network, session), {"x": x})
        assert not any(node.different for node in nodes)
        steps.append(session.device.stats.gemm_counter)
    assert steps[0] == 3 * steps[1] > 0


def test_a_network_on_an_alu_with_fused_steps_has_the_bits_of_its_integers() -> None:
    [pattern] = [p for p in PATTERNS if p.__name__ == "residual_with_quantisation"]
    model, x = made(pattern, 8)
    operations = []
    for fused in (0, 1):
        whole = compile_model(model, Environment(replace(VTAConfig(), fused_alu=fused)), jobs=1)
        session = Session(whole.network.config, "sim")
        nodes = against_integers(whole, NetworkRunner(whole.network, session), {"x": x})
        assert not any(node.different for node in nodes)
        operations.append(session.device.stats.alu_counter)
    assert operations[0] > operations[1] > 0


def test_a_wrong_constant_is_found_at_its_node() -> None:
    whole, _, x = built("relu_folded")
    broken = whole.network.constants.copy()
    [step] = [s for s in whole.network.steps if isinstance(s, DeviceStep)]
    broken[whole.network.tensor(step.tensors[1]).offset] ^= 64
    nodes = against_integers(whole, run_of(replace(whole.network, constants=broken)), {"x": x})
    assert [bool(node.different) for node in nodes] == [False, True]
    assert nodes[1].largest > 1


def test_numbers_are_within_one_of_onnxruntimes_node_by_node() -> None:
    whole, model, x = built("residual_with_quantisation")
    for fed in (True, False):
        nodes = against_onnxruntime(whole.function, model, {"x": x}, fed=fed)  # type: ignore[arg-type]
        assert len(nodes) >= 2
        assert max(node.largest for node in nodes) <= (1 if fed else 2)
        assert all(node.elements == x.size for node in nodes)


def test_operators_of_several_results_are_no_obstacle() -> None:
    whole, model, x = built("split_apart")
    nodes = against_onnxruntime(whole.function, model, {"x": x})  # type: ignore[arg-type]
    assert max(node.largest for node in nodes) <= 1


def test_br_120_intermediate_results_stay_as_they_were_when_they_were_made() -> None:
    model, x = random_network(5, steps=6)
    whole = compile_model(model, get_env(), jobs=1)
    runner = run_of(whole.network)
    kept: list[tuple[str, np.ndarray, np.ndarray]] = []
    outputs = runner.run({"x": x}, watch=lambda name, array: kept.append((name, array, array.copy())))
    assert len({name for name, _, _ in kept} - set(outputs)) >= 3
    runner.run({"x": -x})
    for name, array, then in kept:
        np.testing.assert_array_equal(array, then, err_msg=name)
    assert not any(node.different for node in against_integers(whole, runner, {"x": x}))
