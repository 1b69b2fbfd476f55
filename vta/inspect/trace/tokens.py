"""Which instruction gave which token to whom: the k-th pop of a queue takes what the k-th push gave.

Tests: tests/vta/inspect/trace/test_perfetto.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from isa.tokens import TokenQueue, pops, pushes
from runtime.observe.timeline import NEVER
from vta.inspect.trace.model import Recorded

__all__ = ["Flow", "token_flows"]


@dataclass(frozen=True, slots=True)
class Flow:
    """A token of ``queue`` that instruction ``giver`` pushed and ``taker`` popped (None: nobody did)."""

    queue: TokenQueue
    giver: int
    taker: int | None


def token_flows(launch: Recorded) -> Iterator[Flow]:
    """Yield every token that was pushed in a launch, by queue, in the order of the pushes."""
    timeline = launch.timeline
    givers: dict[TokenQueue, list[int]] = {queue: [] for queue in TokenQueue}
    takers: dict[TokenQueue, list[int]] = {queue: [] for queue in TokenQueue}
    for index, instruction in enumerate(launch.instructions):
        for queue in pushes(instruction.module, instruction.deps):
            if timeline.pushed(queue)[index] != NEVER:
                givers[queue].append(index)
        if timeline.begun[index] != NEVER:
            for queue in pops(instruction.module, instruction.deps):
                takers[queue].append(index)
    for queue in TokenQueue:
        taken = takers[queue]
        for number, giver in enumerate(givers[queue]):
            yield Flow(queue, giver, taken[number] if number < len(taken) else None)
