"""What the accelerator takes of an FPGA, how fast its clock is, and what it waits for.

Needs the ``verilog`` and the ``fpga`` extra. Tests: ``tests/hw/fpga/test_place.py``.
"""

from collections.abc import Iterator
from pathlib import Path

from hw.fpga.harness import Harness
from hw.fpga.levels import levels_by_module
from hw.fpga.netlist import Netlist
from hw.fpga.place import Placed, place_ecp5, synthesise_ecp5
from hw.top import Top
from hw.verilog import component_to_verilog
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

__all__ = ["place_accelerator", "report_lines"]

_TOP = "harness"


def place_accelerator(
    vta: VTAConfig, hardware: HardwareConfig, *, device: str, speed: int, mhz: float, seed: int, folder: Path
) -> tuple[Placed, dict[str, int]]:
    """Place the accelerator with its AXI ports behind flip-flops; return what was found, and levels by module.

    Everything that the tools write is in ``folder`` afterwards.
    """
    verilog = component_to_verilog(Harness(Top(vta, hardware)), name=_TOP)
    file = synthesise_ecp5(verilog, _TOP, folder=folder)
    levels = {
        name.removeprefix("design."): most
        for name, most in levels_by_module(Netlist.from_json(file, _TOP)).items()
        if name.startswith("design.")
    }
    # The second router is several times as fast as the first, and its clock is about as high.
    options = ("--router", "router2")
    return place_ecp5(file, device=device, speed=speed, mhz=mhz, seed=seed, options=options), levels


def report_lines(placed: Placed, levels: dict[str, int]) -> Iterator[str]:
    """Yield the report: cells, clock, critical path by module, levels by module."""
    yield f"LUT {placed.lut:,}, FF {placed.ff:,}, multipliers {placed.dsp:,}, block RAMs {placed.bram:,}"
    yield f"Fmax {placed.mhz:.1f} MHz"
    yield "critical path:"
    yield from (f"  {delay:6.2f} ns  {name}" for name, delay in placed.critical)
    yield "levels of logic, most of a path that ends in the module:"
    yield from (f"  {most:3}  {name}" for name, most in sorted(levels.items(), key=lambda item: -item[1]))
