"""``vta fpga build``.

Tests: tests/vta/cli/test_fpga_build_command.py.
"""

import json
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from shlex import quote
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

__all__ = ["SeedOption", "build", "name_missing"]

SeedOption = Annotated[
    int | None, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Of the placement (default: 1).")
]


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
    ip: Annotated[
        str | None, typer.Option("--ip", help="The board's address, where it has Ethernet (default: 192.168.1.50).")
    ] = None,
    seed: SeedOption = None,
    project_only: Annotated[
        bool, typer.Option("--project-only", help="Write the project, and let nothing place and route it.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only name what is missing, and look at the other options.")
    ] = False,
) -> None:
    """Make a bitstream of the accelerator with memory and a link for the host (ECP5), or the project for it (Zynq).

    ECP5: with open tools alone, a quarter of an hour or more. Zynq: files and scripts that Vivado runs.
    """
    with reported():
        # Imported when it is asked for: Amaranth takes long to load.
        from hw.fpga.boards.litex_project import missing_for_litex
        from hw.fpga.boards.project_folder import prepare_folder, require_folder
        from hw.fpga.boards.table import LiteXBoard, board_called
        from hw.fpga.boards.vivado_project import missing_for_vivado
        from hw.fpga.working_folder import tidy_ending

        chosen = board_called(board)
        name_missing(missing_for_litex() if isinstance(chosen, LiteXBoard) else missing_for_vivado(), dry_run=dry_run)
        changes = settings(sets, file=hardware_file, data_width=data_width, queue_depth=queue_depth)
        vta, hardware = changes.applied(chosen_config(config, None)), changes.built_hardware("a board")
        refusal = chosen.refusal(vta, hardware)
        if refusal:
            raise UserError(f"--board {board}: {refusal}")
        address = _address(chosen, ip)
        if output is not None:
            require_folder(output, board)
        clock = chosen.mhz if mhz is None else mhz
        if seed is not None and not isinstance(chosen, LiteXBoard):
            raise UserError(f"--seed: Vivado places the project of {board}, and takes none; leave it out")
        if dry_run:
            return
        if output is None:
            raise UserError("--output: name a folder for the project")
        prepare_folder(output, board)
        with tidy_ending():
            if isinstance(chosen, LiteXBoard):
                _build_litex(
                    chosen, vta, hardware, output, mhz=clock, ip=address, seed=1 if seed is None else seed,
                    project_only=project_only,
                )  # fmt: skip
            else:
                _write_vivado(chosen, vta, hardware, output, mhz=clock)


def name_missing(missing: Sequence[str], *, dry_run: bool) -> None:
    """Print what has to be installed, or that nothing has; unless it is only asked for, what is missing is an error."""
    if dry_run:
        plain("\n".join(f"missing: {tool}" for tool in missing) or "nothing is missing")
    elif missing:
        raise UserError(f"missing: {', '.join(missing)}")


def _address(board: "LiteXBoard | VivadoBoard", ip: str | None) -> str:
    """Return the board's address in its network; ``UserError`` for one that a board cannot have."""
    if ip is None:
        return "192.168.1.50"
    if "etherbone" not in board.links:
        raise UserError(f"--ip: {board.name} has no Ethernet for the host; leave it out")
    try:
        found = IPv4Address(ip)
    except ValueError:
        raise UserError(f"--ip: expected an address such as 192.168.1.50, not {short(ip)}") from None
    if found in IPv4Network("0.0.0.0/8") or found.is_loopback or found.is_multicast or found.is_reserved:
        raise UserError(f"--ip: expected the address of a machine, such as 192.168.1.50, not {short(ip)}")
    return ip


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

    write_litex_project(board, vta, hardware, folder=folder, mhz=mhz, ip=ip, seed=seed)
    plain(f"{folder}: {vta.bitstream} on {board.title}, {mhz:g} MHz, host over {' and '.join(board.links)}")
    if project_only:
        plain(f"the bitstream: cd {quote(str(folder / 'gateware'))} && sh build_top.sh")
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
    plain(f"the bitstream: cd {quote(str(folder))} && vivado -mode batch -source build.tcl")
