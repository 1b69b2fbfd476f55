"""The typed netlist that the simulator translates: Amaranth's cells after names, clocks and hierarchy are settled.

A net is an int: 0 and 1 are constants, any other is ``cell << 16 | bit``; a value is a tuple of nets, lowest bit first.
``hw.sim.netlist.frontend`` makes it from Amaranth's private netlist; nothing else touches that. Tests:
``tests/hw/sim/netlist``, ``tests/hw/sim/test_random_designs.py``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "Assignment",
    "AssignmentList",
    "AsyncReadPort",
    "Cell",
    "FlipFlop",
    "FormatPiece",
    "Matches",
    "MemoryCell",
    "NamedValue",
    "Netlist",
    "Operator",
    "Part",
    "Print",
    "PriorityMatch",
    "Property",
    "Run",
    "SyncReadPort",
    "Top",
    "Value",
    "WritePort",
    "runs",
    "segments",
]

_REPEATS = 2
"""This many copies of a bit, or more, count as sign extension."""

Value = tuple[int, ...]
"""Nets, lowest bit first."""


@dataclass(frozen=True, slots=True)
class Top:
    """Cell 0: ``inputs`` maps a port to (first bit, width) of this cell's bits, ``outputs`` to the value it shows."""

    inputs: dict[str, tuple[int, int]]
    outputs: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of Amaranth's netlist (``+``, ``s<``, ``m``, ...); operands have the widths that it documents."""

    kind: str
    inputs: tuple[Value, ...]
    width: int


@dataclass(frozen=True, slots=True)
class Part:
    """``width`` bits of ``value`` from bit ``offset * stride``; beyond its end come zeros, or sign bits."""

    value: Value
    signed: bool
    offset: Value
    width: int
    stride: int


@dataclass(frozen=True, slots=True)
class Matches:
    """One bit: ``value`` equals one of the patterns of 0, 1 and -, highest bit first."""

    value: Value
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PriorityMatch:
    """The lowest set bit of ``inputs``, or nothing without ``enable``."""

    enable: int
    inputs: Value


@dataclass(frozen=True, slots=True)
class Assignment:
    """``value`` goes to bits from ``start`` if ``cond``."""

    cond: int
    start: int
    value: Value


@dataclass(frozen=True, slots=True)
class AssignmentList:
    """``default``, changed by the assignments in order."""

    default: Value
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class FlipFlop:
    """Takes ``data`` at the clock's edge; holds ``init`` at power-on."""

    data: Value
    init: int


@dataclass(frozen=True, slots=True)
class MemoryCell:
    """``depth`` rows of ``width`` bits, starting as ``init``."""

    name: str
    width: int
    depth: int
    init: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WritePort:
    """Writes the bits of ``data`` whose bit of ``en`` is set; ports of a memory act in cell order."""

    memory: int
    data: Value
    addr: Value
    en: Value


@dataclass(frozen=True, slots=True)
class AsyncReadPort:
    """The row at ``addr``, zero beyond the end."""

    memory: int
    width: int
    addr: Value


@dataclass(frozen=True, slots=True)
class SyncReadPort:
    """Takes the row at ``addr`` at an edge if ``en``; sees this edge's writes of the ports ``transparent_for``."""

    memory: int
    width: int
    addr: Value
    en: int
    transparent_for: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FormatPiece:
    """A value within a message and Python's format for it."""

    value: Value
    spec: str
    signed: bool


@dataclass(frozen=True, slots=True)
class Print:
    """Writes the message at an edge with ``en``."""

    en: int
    message: tuple[str | FormatPiece, ...]
    where: str


@dataclass(frozen=True, slots=True)
class Property:
    """``assert``, ``assume`` or ``cover``: looked at before an edge with ``en``."""

    kind: str
    test: int
    en: int
    message: tuple[str | FormatPiece, ...] | None
    where: str


Cell = (
    Top
    | Operator
    | Part
    | Matches
    | PriorityMatch
    | AssignmentList
    | FlipFlop
    | MemoryCell
    | WritePort
    | AsyncReadPort
    | SyncReadPort
    | Print
    | Property
)


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A signal: its nets, and how to read them."""

    value: Value
    signed: bool


@dataclass(frozen=True, slots=True)
class Netlist:
    """A design with one clock. ``signals`` has every named signal by its dotted path below the top, ports by port name.

    ``where`` tells the source line of each cell, ``blocks`` the dotted path of its module.
    """

    cells: list[Cell]
    signals: dict[str, NamedValue]
    where: list[str]
    blocks: list[str]

    @property
    def top(self) -> Top:
        """Cell 0."""
        top = self.cells[0]
        assert isinstance(top, Top)
        return top


@dataclass(frozen=True, slots=True)
class Run:
    """Adjacent bits of a value: a constant (no ``cell``, ``start`` is the number) or one cell's bits from ``start``."""

    position: int
    width: int
    cell: int | None
    start: int


def runs(value: Value) -> Iterator[Run]:
    """Yield the longest runs of a value, lowest first."""
    position = 0
    while position < len(value):
        end, net = _run_end(value, position), value[position]
        if net <= 1:
            number = sum(bit << place for place, bit in enumerate(value[position:end]))
            yield Run(position, end - position, None, number)
        else:
            yield Run(position, end - position, net >> 16, net & 0xFFFF)
        position = end


def segments(value: Value) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the longest stretches that are one run, or one run with its top bit repeated."""
    start = 0
    while start < len(value):
        end = _run_end(value, start)
        last = end
        while value[start] > 1 and last < len(value) and value[last] == value[end - 1]:
            last += 1
        if last - end >= _REPEATS:
            end = last
        yield start, end
        start = end


def _run_end(value: Value, start: int) -> int:
    """Return where the run that begins at ``start`` ends: with the constants, or with the cell or its order."""
    end = start + 1
    if value[start] <= 1:
        while end < len(value) and value[end] <= 1:
            end += 1
    else:
        while end < len(value) and value[end] == value[end - 1] + 1 and value[end] & 0xFFFF:
            end += 1
    return end
