"""From a configuration to a bitstream for a board with an ECP5: LiteX's project, then yosys, nextpnr and ecppack.

Needs the ``board`` extra. Tests: ``tests/hw/fpga/boards/test_litex_project.py``.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from hw.fpga.boards.table import LiteXBoard
from hw.fpga.place import FpgaError, Placed, installed_tool, missing_tools, route_ecp5, run_tool
from hw.fpga.synthesis import ecp5_commands
from hw.verilog import to_verilog
from hw.verilog.yosys import run_yosys
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

__all__ = ["Clock", "clocks_of", "make_bitstream", "missing_for_litex", "slow_clocks", "write_litex_project"]

_MODULES = ("litex", "litex_boards", "litedram", "liteeth", "migen")

_ECPPACK = ("yowasp-ecppack", "ecppack")

_UNFINISHED = "unfinished.json"
"""What ``board.json`` is called until the project is whole."""

_BAUD = 1_000_000

_UDP_PORT = 1234

_SECONDS = 300
"""LiteX takes some seconds."""


def missing_for_litex() -> tuple[str, ...]:
    """Return what has to be installed before a project and its bitstream can be made here."""
    found = [f"{name}: pip install 'vta-toolchain[board]'" for name in _MODULES if find_spec(name) is None]
    if find_spec("pyosys") is None:
        found.append("pyosys: pip install 'vta-toolchain[board]'")
    if installed_tool(*_ECPPACK) is None:
        found.append("ecppack: pip install 'vta-toolchain[board]'")
    return (*found, *missing_tools())


def write_litex_project(
    board: LiteXBoard | str,
    vta: VTAConfig,
    hardware: HardwareConfig,
    *,
    folder: Path,
    mhz: float,
    ip: str,
    seed: int = 1,
) -> None:
    """Write the whole project into an existing folder; ``board`` may be ``simulated``, the system with models around.

    Afterwards there are ``board.json`` (what a driver must know), ``csr.json`` (LiteX's map of the bus), and
    ``gateware`` with the Verilog, the pins, and scripts for yosys, nextpnr and ecppack. ``board.json`` comes last: a
    folder that has it is whole.
    """
    name, links = (board, ("etherbone", "uart")) if isinstance(board, str) else (board.name, board.links)
    (folder / "vta.v").write_text(to_verilog(vta, hardware, shell="axi"), encoding="utf-8")
    job = {
        "board": name,
        "mhz": mhz,
        "baud": _BAUD,
        "ip": ip,
        "seed": seed,
        "udp_port": _UDP_PORT,
        "links": links,
        "vta": vta.to_dict(),
        "hardware": asdict(hardware),
    }
    facts = folder / _UNFINISHED
    facts.write_text(json.dumps(job), encoding="utf-8")
    script = Path(__file__).with_name("litex_soc.py")
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(script), facts.name],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise FpgaError(f"LiteX did not write the project within {_SECONDS} s") from None
    (folder / "litex.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        last = (done.stdout + done.stderr).strip().splitlines()[-1:]
        raise FpgaError(f"LiteX failed with code {done.returncode}: {' '.join(last)} (all of it: litex.log)")
    _tidy(folder)
    facts.replace(folder / "board.json")


def _tidy(folder: Path) -> None:
    """Let the scripts of the project name its files by their place beside them, so that the folder may move.

    And map the design as ``ecp5_commands`` does.
    """
    gateware = folder / "gateware"
    for script in gateware.glob("*.ys"):
        text = script.read_text(encoding="utf-8").replace(f"{gateware.resolve()}/", "")
        text = re.sub(r"^synth_ecp5 .*$", "\n".join(ecp5_commands(script.stem)), text, flags=re.MULTILINE)
        script.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def make_bitstream(board: LiteXBoard, folder: Path, *, seed: int) -> Placed:
    """Synthesise, place, route and pack the project in ``folder``: ``gateware/top.bit`` and ``gateware/top.svf``.

    The tools' logs are beside them. Raises ``FpgaError`` or ``VerilogError`` if a tool fails; a clock that is too slow
    is not an error here (``slow_clocks``).
    """
    gateware = folder / "gateware"
    packer = installed_tool(*_ECPPACK)
    if packer is None:
        raise FpgaError("the bitstream needs ecppack: pip install 'vta-toolchain[board]'")
    script = [line for line in (gateware / "top.ys").read_text(encoding="utf-8").splitlines() if line.strip()]
    (gateware / "yosys.log").write_text(run_yosys(*script, folder=gateware), encoding="utf-8")
    options = ("--lpf", "top.lpf", "--textcfg", "top.config", "--seed", str(seed))
    placed = route_ecp5(gateware / "top.json", [*board.nextpnr, *options])
    pack = [packer, "--compress", "top.config", "--svf", "unfinished.svf", "--bit", "unfinished.bit"]
    run_tool(pack, what="the bitstream: ecppack", log=gateware / "ecppack.log")
    for kind in ("svf", "bit"):  # there are none of these names before they are whole
        (gateware / f"unfinished.{kind}").replace(gateware / f"top.{kind}")
    return placed


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock of a design: what was reached and what is asked for, in MHz."""

    name: str
    reached: float
    wanted: float


def clocks_of(report: Mapping[str, object]) -> list[Clock]:
    """Return the clocks in nextpnr's report, by name."""
    entries = report["fmax"]
    assert isinstance(entries, dict)
    return sorted(
        (Clock(name, entry["achieved"], entry["constraint"]) for name, entry in entries.items()),
        key=lambda clock: clock.name,
    )


def slow_clocks(clocks: Sequence[Clock]) -> list[Clock]:
    """Return the clocks that do not reach what is asked for."""
    return [clock for clock in clocks if clock.reached < clock.wanted]
