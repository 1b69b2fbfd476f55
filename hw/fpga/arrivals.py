"""When the inputs of registers are there: an estimate in nanoseconds, before anything is placed.

What a cell takes is that of ECP5's speed grade 6, in nextpnr. A wire is guessed from how many inputs it goes to, so a
path may take a fifth more or less once it is routed: the estimate is for finding what is late, and for comparing two
designs. Set-up times and skew are left out.

Tests: ``tests/hw/fpga/test_arrivals.py``.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import log2

from hw.fpga.levels import module_of
from hw.fpga.longest import Longest
from hw.fpga.netlist import Arc, Net, Netlist, NetlistCell

__all__ = ["Arrivals", "Late"]

_FROM_CLOCK: Mapping[str, float] = {"TRELLIS_FF": 0.52, "DP16KD": 5.7, "MULT18X18D": 1.5, "TRELLIS_DPR16X4": 1.0}
"""From the clock's edge to the output of a register, or to what a LUT-RAM reads at the place that was written."""

_THROUGH: Mapping[str, float] = {
    "LUT4": 0.24,
    "PFUMX": 0.2,
    "L6MUX21": 0.2,
    "CCU2C": 0.45,
    "MULT18X18D": 4.0,
    "TRELLIS_DPR16X4": 0.24,
}
_CARRY_TO_CARRY = 0.07

_BESIDE: frozenset[tuple[str, str]] = frozenset(
    {("PFUMX", "ALUT"), ("PFUMX", "BLUT"), ("L6MUX21", "D0"), ("L6MUX21", "D1")}
)
"""Inputs that are wired to the tables beside them."""

_WIRE = 0.8
_WIRE_PER_DOUBLING = 0.16


@dataclass(frozen=True, slots=True)
class Late:
    """The latest input of a register, of all of its bits: when it is there, and the nets on its way, first to last."""

    nanoseconds: float
    end: str
    """The register's name and the port, ``core.fetch.word.DI``."""
    bits: int
    """How many bits the register has at that port."""
    path: tuple[str, ...]

    @property
    def start(self) -> str:
        """The net at which the way begins."""
        return self.path[0]

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that the way goes through, in its order."""
        return tuple(name for name, _ in groupby(map(module_of, self.path)))


class Arrivals:
    """Estimates for the nets of a netlist that is mapped to ECP5."""

    def __init__(self, netlist: Netlist) -> None:
        self.netlist = netlist
        self._longest = Longest(netlist.arcs, start=self._from_clock, cost=self._through)

    def at_register(self, net: Net) -> float:
        """Return when ``net`` is at a register that takes it, in nanoseconds from the clock's edge."""
        return self._longest.to(net) + self._wire(net)

    def latest(self) -> tuple[Late, ...]:
        """Return every register's input port with its latest bit, the latest one first."""
        found: dict[str, tuple[float, Net, int]] = {}
        for cell, port, net in self._register_inputs():
            end = self._end(cell, port)
            at, bits = self.at_register(net), found[end][2] + 1 if end in found else 1
            most = max((at, net), found[end][:2]) if end in found else (at, net)
            found[end] = (*most, bits)
        ordered = sorted(found.items(), key=lambda entry: (-entry[1][0], entry[0]))
        return tuple(Late(at, end, bits, self._path(net)) for end, (at, net, bits) in ordered)

    def _path(self, net: Net) -> tuple[str, ...]:
        arcs = list(self._longest.way(net))
        return tuple(self._name(found) for found in [*(arc.source for arc in arcs[::-1]), net])

    def _name(self, net: Net) -> str:
        return self.netlist.names.get(net, "constant")

    def _end(self, cell: NetlistCell, port: str) -> str:
        """Return the name for one register of many bits: a flip-flop's is that of its output, without the bit."""
        outputs = cell.outputs.get("Q", ())
        name = self._name(outputs[0]) if cell.kind == "TRELLIS_FF" and outputs else cell.name
        return f"{name}.{port.rstrip('0123456789') or port}"

    def _register_inputs(self) -> list[tuple[NetlistCell, str, Net]]:
        return [
            (cell, port, net) for cell in self.netlist.cells for port in cell.clocked_ports for net in cell.inputs[port]
        ]

    def _from_clock(self, net: Net) -> float:
        cell = self._drivers.get(net)
        return _FROM_CLOCK.get(cell.kind, 0.0) if cell is not None else 0.0

    def _through(self, arc: Arc) -> float:
        if arc.entry == "CIN":
            return _CARRY_TO_CARRY if arc.exit == "COUT" else _THROUGH["CCU2C"]
        wire = 0.0 if (arc.cell.kind, arc.entry) in _BESIDE else self._wire(arc.source)
        return wire + _THROUGH[arc.cell.kind]

    def _wire(self, net: Net) -> float:
        return _WIRE + _WIRE_PER_DOUBLING * log2(self._fan_out[net])

    @cached_property
    def _fan_out(self) -> Mapping[Net, int]:
        return Counter(net for cell in self.netlist.cells for nets in cell.inputs.values() for net in nets)

    @cached_property
    def _drivers(self) -> Mapping[Net, NetlistCell]:
        """The cells whose outputs begin a way: registers, and LUT-RAMs."""
        return {
            net: cell
            for cell in self.netlist.cells
            if cell.is_register or cell.kind == "TRELLIS_DPR16X4"
            for nets in cell.outputs.values()
            for net in nets
        }
