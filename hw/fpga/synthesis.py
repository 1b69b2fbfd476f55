"""From a component to a flat netlist: generic, to look for paths, or mapped to the cells of an FPGA.

Needs the ``verilog`` extra. Tests: ``tests/hw/fpga/test_netlist.py``.
"""

import tempfile
from pathlib import Path

from hw.fpga.netlist import Netlist
from hw.verilog.yosys import run_yosys

__all__ = ["ecp5_commands", "generic_netlist", "mapped_netlist"]

_WIRE_PICOSECONDS = 1000
"""What a wire between two look-up tables takes on a full ECP5, four times as long as a table."""


def ecp5_commands(top: str) -> tuple[str, ...]:
    """Return yosys' commands that map a design to the cells of ECP5.

    They are those of ``synth_ecp5``, which takes a wire for 300 ps when it chooses between tables in a row and beside
    each other, and lets paths have a level more than they need.
    """
    return (
        f"synth_ecp5 -top {top} -run begin:map_luts",
        f"abc9 -W {_WIRE_PICOSECONDS}",
        "clean",
        f"synth_ecp5 -top {top} -run map_cells:edif",
    )


def generic_netlist(verilog: str, top: str) -> Netlist:
    """Return the netlist of a module in yosys' own cells, memories whole: enough to see what depends on what."""
    return _netlist(verilog, top, f"hierarchy -check -top {top}", "proc", "flatten", "opt_clean", "memory_collect")


def mapped_netlist(verilog: str, top: str) -> Netlist:
    """Return the netlist of a module in the cells of ECP5."""
    return _netlist(verilog, top, *ecp5_commands(top))


def _netlist(verilog: str, top: str, *commands: str) -> Netlist:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "design.v").write_text(verilog, encoding="utf-8")
        run_yosys("read_verilog design.v", *commands, "write_json design.json", folder=folder)
        return Netlist.from_json(folder / "design.json", top)
