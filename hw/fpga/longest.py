"""The longest way to a net through the logic in front of it, for any measure of an arc: levels, or nanoseconds.

Tests: ``tests/hw/fpga/test_arrivals.py``, ``tests/hw/fpga/test_levels.py``.
"""

from collections.abc import Callable, Iterator, Mapping

from hw.fpga.netlist import Arc, Net

__all__ = ["Longest"]


class Longest:
    """Finds longest ways, and keeps what it has found. The arcs must have no loop.

    Parameters
    ----------
    arcs
        What each net depends on (``Netlist.arcs``).
    start
        What a way that begins with a net has already.
    cost
        What an arc adds.
    """

    def __init__(
        self, arcs: Mapping[Net, tuple[Arc, ...]], *, start: Callable[[Net], float], cost: Callable[[Arc], float]
    ) -> None:
        self._arcs = arcs
        self._start = start
        self._cost = cost
        self._found: dict[Net, tuple[float, Arc | None]] = {}

    def to(self, end: Net) -> float:
        """Return the length of the longest way that ends with ``end``."""
        waiting = [end]
        while waiting:
            net = waiting[-1]
            arcs = self._arcs.get(net, ())
            missing = [arc.source for arc in arcs if arc.source not in self._found]
            if net not in self._found and missing:
                waiting += missing
                continue
            waiting.pop()
            if net not in self._found:
                ways: list[tuple[float, Arc | None]] = [
                    (self._found[arc.source][0] + self._cost(arc), arc) for arc in arcs
                ]
                self._found[net] = max([*ways, (self._start(net), None)], key=lambda way: way[0])
        return self._found[end][0]

    def way(self, end: Net) -> Iterator[Arc]:
        """Yield the arcs of the longest way that ends with ``end``, the last one first."""
        self.to(end)
        arc = self._found[end][1]
        while arc is not None:
            yield arc
            arc = self._found[arc.source][1]
