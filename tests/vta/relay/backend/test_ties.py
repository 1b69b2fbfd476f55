"""The device and the host's code round ties to even as the integer graph does.

That the integer graph does as onnxruntime is in ``tests/vta/relay/integer/test_ties.py``.
"""

import numpy as np
import pytest

import vta
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.relay.onnx_models import model_of
from tests.support.relay.quantised_models import Quantised, expected
from tests.support.relay.ties import TIED, Tied, tied
from vta.relay.backend.build import build_network
from vta.relay.backend.host_functions import host_functions
from vta.relay.backend.kernel import Kernel
from vta.relay.interpreter import run
from vta.relay.onnx.importer import from_onnx

FEW = [p for p in TIED if p.__name__ in ("multiplied_and_added", "convolution_with_residual", "hard_swish")]


def require_bits(pattern: Tied, seed: int, device: str) -> None:
    model, inputs = tied(pattern, seed, at_zero=True)
    built = build_network(from_onnx(model), vta.get_env(), jobs=1)
    assert any(isinstance(item, Kernel) for item in built.items)
    runner = NetworkRunner(built.network, Session(built.network.config, device))
    [result] = runner.run(inputs).values()
    np.testing.assert_array_equal(result, np.asarray(run(built.function, dict(inputs))))


@pytest.mark.parametrize("pattern", FEW, ids=lambda pattern: pattern.__name__)
def test_the_simulator_has_the_bits_of_the_integer_graph(pattern: Tied) -> None:
    require_bits(pattern, 3, "sim")


@pytest.mark.long
@pytest.mark.parametrize("device", ["sim", "tsim"])
@pytest.mark.parametrize("pattern", TIED, ids=lambda pattern: pattern.__name__)
def test_every_operator_has_the_bits_of_the_integer_graph(pattern: Tied, device: str) -> None:
    for seed in (1, 2):
        require_bits(pattern, seed, device)


@pytest.mark.parametrize("device", ["sim", "tsim"])
def test_the_device_rounds_ties_between_scales_that_are_small_numbers_apart(device: str) -> None:
    """A requantisation by 1/6 in front of a layer, and by 3/20 behind an exact one."""
    q = Quantised()
    first = q.both(q.both("x", 1.0, 5), 6.0, -3)
    q.quantize(q.op("Relu", [q.both(first, 3.0, 2)]), 20.0, 7)
    model = model_of(q.nodes, {"x": ("float32", (1, 16, 4, 4))}, weights=q.weights)
    inputs = {"x": np.arange(-133, 123, dtype=np.float32).reshape(1, 16, 4, 4)}
    built = build_network(from_onnx(model), vta.get_env(), jobs=1)
    assert any(isinstance(item, Kernel) for item in built.items)
    runner = NetworkRunner(built.network, Session(built.network.config, device))
    [result] = runner.run(inputs).values()
    np.testing.assert_array_equal(result, np.asarray(run(built.function, dict(inputs))))
    np.testing.assert_array_equal(result, expected(model, inputs)[0])


@pytest.mark.parametrize("pattern", FEW, ids=lambda pattern: pattern.__name__)
def test_compiled_code_of_the_host_has_the_bits_of_numpy(pattern: Tied) -> None:
    model, inputs = tied(pattern, 2)
    built = build_network(from_onnx(model), vta.get_env(), jobs=1, accelerator=False)
    fused = host_functions(built.network)
    assert fused
    runner = NetworkRunner(built.network, Session(built.network.config, "sim"), fused=fused)
    [result] = runner.run(inputs).values()
    np.testing.assert_array_equal(result, np.asarray(run(built.function, dict(inputs))))
