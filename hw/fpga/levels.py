"""Levels of logic between registers, by module: what a clock has to wait for, before anything is placed.

Tests: ``tests/hw/fpga/test_levels.py``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hw.fpga.netlist import Arc, Net, Netlist, NetlistCell

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
    reached: dict[Net, tuple[int, Arc | None]] = {}
    for net, cell in netlist.ends:
        levels = _reach(netlist.arcs, net, reached)
        yield _path(netlist, net, cell, levels, reached)


def levels_by_module(netlist: Netlist, depth: int = 3) -> Mapping[str, int]:
    """Return the most levels of a path that ends in each module; a module's name has ``depth`` parts at most."""
    reached: dict[Net, tuple[int, Arc | None]] = {}
    most: dict[str, int] = {}
    for net, cell in netlist.ends:
        module = module_of(cell.name, depth)
        most[module] = max(most.get(module, 0), _reach(netlist.arcs, net, reached))
    return dict(sorted(most.items()))


def module_of(name: str, depth: int = 3) -> str:
    """Return the module of a flat name such as ``core.fetch.reader.x_left``, ``depth`` parts of it at most."""
    return ".".join(name.split(".")[:-1][:depth]) or "top"


def _reach(arcs: Mapping[Net, tuple[Arc, ...]], end: Net, reached: dict[Net, tuple[int, Arc | None]]) -> int:
    """Return the levels before ``end``; what is found is kept in ``reached``, with the arc that it comes through."""
    waiting = [end]
    while waiting:
        net = waiting[-1]
        missing = [arc.source for arc in arcs.get(net, ()) if arc.source not in reached]
        if net not in reached and missing:
            waiting += missing
            continue
        waiting.pop()
        if net not in reached:
            found = [(reached[arc.source][0] + arc.levels, arc) for arc in arcs.get(net, ())]
            reached[net] = max(found, key=lambda entry: entry[0], default=(0, None))
    return reached[end][0]


def _path(
    netlist: Netlist, end: Net, cell: NetlistCell, levels: int, reached: Mapping[Net, tuple[int, Arc | None]]
) -> LongPath:
    modules: list[str] = []
    net, arc = end, reached[end][1]
    while arc is not None:
        module = module_of(netlist.names.get(net, ""))
        if not modules or modules[-1] != module:
            modules.append(module)
        net = arc.source
        arc = reached[net][1]
    return LongPath(levels, netlist.names.get(net, "constant"), cell.name, tuple(reversed(modules)))
