"""Tokens that outlive a launch.

A launch starts with empty token queues. Where a program is cut in two, by a synchronise or because the instruction area
is full, tokens that the first part gave and did not take must be there for the second: what they stood for has
happened, so no-ops at its beginning give them again, as many as it takes before it gives its own.

Tests: ``tests/runtime/queue/test_command_queue.py``.
"""

from isa.instructions import Module
from runtime.queue.instruction_queue import Entry, Token, nop, token_steps

__all__ = ["TokenCarry"]


class TokenCarry:
    """The tokens on their way between the launches of one program."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[Module, Module], int] = {}

    @property
    def total(self) -> int:
        """All tokens that a launch may have to give again."""
        return sum(self._tokens.values())

    def complete(self, entries: list[Entry]) -> list[Entry]:
        """Return the launch with the no-ops that it needs in front, and count what it leaves behind.

        A launch that takes tokens which no part of the program gave stays as it is: it is a deadlock, and the device
        says so.
        """
        balance: dict[tuple[Module, Module], int] = {}
        lowest: dict[tuple[Module, Module], int] = {}
        for entry in entries:
            if entry.tokens is Token.NONE:
                continue
            for queue, step in token_steps(entry):
                balance[queue] = balance.get(queue, 0) + step
                lowest[queue] = min(lowest.get(queue, 0), balance[queue])
        front: list[Entry] = []
        for (source, target), carried in self._tokens.items():
            needed = min(carried, -lowest.get((source, target), 0))
            token = Token.PUSH_NEXT if source < target else Token.PUSH_PREV
            front += [Entry(nop(source), token) for _ in range(needed)]
        for queue, step in balance.items():
            self._tokens[queue] = max(0, self._tokens.get(queue, 0) + step)
        return front + entries
