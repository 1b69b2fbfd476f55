"""From an Amaranth component to the simulator's netlist; refuses what a one-clock simulation cannot do.

The only module that touches Amaranth's private ``_ir`` and ``_nir``, so Amaranth's version is pinned exactly.
Tests: ``tests/hw/sim/netlist``, ``tests/hw/sim/translate``, ``tests/hw/sim/test_random_designs.py``.
"""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import amaranth
from amaranth.hdl import Fragment, ValueCastable, _ir, _nir
from amaranth.lib import wiring

from hw.sim.errors import SimulatorError
from hw.sim.netlist import cells as n
from runtime.native.garbage import no_collection

__all__ = ["PINNED_AMARANTH", "build_netlist", "component_ports"]

PINNED_AMARANTH = "0.5.10"
"""The version whose private netlist this module knows."""

_REFUSED = {
    "Instance": "an Instance has no meaning without its Verilog",
    "IOBuffer": "I/O buffers belong to a board; simulate the component below them",
    "Initial": "Initial() is for formal verification",
    "AnyValue": "AnyConst and AnySeq are for formal verification",
    "AsyncPrint": "a Print in the comb domain has no cycle; put it into a clock domain",
}


def component_ports(component: wiring.Component) -> dict[str, tuple[Any, Any]]:
    """Return name -> (value, direction) of a component's ports, named as in Amaranth's Verilog (``a__b``)."""
    ports = {}
    for path, member, value in component.signature.flatten(component):
        signal = value.as_value() if isinstance(value, ValueCastable) else value
        inward = member.flow == wiring.In
        direction = _ir.PortDirection.Input if inward else _ir.PortDirection.Output
        ports["__".join(map(str, path))] = (signal, direction)
    return ports


@no_collection()
def build_netlist(component: wiring.Component, *, name: str = "top") -> n.Netlist:
    """Elaborate ``component`` and return its netlist; raise SimulatorError for what cannot be simulated."""
    if amaranth.__version__ != PINNED_AMARANTH:
        raise SimulatorError(
            f"hw.sim reads the private netlist of Amaranth {PINNED_AMARANTH}, but {amaranth.__version__} is installed;"
            f" install amaranth=={PINNED_AMARANTH}"
        )
    with _deep_recursion():
        design = Fragment.get(component, None).prepare(ports=component_ports(component), hierarchy=(name,))
        raw = _nir.Netlist()
        _ir._emit_netlist(raw, design)
        raw.resolve_all_nets()
    _check_cells(raw)
    _check_clock(raw)
    cells = [_cell(raw, cell) for cell in raw.cells]
    blocks = [_module(raw, cell.module_idx) for cell in raw.cells]
    return n.Netlist(cells, _named_values(raw), [_where(cell) for cell in raw.cells], blocks)


@contextlib.contextmanager
def _deep_recursion() -> Iterator[None]:
    """Amaranth walks expressions by recursion; long chains need more than Python's default depth."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 100_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _where(cell: Any) -> str:
    """Return ``file:line`` of a cell."""
    return "unknown place" if cell.src_loc is None else f"{cell.src_loc[0]}:{cell.src_loc[1]}"


def _module(raw: Any, index: int) -> str:
    """Return the dotted path of a module."""
    return ".".join(raw.modules[index].name)


def _describe(raw: Any, cell: Any) -> str:
    """Name a cell for an error message."""
    return f"{type(cell).__name__} in {_module(raw, cell.module_idx)} ({_where(cell)})"


def _check_cells(raw: Any) -> None:
    """Refuse the kinds of cells that have no meaning here."""
    for cell in raw.cells:
        reason = _REFUSED.get(type(cell).__name__)
        if reason is not None:
            raise SimulatorError(f"{_describe(raw, cell)} cannot be simulated: {reason}")
        if isinstance(cell, _nir.FlipFlop) and cell.arst != 0:
            raise SimulatorError(
                f"{_describe(raw, cell)} has an asynchronous reset, which cannot be simulated;"
                " use a clock domain with a synchronous reset"
            )


def _check_clock(raw: Any) -> None:
    """Refuse a second clock, a second edge, a clock made by logic, and a clock that logic reads."""
    clocked = [cell for cell in raw.cells if hasattr(cell, "clk")]
    if not clocked:
        return
    first = clocked[0]
    for cell in clocked:
        if (cell.clk, cell.clk_edge) != (first.clk, first.clk_edge):
            raise SimulatorError(
                f"{_describe(raw, cell)} has another clock or edge than {_describe(raw, first)};"
                " only designs with one clock can be simulated"
            )
    if first.clk.is_const or first.clk.cell != 0:
        raise SimulatorError(f"{_describe(raw, first)} has a clock that is not an input port of the design")
    for cell in raw.cells:
        nets = {net for value in _data_values(cell) for net in value}
        if first.clk in nets:
            raise SimulatorError(f"{_describe(raw, cell)} uses the clock as data, which cannot be simulated")


def _data_values(cell: Any) -> Iterator[Any]:
    """Yield the values that a cell reads other than its clock."""
    match cell:
        case _nir.Top():
            yield from cell.ports_o.values()
        case _nir.FlipFlop():
            yield cell.data
        case _nir.SyncWritePort():
            yield from (cell.data, cell.addr, cell.en)
        case _nir.SyncReadPort():
            yield from (cell.addr, (cell.en,))
        case _nir.SyncPrint():
            yield from ((cell.en,), cell.format.input_nets())
        case _nir.SyncProperty():
            yield (cell.test, cell.en)
            if cell.format is not None:
                yield cell.format.input_nets()
        case _:
            yield cell.input_nets()


def _cell(raw: Any, cell: Any) -> n.Cell:
    """Return the typed twin of one of Amaranth's cells."""
    match cell:
        case _nir.Top():
            return n.Top(dict(cell.ports_i), {name: tuple(value) for name, value in cell.ports_o.items()})
        case _nir.Operator():
            return n.Operator(cell.operator, tuple(map(tuple, cell.inputs)), cell.width)
        case _nir.Part():
            return n.Part(tuple(cell.value), cell.value_signed, tuple(cell.offset), cell.width, cell.stride)
        case _nir.Matches():
            return _matches(tuple(cell.value), cell.patterns)
        case _nir.PriorityMatch():
            return n.PriorityMatch(cell.en, tuple(cell.inputs))
        case _nir.AssignmentList():
            assignments = tuple(n.Assignment(a.cond, a.start, tuple(a.value)) for a in cell.assignments)
            return n.AssignmentList(tuple(cell.default), assignments)
        case _nir.FlipFlop():
            return n.FlipFlop(tuple(cell.data), cell.init & ((1 << len(cell.data)) - 1))
        case _:
            return _storage_or_effect(raw, cell)


