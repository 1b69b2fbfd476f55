"""A component as RTLIL, the text that yosys reads: Amaranth's own emission, with what the Verilog needs put right.

Derives from ``amaranth.back.rtlil``, whose classes are private: Amaranth is pinned to one version (``pyproject.toml``).
Tests: ``tests/hw/verilog/test_netlist_text.py``.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import _ast, _ir, _nir
from amaranth.lib import wiring

from runtime.native.garbage import no_collection

__all__ = ["component_to_rtlil"]

_PORT = re.compile(r"^(  wire width \d+ (?:input|output|inout) )(\d+)", re.MULTILINE)
"""A port with its number. Amaranth counts from 0, which yosys does not know as a number: that port would come last."""

_INDEX = re.compile(r"\[(\d+)\]")
"""The index of an element, as Amaranth writes it into a name."""

_NOTHING = "{  }"
"""A value of no bits."""


def component_to_rtlil(component: wiring.Component, *, name: str) -> str:
    """Return the RTLIL of ``component`` as the module ``name``; port members are joined with an underscore.

    Differences from ``amaranth.back.rtlil.convert``:

    - no two underscores in a row in the names of ports and signals, unless another has the shorter name;
    - ports of every module: clk, rst, then by name, whatever uses them first; none is called after a number;
    - a memory whose contents are all zero at power-up has none (writing them takes longer than all the rest, and
      reading them takes every tool longer still); a memory with other contents keeps them;
    - no wires of no bits, which become ``[-1:0]`` in Verilog;
    - elements of arrays are called ``x.1``: ``x[1]``, of many bits, is the second bit of ``x`` to tools that take
      numbers apart into bits, some of which give up where both are there;
    - a selection with a variable index is as wide as what it selects from, and then cut;
    - a comparison with zero names the zero, and a switch without a default that becomes ``case`` has an empty one.
    """
    ports = {
        "_".join(map(str, path)): (value.as_value() if hasattr(value, "as_value") else value, _direction(member))
        for path, member, value in component.signature.flatten(component)
    }
    with no_collection():
        return _emit(_ir.build_netlist(_ir.Fragment.get(component, None), ports=ports, name=name))


def _emit(netlist: Any) -> str:
    empty = rtlil.EmptyModuleChecker(netlist)
    design = rtlil.Design(emit_src=False)
    for module in netlist.modules:
        _shorten_names(netlist, module)
        module.ports = dict(sorted(_named_ports(netlist, module), key=_port_order))
    for index, module in enumerate(netlist.modules):
        if empty.is_empty(index):
            continue
        builder = design.module(".".join(module.name))
        if index == 0:
            builder.attribute("top", 1)
        _Emitter(builder, netlist, module, _ast.SignalDict(), empty).emit()
        _complete(builder)
    return _PORT.sub(lambda found: f"{found[1]}{int(found[2]) + 1}", str(design))


def _direction(member: wiring.Member) -> Any:
    return _ir.PortDirection.Input if member.flow == wiring.In else _ir.PortDirection.Output


def _shorten_names(netlist: Any, module: Any) -> None:
    """Join the words of a name with one underscore, where Amaranth joined the members of an interface with two.

    Ports and signals of one name stay one, and a signal that a port of the shorter name shows becomes one with it.
    """
    names = {*module.ports, *module.signal_names.values()}
    taken = {name for name in names if "__" not in name}
    short = {}
    for name in sorted(names - taken):
        wanted = re.sub("__+", "_", name)
        short[name] = wanted if wanted not in taken else name
        taken.add(short[name])
    module.ports = {short.get(name, name): port for name, port in module.ports.items()}
    for signal, name in module.signal_names.items():
        shown = module.ports.get(re.sub("__+", "_", name))
        same = shown is not None and shown[0] == netlist.signals[signal]
        module.signal_names[signal] = re.sub("__+", "_", name) if same else short.get(name, name)


def _named_ports(netlist: Any, module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the ports of a module; one that has no name is called after the signal in it that it is a part of.

    Where modules of one design meet, Amaranth makes a port for each cell that drives a part of a signal.
    """
    taken = {*module.ports, *module.signal_names.values()}
    for name, port in module.ports.items():
        if name.startswith("port$"):
            wanted = _part_of_signal(netlist, module, port[0])
            name = next(free for free in _numbered(wanted) if free not in taken)
            taken.add(name)
        yield name, port


