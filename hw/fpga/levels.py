"""Levels of logic between registers, by module: what a clock has to wait for, before anything is placed.

Tests: ``tests/hw/fpga/test_levels.py``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from hw.fpga.longest import Longest
from hw.fpga.netlist import Netlist

__all__ = ["LongPath", "levels_by_module", "long_paths", "module_of"]


@dataclass(frozen=True, slots=True)
class LongPath:
    """The longest path to one register: how many levels, from which register's net, through which modules."""

    levels: int
    start: str
    end: str
    modules: tuple[str, ...]


def long_paths(netlist: Netlist) -> Iterator[LongPath]:
    """Yield the longest path to every input of a register."""
    longest = _longest(netlist)
    for net, cell in netlist.ends:
        levels = int(longest.to(net))
        arcs = list(longest.way(net))
        start = arcs[-1].source if arcs else net
        modules = tuple(name for name, _ in groupby(module_of(netlist.names.get(arc.target, "")) for arc in arcs[::-1]))
        yield LongPath(levels, netlist.names.get(start, "constant"), cell.name, modules)


def levels_by_module(netlist: Netlist, depth: int = 3) -> Mapping[str, int]:
    """Return the most levels of a path that ends in each module; a module's name has ``depth`` parts at most."""
    longest = _longest(netlist)
    most: dict[str, int] = {}
    for net, cell in netlist.ends:
        module = module_of(cell.name, depth)
        most[module] = max(most.get(module, 0), int(longest.to(net)))
    return dict(sorted(most.items()))


def module_of(name: str, depth: int = 3) -> str:
    """Return the module of a flat name such as ``core.fetch.reader.x_left``, ``depth`` parts of it at most."""
    return ".".join(name.split(".")[:-1][:depth]) or "top"


def _longest(netlist: Netlist) -> Longest:
    return Longest(netlist.arcs, start=lambda _: 0, cost=lambda arc: arc.levels)
