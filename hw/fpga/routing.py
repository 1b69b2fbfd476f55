"""Whether a router still gets anywhere, by what it prints.

nextpnr's first router leads one connection after another through the part, the most critical first, and tears up
what is in its way, which it then leads anew. Every thousand steps it says how many connections are left. A placement
that is too crowded for it is never said to be one: the steps go on without end.
Tests: ``tests/hw/fpga/test_routing.py``.
"""

import re

__all__ = ["ROUTER", "RoutingWatch"]

ROUTER = "router1"
"""The router of all designs.

nextpnr's second one takes as long for the accelerator, and knows of no connection that it is critical: it led such ones
around wires that others could have left to them, which took more than a quarter of block 8's clock, or did not end.
"""

_TABLE = re.compile(r"\s(\d+) \|[\d\s]+\|[\d\s]+\|\s*(\d+)\|")
"""A line of the router's: the steps, how many of them tore something up, the same for the last ones, what is left."""

_PATIENCE = 100
"""Lines, with which no fewer connections are left, that are waited for."""


class RoutingWatch:
    """Reads a log line by line, and says when routing has stopped to make progress."""

    def __init__(self) -> None:
        self._fewest: int | None = None
        self._fewest_steps = 0
        self._lines = 0

    def stuck(self, line: str) -> str | None:
        """Take in a line; return what is wrong, or None while all is well."""
        found = _TABLE.search(line)
        if found is None:
            return None
        steps, left = int(found[1]), int(found[2])
        if self._fewest is None or left < self._fewest:
            self._fewest, self._fewest_steps, self._lines = left, steps, 0
            return None
        self._lines += 1
        if self._lines < _PATIENCE:
            return None
        return (
            f"the router does not get on: {self._fewest:,} connections were left after {self._fewest_steps:,} steps, "
            f"{left:,} after {steps:,}; another seed places the cells anew, a larger device leaves more room"
        )
