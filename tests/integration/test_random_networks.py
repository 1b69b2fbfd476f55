"""Random quantised networks on the accelerator: the bits of the integer graph, and nodes within one of onnxruntime."""

import pytest

from bench.random_networks import differences
from tests.support.relay.random_networks import random_network


@pytest.mark.parametrize("seed", range(5))
def test_a_random_network_is_right_on_the_functional_simulator(seed: int) -> None:
    model, x = random_network(seed, steps=5)
    assert differences(model, x, "sim")[0] == []


def test_a_random_network_is_right_on_the_hardware() -> None:
    model, x = random_network(77, steps=4)
    assert differences(model, x, "tsim")[0] == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_networks_are_right(seed: int) -> None:
    model, x = random_network(seed, steps=10)
    assert differences(model, x, "sim")[0] == []
