"""A flat netlist that yosys wrote as JSON: cells, the nets between them, and what depends on what within a cycle.

Reads yosys' own cells (after ``proc`` and ``flatten``) and those of ECP5. Tests: ``tests/hw/fpga/test_netlist.py``.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

__all__ = ["Arc", "Net", "Netlist", "NetlistCell"]

Net = int
"""A wire of one bit; constants are none."""

_REGISTERS = re.compile(r"\$_?[A-Z]*d?s?(dff|dlatch|sdff|adff|aldff)\w*|TRELLIS_FF|DP16KD|PDPW16KD", re.IGNORECASE)
"""Cells whose outputs change with the clock alone."""

_UNCLOCKED = ("CLKA", "CLKB", "WCK", "CLK0", "RAD")
"""Clocks, and the address at which a LUT-RAM reads at any time."""

_MULTIPLIER = "MULT18X18D"


@dataclass(frozen=True, slots=True)
class NetlistCell:
    """A cell: the nets at its inputs and outputs, by port."""

    name: str
    kind: str
    inputs: Mapping[str, tuple[Net, ...]]
    outputs: Mapping[str, tuple[Net, ...]]
    parameters: Mapping[str, str]

    @property
    def is_register(self) -> bool:
        """Whether no output depends on an input of the same cycle."""
        return bool(_REGISTERS.fullmatch(self.kind)) or (
            self.kind == _MULTIPLIER and self.parameters.get("REG_OUTPUT_CLK", "NONE") != "NONE"
        )

    @property
    def clocked_ports(self) -> tuple[str, ...]:
        """The inputs that a register takes with the clock; those of a memory's write ports, too."""
        if not (self.is_register or self.kind.startswith(("$mem", "TRELLIS_DPR16X4"))):
            return ()
        return tuple(port for port in self.inputs if not (port.endswith("CLK") or port in _UNCLOCKED))


@dataclass(frozen=True, slots=True)
class Arc:
    """``target`` depends on ``source`` within a cycle, through ``cell``, which counts as ``levels``.

    ``entry`` and ``exit`` are the ports of the cell.
    """

    source: Net
    target: Net
    cell: NetlistCell
    levels: int
    entry: str
    exit: str


@dataclass(frozen=True)
class Netlist:
    """A module without instances of modules."""

    inputs: Mapping[str, tuple[Net, ...]]
    outputs: Mapping[str, tuple[Net, ...]]
    cells: tuple[NetlistCell, ...]
    names: Mapping[Net, str] = field(repr=False)
    """Net -> its shortest name, a path with dots."""

    @classmethod
    def from_json(cls, file: Path, top: str) -> "Netlist":
        """Read the module ``top`` from a file of yosys' ``write_json``."""
        module = json.loads(file.read_text(encoding="utf-8"))["modules"][top]
        ports = module["ports"].items()
        names: dict[Net, str] = {}
        for name, entry in module["netnames"].items():
            for net in _nets(entry["bits"]):
                if net not in names or (len(name), name) < (len(names[net]), names[net]):
                    names[net] = name
        return cls(
            inputs={name: _nets(port["bits"]) for name, port in ports if port["direction"] == "input"},
            outputs={name: _nets(port["bits"]) for name, port in ports if port["direction"] == "output"},
            cells=tuple(_cell(name, entry) for name, entry in module["cells"].items()),
            names=names,
        )

    @cached_property
    def arcs(self) -> Mapping[Net, tuple[Arc, ...]]:
        """What each net depends on within a cycle; nets of registers and inputs are not in it."""
        arcs: dict[Net, list[Arc]] = defaultdict(list)
        for cell in self.cells:
            for arc in _dependencies(cell):
                arcs[arc.target].append(arc)
        return {net: tuple(found) for net, found in arcs.items()}

    @property
    def ends(self) -> Iterator[tuple[Net, NetlistCell]]:
        """Yield every net that a register takes, with the register (a memory's write ports among them)."""
        for cell in self.cells:
            for port in cell.clocked_ports:
                yield from ((net, cell) for net in cell.inputs[port])

    def inputs_of(self, output: str) -> set[str]:
        """Return the input ports that an output port depends on within a cycle."""
        owner = {net: name for name, nets in self.inputs.items() for net in nets}
        seen: set[Net] = set()
        waiting = list(self.outputs[output])
        found = set()
        while waiting:
            net = waiting.pop()
            if net in seen:
                continue
            seen.add(net)
            if net in owner:
                found.add(owner[net])
            waiting += [arc.source for arc in self.arcs.get(net, ())]
        return found


def _nets(bits: list[Any]) -> tuple[Net, ...]:
    return tuple(bit for bit in bits if isinstance(bit, int))


def _cell(name: str, entry: Mapping[str, Any]) -> NetlistCell:
    directions = entry["port_directions"]
    sides: dict[str, dict[str, tuple[Net, ...]]] = {"input": {}, "output": {}}
    for port, bits in entry["connections"].items():
        kept = bits if entry["type"].startswith("$mem") else _nets(bits)
        sides[directions[port]][port] = tuple(kept)
    return NetlistCell(name, entry["type"], sides["input"], sides["output"], entry["parameters"])


def _dependencies(cell: NetlistCell) -> Iterator[Arc]:
    """Yield every dependency through a cell."""
    if cell.is_register or cell.kind == "$scopeinfo":
        return
    if cell.kind.startswith("$mem"):
        yield from _memory_reads(cell)
        return
    for target_port, targets in cell.outputs.items():
        for source_port, sources in cell.inputs.items():
            levels = _levels(cell.kind, source_port, target_port)
            if levels is not None:
                yield from (
                    Arc(source, target, cell, levels, source_port, target_port)
                    for source in sources
                    for target in targets
                )


def _memory_reads(cell: NetlistCell) -> Iterator[Arc]:
    """Yield those of the read ports without a clock."""
    width, address = (int(cell.parameters[name], 2) for name in ("WIDTH", "ABITS"))
    for port, clocked in enumerate(reversed(cell.parameters["RD_CLK_ENABLE"])):
        if clocked == "0":
            for target in cell.outputs["RD_DATA"][port * width : (port + 1) * width]:
                for source in cell.inputs["RD_ADDR"][port * address : (port + 1) * address]:
                    if isinstance(source, int) and isinstance(target, int):
                        yield Arc(source, target, cell, 1, "RD_ADDR", "RD_DATA")


def _levels(kind: str, source_port: str, target_port: str) -> int | None:
    """Return how many levels of logic a cell is from one port to another; None if there is no way."""
    match kind:
        case "PFUMX" | "L6MUX21":
            return 0  # beside the LUTs whose outputs they choose from
        case "CCU2C":
            return 0 if source_port == "CIN" and target_port == "COUT" else 1
        case "TRELLIS_DPR16X4":
            return 1 if source_port == "RAD" else None
        case _:
            return 1