def _matches(value: n.Value, patterns: tuple[str, ...]) -> n.Matches:
    """Return the cell without the bits that no pattern looks at: an If's conditions are patterns of all of them."""
    digits = list(zip(*(pattern[::-1] for pattern in patterns), strict=True))
    kept = [place for place, column in enumerate(digits) if set(column) != {"-"}]
    left = tuple("".join(pattern[::-1][place] for place in reversed(kept)) for pattern in patterns)
    return n.Matches(tuple(value[place] for place in kept), left)


def _storage_or_effect(raw: Any, cell: Any) -> n.Cell:
    """Return the typed twin of a memory, one of its ports, a print or a property."""
    match cell:
        case _nir.Memory():
            path = ".".join((*raw.modules[cell.module_idx].name[1:], cell.name))
            init = tuple(int(row) & ((1 << cell.width) - 1) for row in cell.init)
            return n.MemoryCell(path, cell.width, cell.depth, init)
        case _nir.SyncWritePort():
            return n.WritePort(cell.memory, tuple(cell.data), tuple(cell.addr), tuple(cell.en))
        case _nir.AsyncReadPort():
            return n.AsyncReadPort(cell.memory, cell.width, tuple(cell.addr))
        case _nir.SyncReadPort():
            return n.SyncReadPort(cell.memory, cell.width, tuple(cell.addr), cell.en, cell.transparent_for)
        case _nir.SyncPrint():
            return n.Print(cell.en, _message(cell.format), _where(cell))
        case _nir.SyncProperty() | _nir.AsyncProperty():
            message = None if cell.format is None else _message(cell.format)
            return n.Property(cell.kind, cell.test, cell.en, message, _where(cell))
        case _:
            raise SimulatorError(f"{_describe(raw, cell)} is a kind of cell that the simulator does not know")


def _message(message: Any) -> tuple[str | n.FormatPiece, ...]:
    """Return the pieces of a message."""
    return tuple(
        piece if isinstance(piece, str) else n.FormatPiece(tuple(piece.value), piece.format_desc, piece.signed)
        for piece in message.chunks
    )


def _named_values(raw: Any) -> dict[str, n.NamedValue]:
    """Return every named signal by its dotted path below the top, and the ports by theirs."""
    named: dict[str, n.NamedValue] = {}
    for module in raw.modules:
        prefix = module.name[1:]
        for signal, name in module.signal_names.items():
            value = tuple(raw.signals[signal])
            named[".".join((*prefix, name))] = n.NamedValue(value, signal.shape().signed)
    signed = {name: item.signed for name, item in named.items()}
    for name, (start, width) in raw.top.ports_i.items():
        value = tuple(_nir.Net.from_cell(0, bit) for bit in range(start, start + width))
        named[name] = n.NamedValue(value, signed.get(name, False))
    for name, output in raw.top.ports_o.items():
        named[name] = n.NamedValue(tuple(output), signed.get(name, False))
    return named
