"""What the core takes of a Xilinx 7, by synthesis in yosys: look-up tables, flip-flops, multipliers, block RAMs.

Needs the ``verilog`` extra, and minutes. Tests: ``tests/hw/fpga/test_area.py``, ``tests/bench/test_area.py``.
"""

import re
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hw.fpga.place import FpgaError
from hw.verilog.yosys import run_yosys

__all__ = ["Area", "area_key", "areas_of", "cells_of", "core_area"]

_TOP = "vta_core"
_FLOW = f"synth_xilinx -family xc7 -flatten -top {_TOP}"


@dataclass(frozen=True, slots=True)
class Area:
    """Cells by what an FPGA has of them; a RAMB18 is half a RAMB36."""

    lut: int
    ff: int
    dsp: int
    bram: float


def area_key() -> str:
    """Return what an area depends on beside the Verilog: the version of yosys, and its commands."""
    try:
        return f"{version('pyosys')}\n{_FLOW}"
    except PackageNotFoundError:
        return f"none\n{_FLOW}"


def core_area(verilog: str) -> Area:
    """Return the area of the core, which ``hw.verilog.to_verilog`` wrote; ``VerilogError`` without yosys."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "core.v").write_text(verilog, encoding="utf-8")
        commands = ("read_verilog core.v", f"hierarchy -check -top {_TOP}", _FLOW, f"tee -o stat.txt stat -top {_TOP}")
        run_yosys(*commands, folder=folder)
        return areas_of((folder / "stat.txt").read_text(encoding="utf-8"))


def cells_of(statistics: str) -> dict[str, int]:
    """Return the cells by kind that ``stat`` printed last: name, then count; newer versions have it the other way."""
    heads = list(re.finditer(r"^ *(?:Number of cells: +\d+|\d+ cells)$", statistics, re.MULTILINE))
    if not heads:
        raise FpgaError("area: expected the numbers of cells that yosys' stat prints, found none")
    whole = statistics[heads[-1].end() :]
    old = re.findall(r"^ +(\$?\w+) +(\d+)$", whole, re.MULTILINE)
    new = re.findall(r"^ +(\d+) +(\$?\w+)$", whole, re.MULTILINE)
    return {name: int(count) for name, count in [*old, *((name, count) for count, name in new)]}


def areas_of(statistics: str) -> Area:
    """Return the area from the text that ``stat`` printed last: of the whole design where it is hierarchical."""
    cells = cells_of(statistics)

    def total(pattern: str) -> int:
        return sum(count for name, count in cells.items() if re.fullmatch(pattern, name))

    return Area(
        lut=total(r"LUT[1-6]"),
        ff=total(r"FD[RSCP]E(_1)?|TRELLIS_FF"),
        dsp=total(r"DSP48E1|MULT18X18D"),
        bram=total(r"RAMB36E1|DP16KD") + total(r"RAMB18E1") / 2,
    )
