"""Where registers, inputs, wires and memories lie in the simulator's memory.

Regions are separate pointers of the generated functions, each starting at a multiple of 64 bytes: ``io`` (inputs,
observed values, wires between functions), registers (twice: before and after an edge), memories. A value of up to 64
bits takes 1, 2, 4 or 8 bytes at its natural alignment, a wider one a multiple of 8, aligned so that it lies in as few
cache lines as it can; bits above it are zero.

Registers that one partition writes and the same partitions read are a ``Group``: neighbours that are compared together
to see who must run. Within it, registers of one source line are neighbours, so that equal work on them (the lanes of a
vector) can be vectorised.

Tests: ``tests/hw/sim/translate``, ``tests/hw/sim/axi``, ``tests/hw/sim/test_random_designs.py``.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from hw.sim.netlist import cells as n
from hw.sim.netlist.plan import Plan
from hw.sim.translate.text import slot_bytes

__all__ = ["Group", "MemoryPlace", "Region", "Slot", "StateLayout", "lay_out"]

_K = TypeVar("_K", int, str)

_LINE = 64
_SLACK = 16
"""Bytes after the last slot of a region that a wide load may touch."""


@dataclass(frozen=True, slots=True)
class Slot:
    """``width`` bits from byte ``offset`` of a region."""

    offset: int
    width: int


@dataclass(frozen=True, slots=True)
class Group:
    """``size`` bytes from ``offset``, both multiples of 8; a change there concerns the partitions ``readers``."""

    offset: int
    size: int
    readers: frozenset[int]


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """A memory's rows, ``stride`` bytes apart; after the last is one that stays zero."""

    offset: int
    stride: int
    depth: int
    width: int


@dataclass(slots=True)
class Region:
    """Slots are taken one after the other."""

    size: int = 0

    def take(self, width: int) -> Slot:
        """Return a new slot at its natural alignment."""
        count = slot_bytes(width)
        self.align(_alignment(width))
        self.size += count
        return Slot(self.size - count, width)

    def align(self, count: int) -> int:
        """Begin the next slot at a multiple of ``count`` bytes; return where."""
        self.size = -(-self.size // count) * count
        return self.size

    def total(self) -> int:
        """Return the bytes to allocate, slack included."""
        return -(-(self.size + _SLACK) // _LINE) * _LINE


@dataclass(slots=True)
class StateLayout:
    """``inputs`` by port name, ``registers`` (flip-flops and synchronous read ports) and ``memories`` by cell.

    ``register_groups`` has the groups of each partition; ``input_groups`` those of the inputs that hooks drive.
    """

    io: Region = field(default_factory=Region)
    state: Region = field(default_factory=Region)
    memory: Region = field(default_factory=Region)
    inputs: dict[str, Slot] = field(default_factory=dict)
    registers: dict[int, Slot] = field(default_factory=dict)
    memories: dict[int, MemoryPlace] = field(default_factory=dict)
    register_groups: dict[int, list[Group]] = field(default_factory=dict)
    input_groups: list[Group] = field(default_factory=list)


def lay_out(netlist: n.Netlist, plan: Plan, driven: Collection[str]) -> StateLayout:
    """Return the places of a design's inputs, registers and memories; ``driven`` inputs change during a run."""
    layout = StateLayout()
    widths = {name: width for name, (_, width) in netlist.top.inputs.items()}
    layout.io.take(64)  # the byte at 0 is never set: "no watch"
    by_readers: dict[frozenset[int], list[str]] = {}
    for name in widths:
        if name in driven:
            by_readers.setdefault(frozenset(plan.input_readers[name]), []).append(name)
        else:
            layout.inputs[name] = layout.io.take(widths[name])
    for readers, names in by_readers.items():
        group = _group(layout.io, readers, ((name, widths[name]) for name in names), layout.inputs)
        layout.input_groups.append(group)
    _lay_out_registers(netlist, plan, layout)
    for index, cell in enumerate(netlist.cells):
        if isinstance(cell, n.MemoryCell):
            layout.memories[index] = _place(layout.memory, cell)
    return layout


def _lay_out_registers(netlist: n.Netlist, plan: Plan, layout: StateLayout) -> None:
    widths: dict[int, int] = {}
    groups: dict[tuple[int, frozenset[int]], list[int]] = {}
    for index, cell in enumerate(netlist.cells):
        match cell:
            case n.FlipFlop():
                widths[index] = len(cell.data)
            case n.SyncReadPort():
                widths[index] = cell.width
            case _:
                continue
        readers = frozenset(plan.register_readers.get(index, ()))
        groups.setdefault((plan.writer[index], readers), []).append(index)
    for (writer, readers), cells in sorted(groups.items(), key=lambda item: item[0][0]):
        cells.sort(key=lambda index: (-slot_bytes(widths[index]), netlist.where[index], index))
        group = _group(layout.state, readers, ((index, widths[index]) for index in cells), layout.registers)
        layout.register_groups.setdefault(writer, []).append(group)


def _group(region: Region, readers: frozenset[int], items: Iterable[tuple[_K, int]], slots: dict[_K, Slot]) -> Group:
    """Take slots for the items, note them in ``slots``, and return their group."""
    items = list(items)
    start = region.align(max([8, *(_alignment(width) for _, width in items)]))
    for key, width in items:
        slots[key] = region.take(width)
    return Group(start, region.align(8) - start, readers)


def _alignment(width: int) -> int:
    """Return what the address of a slot is a multiple of: at least 8 above 64 bits."""
    count = slot_bytes(width)
    return min(count & -count, _LINE)


def _place(region: Region, cell: n.MemoryCell) -> MemoryPlace:
    """Return the place of a memory."""
    stride = slot_bytes(cell.width)
    offset = region.align(_LINE)
    region.size = offset + stride * (cell.depth + 1)
    return MemoryPlace(offset, stride, cell.depth, cell.width)
