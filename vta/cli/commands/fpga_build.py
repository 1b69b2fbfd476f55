"""``vta fpga build``.

Tests: tests/vta/cli/test_fpga_build_command.py.
"""

import json
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isa.config import VTAConfig
from isa.printable import short
from vta.cli.options import ConfigOption, chosen_config
from vta.cli.reporting import UserError, reported
from vta.cli.settings import DataWidthOption, HardwareOption, QueueDepthOption, SetOption, settings
from vta.cli.style import plain

if TYPE_CHECKING:
    from hw.fpga.boards.table import LiteXBoard, VivadoBoard
    from isa.machine.hardware_config import HardwareConfig

__all__ = ["build"]


def build(
    board: Annotated[str, typer.Option("--board", metavar="NAME", help="ecpix5, ulx3s, pynq-z1 or arty-z7.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write; made if it is not there.")
    ] = None,
    config: ConfigOption = None,
    sets: SetOption = None,
    hardware_file: HardwareOption = None,
    data_width: DataWidthOption = None,
    queue_depth: QueueDepthOption = None,
    mhz: Annotated[float | None, typer.Option("--mhz", min=20, max=200, help="Its clock.")] = None,
    ip: Annotated[str, typer.Option("--ip", help="The board's address, where it has Ethernet.")] = "192.168.1.50",
    seed: Annotated[int, typer.Option("--seed", help="Of the placement.")] = 1,
    project_only: Annotated[
        bool, typer.Option("--project-only", help="Write the project, and let nothing place and route it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only name what is missing.")] = False,
) -> None:
    """Make a bitstream of the accelerator with memory and a link for the host (ECP5), or the project for it (Zynq).

    ECP5: with open tools alone, a quarter of an hour or more. Zynq: files and scripts that Vivado runs.
    """
    with reported():
        # Imported when it is asked for: Amaranth takes long to load.
        from hw.fpga.boards.litex_project import missing_for_litex
        from hw.fpga.boards.table import LiteXBoard, board_called
        from hw.fpga.boards.vivado_project import missing_for_vivado
        from runtime.devices.hardware_settings import hardware_setup

        chosen = board_called(board)
        missing = missing_for_litex() if isinstance(chosen, LiteXBoard) else missing_for_vivado()
        if dry_run:
            plain("\n".join(f"missing: {tool}" for tool in missing) or "nothing is missing")
            return
        if missing:
            raise UserError(f"missing: {', '.join(missing)}")
        changes = settings(sets, file=hardware_file, data_width=data_width, queue_depth=queue_depth)
        vta, hardware = changes.applied(chosen_config(config, None)), hardware_setup(changes.hardware).hardware
        refusal = chosen.refusal(vta, hardware)
        if refusal:
            raise UserError(f"--board {board}: {refusal}")
        _require_address(ip)
        folder = _folder(output)
        clock = chosen.mhz if mhz is None else mhz
        if isinstance(chosen, LiteXBoard):
            _build_litex(chosen, vta, hardware, folder, mhz=clock, ip=ip, seed=seed, project_only=project_only)
        else:
            _write_vivado(chosen, vta, hardware, folder, mhz=clock)


def _require_address(ip: str) -> None:
    try:
        IPv4Address(ip)
    except ValueError:
        raise UserError(f"--ip: expected an address such as 192.168.1.50, not {short(ip)}") from None


def _folder(output: Path | None) -> Path:
    if output is None:
        raise UserError("--output: name a folder for the project")
    if output.exists() and not output.is_dir():
        raise UserError(f"{output}: this is a file; name a folder for the project")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{output}: the folder cannot be made ({error.strerror})") from None
    return output


def _build_litex(
    board: "LiteXBoard",
    vta: VTAConfig,
    hardware: "HardwareConfig",
    folder: Path,
    *,
    mhz: float,
    ip: str,
    seed: int,
    project_only: bool,
) -> None:
    from hw.fpga.boards.litex_project import clocks_of, make_bitstream, slow_clocks, write_litex_project

    write_litex_project(board, vta, hardware, folder=folder, mhz=mhz, ip=ip)
    plain(f"{folder}: {vta.bitstream} on {board.title}, {mhz:g} MHz, host over {' and '.join(board.links)}")
    if project_only:
        plain(f"the bitstream: cd {folder / 'gateware'} && sh build_top.sh")
        return
    placed = make_bitstream(board, folder, seed=seed)
    clocks = clocks_of(json.loads((folder / "gateware" / "report.json").read_text(encoding="utf-8")))
    plain(f"LUT {placed.lut:,}, FF {placed.ff:,}, multipliers {placed.dsp:,}, block RAMs {placed.bram:,}")
    for clock in clocks:
        plain(f"{clock.reached:7.1f} MHz of {clock.wanted:g}  {clock.name}")
    plain(f"bitstream: {folder / 'gateware' / 'top.bit'}")
    slow = slow_clocks(clocks)
    if slow:
        names = ", ".join(f"{clock.name} reaches {clock.reached:.1f} of {clock.wanted:g} MHz" for clock in slow)
        raise UserError(f"the bitstream is too slow for its clocks: {names}; try another --seed, or a lower --mhz")


def _write_vivado(
    board: "VivadoBoard", vta: VTAConfig, hardware: "HardwareConfig", folder: Path, *, mhz: float
) -> None:
    from hw.fpga.boards.vivado_project import write_vivado_project

    write_vivado_project(board, vta, hardware, folder=folder, mhz=mhz)
    plain(f"{folder}: {vta.bitstream} for {board.title}, {mhz:g} MHz")
    plain(f"the bitstream: cd {folder} && vivado -mode batch -source build.tcl")
