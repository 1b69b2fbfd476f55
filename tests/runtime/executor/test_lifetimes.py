"""How long tensors of the host live, and what a run takes: measured beside what is said."""

import numpy as np

from isa.config import VTAConfig
from isa.limits import Budget
from runtime.executor.lifetimes import host_bytes, spend_on_running
from runtime.executor.network import Home, HostStep, Network, Tensor


def random_network(seed: int) -> Network:
    """Return a chain with branches, of arrays of many sizes."""
    rng = np.random.default_rng(seed)
    names = ["x"]
    steps = []
    for number in range(12):
        name = f"t{number}"
        sources = tuple(rng.choice(names, min(2, len(names)), replace=False).tolist())
        steps.append(HostStep(name, "make", sources, (name,)))
        names.append(name)
    tensors = {name: Tensor(name, (int(rng.integers(1, 50)),), "int8") for name in names}
    return Network(
        config=VTAConfig(), tensors=tensors, steps=tuple(steps), inputs=("x",), outputs=(names[-1], names[5]),
        arena_bytes=64, constants=np.zeros(32, np.uint8), host_constants={},
    )  # fmt: skip


def measured(network: Network) -> int:
    """Return the most bytes that a run has at one time, outputs and their copies included."""
    alive: dict[str, int] = {name: network.tensor(name).nbytes for name in network.inputs}
    most = sum(alive.values())
    for number, step in enumerate(network.steps):
        assert isinstance(step, HostStep)
        alive |= {name: network.tensor(name).nbytes for name in step.outputs}
        most = max(most, sum(alive.values()))
        later = {name for other in network.steps[number + 1 :] for name in other.inputs} | set(network.outputs)
        alive = {name: nbytes for name, nbytes in alive.items() if name in later}
    return max(most, sum(alive.values()) + sum(network.tensor(name).nbytes for name in network.outputs))


def test_the_most_that_lives_at_one_time_is_what_is_said() -> None:
    for seed in range(60):
        network = random_network(seed)
        assert host_bytes(network) >= measured(network)
        read = {name for step in network.steps if isinstance(step, HostStep) for name in step.inputs}
        if "x" in read and {step.outputs[0] for step in network.steps if isinstance(step, HostStep)} <= read | set(
            network.outputs
        ):
            assert host_bytes(network) == measured(network)


def test_the_arena_and_the_constants_count() -> None:
    network = random_network(1)
    budget = Budget(64 + 32 + host_bytes(network), "exactly")
    spend_on_running(network, budget)
    assert budget.left == 0
    assert network.tensor("x").home is Home.HOST
