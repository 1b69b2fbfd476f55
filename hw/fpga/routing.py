"""Whether a router still gets anywhere, by what it prints.

nextpnr's second router tears up and routes again what shares a wire, round by round, until nothing does. A placement
that is too crowded for it is never said to be one: the rounds go on without end.
Tests: ``tests/hw/fpga/test_routing.py``.
"""

import re

__all__ = ["RoutingWatch"]

_ROUND = re.compile(r"\biter=(\d+) .*?\boverused=(\d+)\b")

_PATIENCE, _PATIENCE_AT_THE_END = 30, 300
"""Rounds without a better one that are waited for. Those of the end take no time, and often go up and down."""

_FEW = 100
"""With this many shared wires, or fewer, it is the end."""


class RoutingWatch:
    """Reads a log line by line, and says when routing has stopped to make progress."""

    def __init__(self) -> None:
        self._best: int | None = None
        self._best_round = 0

    def stuck(self, line: str) -> str | None:
        """Take in a line; return what is wrong, or None while all is well."""
        found = _ROUND.search(line)
        if found is None:
            return None
        number, shared = int(found[1]), int(found[2])
        if self._best is None or shared < self._best:
            self._best, self._best_round = shared, number
            return None
        if number - self._best_round < (_PATIENCE if self._best > _FEW else _PATIENCE_AT_THE_END):
            return None
        return (
            f"the router does not get on: {self._best:,} wires were shared after {self._best_round} rounds, "
            f"{shared:,} after {number}; another seed places the cells anew, a larger device leaves more room"
        )
