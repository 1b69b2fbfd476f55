"""Tokens: which queue an instruction pops and pushes, and the order in which the modules get through a stream.

Shared by the checker and by devices that report deadlocks. Tests: ``tests/isa/test_tokens.py``.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from isa.instructions import Deps, Instruction, Module

__all__ = ["Deadlock", "Head", "TokenOrder", "TokenQueue", "pops", "pushes", "token_order"]


class TokenQueue(Enum):
    """The four token queues, each from one module to a neighbour; the values are upstream's names."""

    LOAD_TO_COMPUTE = "l2g"
    COMPUTE_TO_LOAD = "g2l"
    COMPUTE_TO_STORE = "g2s"
    STORE_TO_COMPUTE = "s2g"

    @property
    def ends(self) -> tuple[Module, Module]:
        """The module that gives its tokens, and the one that takes them."""
        match self:
            case TokenQueue.LOAD_TO_COMPUTE:
                return Module.LOAD, Module.COMPUTE
            case TokenQueue.COMPUTE_TO_LOAD:
                return Module.COMPUTE, Module.LOAD
            case TokenQueue.COMPUTE_TO_STORE:
                return Module.COMPUTE, Module.STORE
            case TokenQueue.STORE_TO_COMPUTE:
                return Module.STORE, Module.COMPUTE
            case _:
                assert_never(self)


_FROM_PREV = {
    Module.COMPUTE: TokenQueue.LOAD_TO_COMPUTE,
    Module.STORE: TokenQueue.COMPUTE_TO_STORE,
}
_FROM_NEXT = {
    Module.LOAD: TokenQueue.COMPUTE_TO_LOAD,
    Module.COMPUTE: TokenQueue.STORE_TO_COMPUTE,
}
_TO_PREV = {
    Module.COMPUTE: TokenQueue.COMPUTE_TO_LOAD,
    Module.STORE: TokenQueue.STORE_TO_COMPUTE,
}
_TO_NEXT = {
    Module.LOAD: TokenQueue.LOAD_TO_COMPUTE,
    Module.COMPUTE: TokenQueue.COMPUTE_TO_STORE,
}


def pops(module: Module, deps: Deps) -> tuple[TokenQueue, ...]:
    """Return the queues that an instruction of ``module`` takes a token from before it starts (legal flags only)."""
    prev = (_FROM_PREV[module],) if deps.pop_prev else ()
    return (*prev, _FROM_NEXT[module]) if deps.pop_next else prev


def pushes(module: Module, deps: Deps) -> tuple[TokenQueue, ...]:
    """Return the queues that an instruction of ``module`` gives a token to after it completes (legal flags only)."""
    prev = (_TO_PREV[module],) if deps.push_prev else ()
    return (*prev, _TO_NEXT[module]) if deps.push_next else prev


@dataclass(frozen=True, slots=True)
class Head:
    """The next instruction of a module, and the empty queues that it waits for."""

    module: Module
    index: int
    awaits: tuple[TokenQueue, ...]


@dataclass(frozen=True, slots=True)
class Deadlock:
    """No module can go on: the head of every module that still has instructions."""

    heads: tuple[Head, ...]

    def __str__(self) -> str:
        """Return one sentence with every head and what it waits for."""
        waits = (
            f"{head.module.name} at instruction {head.index} waits for "
            f"{' and '.join(queue.value for queue in head.awaits)}"
            for head in self.heads
        )
        return f"deadlock: {'; '.join(waits)}"


@dataclass(frozen=True, slots=True)
class TokenOrder:
    """How a stream runs: ``executed`` indices in order, where it stopped (or not), tokens left in the queues."""

    executed: tuple[int, ...]
    deadlock: Deadlock | None
    leftover: Mapping[TokenQueue, int]


def token_order(instructions: Sequence[Instruction]) -> TokenOrder:
    """Step the ready module whose head has the smallest index until every module is through, or none is ready.

    Queues start empty and have no limit. For a valid program ``executed`` is program order.
    """
    steps = [(pops(i.module, i.deps), pushes(i.module, i.deps), i.module) for i in instructions]
    queues = {module: deque[int]() for module in Module}
    for index, (_, _, module) in enumerate(steps):
        queues[module].append(index)
    tokens = dict.fromkeys(TokenQueue, 0)
    executed: list[int] = []
    while heads := [queue[0] for queue in queues.values() if queue]:
        ready = [index for index in heads if all(tokens[queue] for queue in steps[index][0])]
        if not ready:
            return TokenOrder(tuple(executed), _deadlock(heads, steps, tokens), tokens)
        index = min(ready)
        taken, given, module = steps[index]
        for queue in taken:
            tokens[queue] -= 1
        for queue in given:
            tokens[queue] += 1
        queues[module].popleft()
        executed.append(index)
    return TokenOrder(tuple(executed), None, tokens)


def _deadlock(
    heads: Iterable[int],
    steps: Sequence[tuple[tuple[TokenQueue, ...], tuple[TokenQueue, ...], Module]],
    tokens: Mapping[TokenQueue, int],
) -> Deadlock:
    found = []
    for index in sorted(heads):
        taken, _, module = steps[index]
        found.append(Head(module, index, tuple(queue for queue in taken if not tokens[queue])))
    return Deadlock(tuple(found))
