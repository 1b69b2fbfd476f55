"""``vta fpga``: ``report``, and ``build`` (``fpga_build``).

Tests: tests/vta/cli/test_fpga_command.py.
"""

import os
from contextlib import ExitStack
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isa.config import VTAConfig
from vta.cli.commands.fpga_build import SeedOption, build, name_missing
from vta.cli.options import ConfigOption, chosen_config
from vta.cli.reporting import UserError, reported, require_place
from vta.cli.settings import DataWidthOption, HardwareOption, QueueDepthOption, SetOption, settings
from vta.cli.style import plain

if TYPE_CHECKING:
    from hw.fpga.history import Entry
    from hw.fpga.report import Mapped
    from isa.machine.hardware_config import HardwareConfig

__all__ = ["fpga_app"]

fpga_app = typer.Typer(help="The hardware on an FPGA, with open tools.", no_args_is_help=True)


class Ecp5(Enum):
    """Sizes of ECP5."""

    SMALL = "25k"
    MIDDLE = "45k"
    LARGE = "85k"


fpga_app.command()(build)


@fpga_app.command()
def report(
    config: ConfigOption = None,
    sets: SetOption = None,
    hardware_file: HardwareOption = None,
    data_width: DataWidthOption = None,
    queue_depth: QueueDepthOption = None,
    device: Annotated[Ecp5 | None, typer.Option("--device", help="Which ECP5 (default: 85k).")] = None,
    speed: Annotated[
        int | None, typer.Option("--speed", min=6, max=8, help="Its speed grade; 8 is the fastest (default: 6).")
    ] = None,
    mhz: Annotated[
        float | None, typer.Option("--mhz", min=1, max=1000, help="The clock to aim at (default: 100).")
    ] = None,
    seed: SeedOption = None,
    no_place: Annotated[
        bool, typer.Option("--no-place", help="Stop after the mapping: cells, levels, an estimate of what is late.")
    ] = False,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FOLDER", help="A folder for netlist, log and report of the tools.")
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option("--history", metavar="FILE", help="Add the report to this file, and show earlier ones like it."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only name what is missing, and look at the other options.")
    ] = False,
) -> None:
    """Place and route the accelerator for ECP5: LUT, FF, multipliers, RAM, Fmax, critical path by module.

    Every port is behind a flip-flop. It takes minutes.
    """
    with reported(), ExitStack() as stack:
        # Imported when it is asked for: Amaranth takes long to load.
        from hw.fpga.history import append_entry, history_lines, read_history
        from hw.fpga.report import map_accelerator, mapped_lines
        from hw.fpga.working_folder import tidy_ending, working_folder

        if no_place:
            _refuse_placement(device=device, speed=speed, mhz=mhz, seed=seed, history=history)
        _name_missing_tools(place=not no_place, dry_run=dry_run)
        changes = settings(sets, file=hardware_file, data_width=data_width, queue_depth=queue_depth)
        chosen = changes.applied(chosen_config(config, None))
        hardware = changes.built_hardware("an FPGA")
        _require_folder(keep)
        if history is not None:
            require_place(history)
        earlier = read_history(history) if history is not None else ()
        if dry_run:
            return
        stack.enter_context(tidy_ending())
        folder = keep or stack.enter_context(working_folder())
        mapped = map_accelerator(chosen, hardware, folder=folder)
        if no_place:
            plain(f"{chosen.bitstream} on ECP5, not placed")
            plain("\n".join(mapped_lines(mapped)))
            return
        entry = _placed(
            mapped, chosen, hardware, device=(device or Ecp5.LARGE).value, speed=speed or 6, mhz=mhz or 100.0,
            seed=1 if seed is None else seed,
        )  # fmt: skip
        if history is not None:
            append_entry(history, entry)
            plain("history:")
            plain("\n".join(history_lines([*filter(entry.is_like, earlier), entry])))


def _name_missing_tools(*, place: bool, dry_run: bool) -> None:
    """Do as ``name_missing`` for the tools that map the accelerator, and ``place`` it."""
    from hw.fpga.place import missing_tools
    from hw.verilog.yosys import missing_yosys

    missing = (*missing_yosys("fpga"), *missing_tools()) if place else missing_yosys("verilog")
    name_missing(missing, dry_run=dry_run)


def _placed(
    mapped: "Mapped",
    config: VTAConfig,
    hardware: "HardwareConfig",
    *,
    device: str,
    speed: int,
    mhz: float,
    seed: int,
) -> "Entry":
    """Place what was mapped, print the report, and return what a history keeps of it."""
    from hw.fpga.history import Entry
    from hw.fpga.report import mapped_lines, place_accelerator, placed_lines

    placed = place_accelerator(mapped, device=device, speed=speed, mhz=mhz, seed=seed)
    plain(f"{config.bitstream} on ECP5-{device}, speed grade {speed}")
    plain("\n".join([*placed_lines(placed), *mapped_lines(mapped)]))
    return Entry(
        when=datetime.now(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00"),
        name=config.bitstream,
        config=config.digest,
        hardware=hardware.digest,
        device=device,
        speed=speed,
        seed=seed,
        mhz=round(placed.mhz, 2),
        lut=placed.lut,
        ff=placed.ff,
        dsp=placed.dsp,
        bram=placed.bram,
    )


def _require_folder(keep: Path | None) -> None:
    """Raise ``UserError`` unless files can be written where they are kept, or in the working folder without one."""
    if keep is None:
        if not os.access(".", os.W_OK):
            raise UserError("the working folder cannot be written, permission denied; --keep names another one")
        return
    if not keep.is_dir():
        wrong = (
            "this is a file; name a folder"
            if keep.exists()
            else "there is no such folder; create it, or name another one"
        )
        raise UserError(f"{keep}: {wrong}")
    if not os.access(keep, os.W_OK):
        raise UserError(f"{keep}: cannot be written, permission denied; name another folder")


def _refuse_placement(**options: object) -> None:
    """Raise ``UserError`` for an option that only a placement has a use for."""
    for name, value in options.items():
        if value is not None:
            raise UserError(f"--{name}: nothing is placed with --no-place; leave it out")
