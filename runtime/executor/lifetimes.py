"""How long the host's tensors of a network live, and what a run of it takes of memory.

Tests: tests/runtime/executor/test_lifetimes.py.
"""

from collections.abc import Sequence

from isa.limits import Budget
from runtime.executor.network import Home, HostStep, Network

__all__ = ["host_bytes", "last_reads", "spend_on_running"]


def last_reads(network: Network, places: Sequence[int] = ()) -> list[tuple[str, ...]]:
    """Return, for each step, the host's tensors that no later step and no output reads.

    ``places`` say where each step is computed, if that is not where it stands.
    """
    last: dict[str, int] = {}
    for number, step in enumerate(network.steps):
        place = places[number] if places else number
        last |= {name: max(place, last.get(name, place)) for name in network.reads(step)}
        if isinstance(step, HostStep):
            last |= {name: number for name in step.outputs if name not in last}
    gone: list[list[str]] = [[] for _ in network.steps]
    for name, number in last.items():
        if name not in network.outputs and network.tensor(name).home is Home.HOST:
            gone[number].append(name)
    return [tuple(names) for names in gone]


def host_bytes(network: Network) -> int:
    """Return the most bytes that tensors of the host take at one time, constants aside; outputs are copied."""
    last, alive = last_reads(network), {name for name in network.inputs if network.tensor(name).home is Home.HOST}
    most = _bytes(network, alive)
    for step, gone in zip(network.steps, last, strict=True):
        if isinstance(step, HostStep):
            alive |= {name for name in step.outputs if network.tensor(name).home is Home.HOST}
            operands = {name for name in (*step.inputs, *step.outputs) if network.tensor(name).home is Home.ARENA}
            most = max(most, _bytes(network, alive | operands))
        alive -= set(gone)
    return max(most, _bytes(network, alive) + _bytes(network, set(network.outputs)))


def _bytes(network: Network, names: set[str]) -> int:
    return sum(network.tensor(name).nbytes for name in names)


def spend_on_running(network: Network, budget: Budget) -> None:
    """Spend what a run takes of memory; ``LimitError`` says for what there is not enough."""
    budget.spend(network.arena_bytes, "the arena of the network's activations")
    budget.spend(len(network.constants), "the constants on the device")
    budget.spend(host_bytes(network), "what the host's steps compute")
