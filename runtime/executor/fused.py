"""Steps of the host that one function computes, in place of their operators.

A network is data, and its steps are operators by name. Whoever runs it may have a function that computes several of
them at once, and gives the same numbers. Tests: tests/runtime/executor/test_fused.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from runtime.executor.network import Home, HostStep, Network, NetworkError

__all__ = ["FusedSteps", "last_steps", "places"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class FusedSteps:
    """``run`` makes ``output``, that of the last of ``steps``, of ``inputs``; nothing else of theirs is made.

    ``steps`` are numbers in ascending order. The function runs where the last one stands.
    """

    steps: tuple[int, ...]
    inputs: tuple[str, ...]
    output: str
    run: Callable[[Sequence[Array]], npt.NDArray[np.generic]]

    def name(self, network: Network) -> str:
        """Return the names of the nodes that it does the work of."""
        return ", ".join(dict.fromkeys(network.steps[number].node for number in self.steps))


def last_steps(network: Network, fused: Sequence[FusedSteps]) -> dict[int, FusedSteps]:
    """Return what stands at which step, by number; raises ``NetworkError`` for what does not go with ``network``."""
    taken: set[int] = set()
    for each in fused:
        if taken & set(each.steps):
            raise NetworkError(f"step {network.steps[each.steps[-1]].node!r} is computed by two functions")
        taken |= set(each.steps)
        _check(network, each)
    return {each.steps[-1]: each for each in fused}


def _check(network: Network, each: FusedSteps) -> None:
    """Refuse a function whose steps make what others read, or touch the device's memory."""
    where = f"step {network.steps[each.steps[-1]].node!r}"
    within: set[str] = set()
    for number in each.steps:
        step = network.steps[number]
        if not isinstance(step, HostStep):
            raise NetworkError(f"{where}: step {step.node!r} is the accelerator's, and a function computes the host's")
        if any(network.tensor(name).home not in (Home.HOST, Home.HOST_CONSTANT) for name in step.inputs + step.outputs):
            raise NetworkError(f"{where}: step {step.node!r} has a tensor on the device, and a function has none")
        within |= set(step.outputs)
    within.discard(each.output)
    others = [step for number, step in enumerate(network.steps) if number not in each.steps]
    read = {name for step in others for name in network.reads(step)} | set(network.outputs)
    if lost := sorted(within & read):
        raise NetworkError(f"{where}: tensor {lost[0]!r} is read elsewhere, and a function makes {each.output!r} alone")


def places(network: Network, fused: Mapping[int, FusedSteps]) -> list[int]:
    """Return, for each step, the number of the step where it is computed."""
    moved = {number: last for last, each in fused.items() for number in each.steps}
    return [moved.get(number, number) for number, _ in enumerate(network.steps)]
