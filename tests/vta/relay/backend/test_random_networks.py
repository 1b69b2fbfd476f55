"""Random quantised networks on engines: the bits of their integer graphs."""

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.relay.random_integers import random_network
from vta.relay.backend.build import build_network
from vta.relay.interpreter import run


def check(seed: int, device: str, *, nodes: int = 4) -> None:
    """Compare every result of a network on ``device`` with the interpreter's."""
    network = random_network(seed, nodes=nodes)
    built = build_network(network.model, vta.Environment(VTAConfig()), jobs=1)
    runner = NetworkRunner(built.network, Session(built.network.config, device))
    names = [param.name for param in network.model.params]
    found = list(runner.run(dict(zip(names, network.inputs(), strict=True))).values())
    expected = run(built.function, network.inputs())
    wanted = expected if isinstance(expected, tuple) else (expected,)
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one, other), seed


@pytest.mark.parametrize("seed", range(5))
def test_a_random_network_gives_the_bits_of_its_integer_graph(seed: int) -> None:
    check(seed, "sim")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5, 300))
def test_many_random_networks_give_the_bits_of_their_integer_graphs(seed: int) -> None:
    check(seed, "sim", nodes=3 + seed % 6)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_random_networks_give_the_same_bits_on_the_hardware(seed: int) -> None:
    check(seed, "tsim", nodes=3)