def _part_of_signal(netlist: Any, module: Any, value: Any) -> str:
    """Return ``grant_bit_3`` or ``data_bits_8_15`` for ``value``, if it is that part of a signal of ``module``."""
    for signal, name in module.signal_names.items():
        nets = netlist.signals[signal]
        if value and value[0] in nets:
            low = nets.index(value[0])
            if nets[low : low + len(value)] == value:
                return f"{name}_bit_{low}" if len(value) == 1 else f"{name}_bits_{low}_{low + len(value) - 1}"
    return "unnamed"


def _numbered(name: str) -> Iterator[str]:
    """Yield ``name`` and then, without end, ``name_1``, ``name_2`` and so on."""
    yield name
    yield from (f"{name}_{number}" for number in itertools.count(1))


def _port_order(port: tuple[str, Any]) -> tuple[int, str]:
    name, _ = port
    return {"clk": 0, "rst": 1}.get(name, 2), name


class _Emitter(rtlil.ModuleEmitter):
    """Amaranth's emission of one module, but for what ``component_to_rtlil`` lists."""

    def emit_memory(self, cell_idx: int, cell: Any) -> None:
        """Emit the contents at power-up, if there are any."""
        if any(cell.init):
            super().emit_memory(cell_idx, cell)

    def shorten_operand(self, value: Any, *, signed: bool) -> Any:
        """Drop bits that the extension of the rest gives; one remains."""
        return super().shorten_operand(value, signed=signed) or _nir.Value.zeros(1)


def _complete(builder: Any) -> None:
    """Put right what ``component_to_rtlil`` lists in an emitted module, but for memories and ports."""
    _drop_empty(builder)
    _name_elements(builder)
    for alias, _ in builder.connections:
        builder.contents[alias].attributes.pop("init", None)  # the register has it
    for item in list(builder.contents.values()):
        match item:
            case rtlil.Process():
                for switch in _switches(item):
                    if all(case.patterns for case in switch.cases) and not _is_condition(switch):
                        switch.default()
            case rtlil.Cell(kind="$shift"):
                _widen(builder, item)
            case _:
                pass
    builder.contents = dict(sorted(builder.contents.items(), key=_wires_first))


def _drop_empty(builder: Any) -> None:
    """Take out wires of no bits, what drives them, and ports of submodules that are such wires."""
    wires = {name for name, item in builder.contents.items() if isinstance(item, rtlil.Wire) and item.width == 0}
    builder.connections = [(left, right) for left, right in builder.connections if left not in wires]
    for name, item in list(builder.contents.items()):
        match item:
            case rtlil.Cell() if item.kind.startswith("\\"):
                item.ports = {port: value for port, value in item.ports.items() if value != _NOTHING}
            case rtlil.Cell() if not wires.isdisjoint(item.ports.values()):
                del builder.contents[name]
            case rtlil.Process() if item.contents[0].lhs == _NOTHING:
                del builder.contents[name]
    for name in wires:
        del builder.contents[name]


def _name_elements(builder: Any) -> None:
    """Name the wires that show an element of an array after it and its number; they are connected and nothing else."""
    taken = set(builder.contents)
    found: dict[str, str] = {}
    for name, item in builder.contents.items():
        if isinstance(item, rtlil.Wire) and _INDEX.search(name):
            found[name] = next(free for free in _numbered(_INDEX.sub(r".\1", name)) if free not in taken)
            taken.add(found[name])
    for name, wanted in found.items():
        builder.contents[name].name = wanted
    builder.contents = {found.get(name, name): item for name, item in builder.contents.items()}
    builder.connections = [(found.get(left, left), right) for left, right in builder.connections]


def _wires_first(entry: tuple[str, Any]) -> bool:
    """Order the contents of a module: RTLIL declares a wire before it uses it."""
    return not isinstance(entry[1], rtlil.Wire)


def _widen(builder: Any, shift: Any) -> None:
    """Make a selection as wide as what it selects from, and connect its low bits to what took it."""
    whole, cut = shift.parameters["A_WIDTH"], shift.parameters["Y_WIDTH"]
    if whole <= cut:
        return
    wide = builder.wire(whole)
    builder.connect(shift.ports["Y"], f"{wide.name} [{cut - 1}:0]")
    shift.ports["Y"] = wide.name
    shift.parameters["Y_WIDTH"] = whole


def _is_condition(switch: Any) -> bool:
    """Tell whether a switch becomes ``if``, which needs no ``else``."""
    return all(tuple(case.patterns) == ("1",) for case in switch.cases)


def _switches(block: Any) -> Iterator[Any]:
    """Yield every switch inside a process or a case."""
    for item in block.contents:
        if isinstance(item, rtlil.Switch):
            yield item
            for case in item.cases:
                yield from _switches(case)
