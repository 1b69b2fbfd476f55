"""Functions in place of steps run where the last one stands, on what the steps read, and are refused elsewhere."""

import re

import numpy as np
import pytest

from isa.config import VTAConfig
from runtime.executor.fused import FusedSteps, last_steps, places
from runtime.executor.network import Home, HostStep, Network, NetworkError, Tensor
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.runtime.small_networks import small_network

STEPS = (("a", "abs", "x"), ("b", "exp", "x"), ("c", "sqrt", "a"), ("d", "exp", "b"), ("y", "negative", "c"))


def network(outputs: tuple[str, ...] = ("y", "d"), home: Home = Home.HOST) -> Network:
    names = ("x", *(name for name, _, _ in STEPS))
    return Network(
        config=VTAConfig(), inputs=("x",), outputs=outputs, arena_bytes=64, constants=np.zeros(0, np.uint8),
        tensors={name: Tensor(name, (4,), "float32", home if name == "c" else Home.HOST) for name in names},
        steps=tuple(HostStep(name, operator, (read,), (name,)) for name, operator, read in STEPS), host_constants={},
    )  # fmt: skip


def fused(*steps: int, inputs: tuple[str, ...] = ("x",), output: str = "y") -> FusedSteps:
    return FusedSteps(steps, inputs, output, lambda arrays: -np.sqrt(np.abs(arrays[0])))


def test_a_function_runs_at_its_last_step_and_inputs_live_until_then() -> None:
    x, whole, function = np.array([1, -4, 0, -1], np.float32), network(), fused(0, 2, 4)
    seen: list[str] = []
    runner = NetworkRunner(whole, Session(VTAConfig(), "reference"), fused=[function])
    made = runner.run({"x": x}, watch=lambda name, _: seen.append(name))
    np.testing.assert_array_equal(made["y"], [-1, -2, 0, -1])
    np.testing.assert_array_equal(made["d"], np.exp(np.exp(x)))
    assert seen == ["b", "d", "y"]
    assert [node.node for node in runner.nodes] == ["b", "d", "a, c, y"]
    assert places(whole, last_steps(whole, [function])) == [4, 1, 4, 3, 4]


@pytest.mark.parametrize(
    ("functions", "outputs", "home", "sentence"),
    [
        ([fused(0, 2, 4), fused(2, 4)], ("y", "d"), Home.HOST, "step 'y' is computed by two functions"),
        (
            [fused(0, 2, 4)],
            ("y", "d", "c"),
            Home.HOST,
            "step 'y': tensor 'c' is read elsewhere, and a function makes 'y' alone",
        ),
        (
            [fused(0, 4)],
            ("y", "d"),
            Home.HOST,
            "step 'y': tensor 'a' is read elsewhere, and a function makes 'y' alone",
        ),
        (
            [fused(0, 2, 4)],
            ("y", "d"),
            Home.ARENA,
            "step 'y': step 'c' has a tensor on the device, and a function has none",
        ),
    ],
)
def test_what_does_not_go_with_the_network_is_refused(
    functions: list[FusedSteps], outputs: tuple[str, ...], home: Home, sentence: str
) -> None:
    with pytest.raises(NetworkError, match=f"^{re.escape(sentence)}$"):
        last_steps(network(outputs, home), functions)


def test_steps_of_the_accelerator_are_its_own() -> None:
    sentence = "step 'conv': step 'conv' is the accelerator's, and a function computes the host's"
    with pytest.raises(NetworkError, match=f"^{re.escape(sentence)}$"):
        last_steps(small_network().network, [fused(0)])
