"""Where registers, inputs, wires and memories lie in the simulator's memory.

Regions are separate pointers of the generated functions, each starting at a multiple of 64 bytes: ``io`` (inputs,
observed values, wires between functions), registers (twice: before and after an edge), memories. A value of up to 64
bits takes 1, 2, 4 or 8 bytes at its natural alignment, a wider one a multiple of 8; bits above it are zero.
Tests: ``tests/hw/sim/test_layout.py``.
"""

from dataclasses import dataclass, field

from hw.sim import netlist as n
from hw.sim.text import slot_bytes

__all__ = ["Layout", "MemoryPlace", "Region", "Slot", "lay_out"]

_LINE = 64
_SLACK = 16
"""Bytes behind the last slot of a region that a wide load may touch."""


@dataclass(frozen=True, slots=True)
class Slot:
    """``width`` bits from byte ``offset`` of a region."""

    offset: int
    width: int


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """A memory's rows, ``stride`` bytes apart; behind the last is one that stays zero."""

    offset: int
    stride: int
    depth: int
    width: int


@dataclass(slots=True)
class Region:
    """Slots are taken one after the other."""

    size: int = 0

    def take(self, width: int) -> Slot:
        """Return a new slot at its natural alignment (64 bytes for one that fills a cache line)."""
        count = slot_bytes(width)
        align = count if count <= 8 else _LINE if count >= _LINE else 8
        offset = -(-self.size // align) * align
        self.size = offset + count
        return Slot(offset, width)

    def total(self) -> int:
        """Return the bytes to allocate, slack included."""
        return -(-(self.size + _SLACK) // _LINE) * _LINE


@dataclass(slots=True)
class Layout:
    """``inputs`` by port name, ``registers`` (flip-flops and synchronous read ports) and ``memories`` by cell."""

    io: Region = field(default_factory=Region)
    state: Region = field(default_factory=Region)
    memory: Region = field(default_factory=Region)
    inputs: dict[str, Slot] = field(default_factory=dict)
    registers: dict[int, Slot] = field(default_factory=dict)
    memories: dict[int, MemoryPlace] = field(default_factory=dict)


def lay_out(netlist: n.Netlist) -> Layout:
    """Return the places of a design's inputs, registers and memories.

    Registers of one size are neighbours in the order of their cells, so that equal work on them can be vectorised.
    """
    layout = Layout()
    layout.io.take(64)  # the byte at 0 is never set: "no watch"
    for name, (_, width) in netlist.top.inputs.items():
        layout.inputs[name] = layout.io.take(width)
    sizes: dict[int, list[tuple[int, int]]] = {}
    for index, cell in enumerate(netlist.cells):
        match cell:
            case n.FlipFlop():
                sizes.setdefault(min(slot_bytes(len(cell.data)), 16), []).append((index, len(cell.data)))
            case n.SyncReadPort():
                sizes.setdefault(min(slot_bytes(cell.width), 16), []).append((index, cell.width))
            case n.Memory():
                layout.memories[index] = _place(layout.memory, cell)
    for size in sorted(sizes, reverse=True):
        for index, width in sizes[size]:
            layout.registers[index] = layout.state.take(width)
    return layout


def _place(region: Region, cell: n.Memory) -> MemoryPlace:
    """Return the place of a memory."""
    stride = slot_bytes(cell.width)
    offset = -(-region.size // _LINE) * _LINE
    region.size = offset + stride * (cell.depth + 1)
    return MemoryPlace(offset, stride, cell.depth, cell.width)
