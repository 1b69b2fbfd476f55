"""What the accelerator takes of an FPGA, how fast its clock is, and what it waits for.

Needs the ``verilog`` and the ``fpga`` extra; ``map_accelerator`` the first one alone.
Tests: ``tests/hw/fpga/test_place.py``, ``tests/hw/fpga/test_arrivals.py``.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hw.fpga.arrivals import Arrivals, Late
from hw.fpga.harness import Harness
from hw.fpga.levels import levels_by_module
from hw.fpga.netlist import Netlist
from hw.fpga.place import Placed, place_ecp5, synthesise_ecp5
from hw.top import Top
from hw.verilog import component_to_verilog
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

__all__ = ["Mapped", "map_accelerator", "mapped_lines", "place_accelerator", "placed_lines"]

_TOP = "harness"
_INSIDE = "design."
"""Where the accelerator is in the harness."""

_SHOWN = 12
"""Late registers that a report shows."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """The accelerator in cells of the FPGA, before placement; ``late`` has its latest registers, the latest first."""

    netlist: Path
    cells: Mapping[str, int]
    levels: Mapping[str, int]
    late: tuple[Late, ...]


def map_accelerator(vta: VTAConfig, hardware: HardwareConfig, *, folder: Path) -> Mapped:
    """Map the accelerator with its AXI ports behind flip-flops; the netlist is in ``folder`` afterwards."""
    verilog = component_to_verilog(Harness(Top(vta, hardware)), name=_TOP)
    file = synthesise_ecp5(verilog, _TOP, folder=folder)
    netlist = Netlist.from_json(file, _TOP)
    levels = {
        name.removeprefix(_INSIDE): most for name, most in levels_by_module(netlist).items() if name.startswith(_INSIDE)
    }
    late = [entry for entry in Arrivals(netlist).latest() if entry.end.startswith(_INSIDE)]
    return Mapped(file, Counter(cell.kind for cell in netlist.cells), levels, tuple(late[:_SHOWN]))


def place_accelerator(mapped: Mapped, *, device: str, speed: int, mhz: float, seed: int) -> Placed:
    """Place and route what was mapped. Everything that the tools write is beside the netlist afterwards."""
    return place_ecp5(mapped.netlist, device=device, speed=speed, mhz=mhz, seed=seed)


def placed_lines(placed: Placed) -> Iterator[str]:
    """Yield what was placed: cells, clock, critical path by module."""
    yield f"LUT {placed.lut:,}, FF {placed.ff:,}, multipliers {placed.dsp:,}, block RAMs {placed.bram:,}"
    yield f"Fmax {placed.mhz:.1f} MHz"
    yield "critical path:"
    yield from (f"  {delay:6.2f} ns  {name}" for name, delay in placed.critical)


def mapped_lines(mapped: Mapped) -> Iterator[str]:
    """Yield what is known before placement: cells, levels by module, the latest registers."""
    kinds = {"LUT4": "LUT4", "carries": "CCU2C", "LUT-RAMs": "TRELLIS_DPR16X4", "FF": "TRELLIS_FF"}
    kinds |= {"multipliers": "MULT18X18D", "block RAMs": "DP16KD"}
    yield "mapped: " + ", ".join(f"{name} {mapped.cells.get(kind, 0):,}" for name, kind in kinds.items())
    yield "levels of logic, most of a path that ends in the module:"
    yield from (f"  {most:3}  {name}" for name, most in sorted(mapped.levels.items(), key=lambda item: -item[1]))
    yield "latest registers (bits), estimated before placement for speed grade 6, and where their paths begin:"
    for late in mapped.late:
        end, start = (name.removeprefix(_INSIDE) for name in (late.end, late.start))
        yield f"  {late.nanoseconds:6.2f} ns  {end} ({late.bits}), from {start}"
