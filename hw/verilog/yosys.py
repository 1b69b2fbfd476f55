"""Yosys, from the Python package pyosys, in a process of its own.

Needs the ``verilog`` extra. Tests: ``tests/hw/verilog/test_export.py``.
"""

import os
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from isa.errors import VTAError

__all__ = ["VerilogError", "missing_yosys", "run_yosys"]

_YOSYS_PROGRAM = """
import sys
sys.path.append(sys.argv[1])
from pyosys import libyosys
design = libyosys.Design()
for command in sys.stdin.read().splitlines():
    libyosys.run_pass(command, design)
"""


class VerilogError(VTAError, RuntimeError):
    """The export cannot be done here."""


def missing_yosys(extra: str) -> tuple[str, ...]:
    """Return what has to be installed before ``run_yosys`` can run: nothing, or pyosys, which is in ``extra``."""
    return () if _home_of_pyosys() is not None else (f"pyosys: pip install 'vta-toolchain[{extra}]'",)


def run_yosys(*commands: str, folder: Path) -> str:
    """Run commands, which name files in ``folder``; return what yosys printed. ``VerilogError`` if it fails.

    A process of its own, because yosys writes to the standard output and ends its process on an error, and because the
    name of the folder may have letters that mean something to yosys. The process is isolated: it imports what Python's
    own installation and the folder of pyosys have.
    """
    home = _home_of_pyosys()
    if home is None:
        raise VerilogError(
            "Verilog export: pyosys is needed and was not found; install it with pip install 'vta-toolchain[verilog]'"
        )
    process = subprocess.run(
        [sys.executable, "-I", "-c", _YOSYS_PROGRAM, home],
        input="\n".join(commands),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    if process.returncode:
        last = (process.stdout + process.stderr).strip().splitlines()[-1:]
        raise VerilogError(f"Verilog export: yosys failed with code {process.returncode}: {' '.join(last)}")
    return process.stdout


def _home_of_pyosys() -> str | None:
    """Return the folder in which pyosys is installed; None if it is not.

    What lies in the working directory or beside the script is not installed, though Python would import it.
    """
    script = getattr(sys.modules["__main__"], "__file__", None)
    strange = {os.path.realpath(os.curdir)} | ({os.path.dirname(os.path.realpath(script))} if script else set())
    for entry in sys.path:
        if os.path.isabs(entry) and os.path.realpath(entry) not in strange and PathFinder.find_spec("pyosys", [entry]):
            return entry
    return None
