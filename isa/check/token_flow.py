"""Tokens in program order: which instruction gives the token that another takes, and what has certainly completed when
an instruction starts.

A program is only valid if its k-th pop of a queue follows its k-th push in program order, so the flow is followed in
that order, up to the first pop that finds nothing. Tests: ``tests/isa/check/test_token_flow.py``.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from isa.instructions import Instruction, Module
from isa.tokens import TokenQueue, pops, pushes

__all__ = ["Clock", "Shortage", "TokenFlow", "token_flow"]

Clock = tuple[int, int, int, int]
"""By ``Module`` (place 0 is unused): the highest index of its instructions that is certainly complete, or -1."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Instruction ``index`` takes a token of ``queue`` that nothing before it gives."""

    index: int
    queue: TokenQueue


@dataclass(frozen=True, slots=True)
class TokenFlow:
    """All pushes and pops by queue, in program order: the k-th pop takes the k-th push.

    ``clocks`` has an entry for each instruction before the ``shortage``, or for all of them.
    """

    givers: Mapping[TokenQueue, Sequence[int]]
    takers: Mapping[TokenQueue, Sequence[int]]
    clocks: Sequence[Clock]
    shortage: Shortage | None

    @property
    def leftover(self) -> dict[TokenQueue, int]:
        """How many tokens of each queue are never taken."""
        return {queue: len(self.givers[queue]) - len(self.takers[queue]) for queue in TokenQueue}

    def taker(self, queue: TokenQueue, giver: int) -> int | None:
        """Return who takes the token that instruction ``giver`` gives, or None if nobody does."""
        place, takers = bisect_left(self.givers[queue], giver), self.takers[queue]
        return takers[place] if place < len(takers) else None

    def last_giver(self, queue: TokenQueue, taker: int) -> int | None:
        """Return who gave the token of the last pop at or before instruction ``taker``, or None if there is none."""
        place = bisect_right(self.takers[queue], taker) - 1
        return self.givers[queue][place] if 0 <= place < len(self.givers[queue]) else None

    def next_giver(self, queue: TokenQueue, index: int) -> int | None:
        """Return the first instruction from ``index`` on that gives a token to ``queue``."""
        place = bisect_left(self.givers[queue], index)
        return self.givers[queue][place] if place < len(self.givers[queue]) else None


def token_flow(instructions: Sequence[Instruction]) -> TokenFlow:
    """Follow the tokens of legal ``instructions``."""
    givers: dict[TokenQueue, list[int]] = {queue: [] for queue in TokenQueue}
    takers: dict[TokenQueue, list[int]] = {queue: [] for queue in TokenQueue}
    given: dict[TokenQueue, list[Clock]] = {queue: [] for queue in TokenQueue}
    now: dict[Module, Clock] = dict.fromkeys(Module, (-1, -1, -1, -1))
    clocks: list[Clock] = []
    shortage: Shortage | None = None
    for index, instruction in enumerate(instructions):
        module, deps = instruction.module, instruction.deps
        if deps.pop_prev or deps.pop_next:
            for queue in pops(module, deps):
                place = len(takers[queue])
                takers[queue].append(index)
                if shortage is None and place >= len(given[queue]):
                    shortage = Shortage(index, queue)
                if shortage is None:
                    now[module] = _later(now[module], given[queue][place])
        if shortage is None:
            clocks.append(now[module])
        if deps.push_prev or deps.push_next:
            sent = _done(now[module], module, index)
            for queue in pushes(module, deps):
                givers[queue].append(index)
                given[queue].append(sent)
    return TokenFlow(givers, takers, clocks, shortage)


def _later(a: Clock, b: Clock) -> Clock:
    return (-1, max(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3]))


def _done(clock: Clock, module: Module, index: int) -> Clock:
    """Return ``clock`` after an instruction of ``module``."""
    match module:
        case Module.LOAD:
            return (-1, index, clock[2], clock[3])
        case Module.COMPUTE:
            return (-1, clock[1], index, clock[3])
        case Module.STORE:
            return (-1, clock[1], clock[2], index)
        case _:
            assert_never(module)
