"""``vta fpga``: ``report``, and ``build`` (``fpga_build``).

Tests: tests/vta/cli/test_fpga_command.py.
"""

import os
from contextlib import ExitStack
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from vta.cli.commands.fpga_build import SeedOption, build, name_missing
from vta.cli.options import ConfigOption, chosen_config
from vta.cli.reporting import UserError, reported, require_place
from vta.cli.settings import DataWidthOption, HardwareOption, QueueDepthOption, SetOption, settings
from vta.cli.style import plain

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
        from hw.fpga.history import Entry, append_entry, history_lines, read_history
        from hw.fpga.place import missing_tools
        from hw.fpga.report import map_accelerator, mapped_lines, place_accelerator, placed_lines
        from hw.fpga.working_folder import tidy_ending, working_folder
        from hw.verilog.yosys import missing_yosys

        if no_place:
            _refuse_placement(device=device, speed=speed, mhz=mhz, seed=seed, history=history)
            name_missing(missing_yosys("verilog"), dry_run=dry_run)
        else:
            name_missing((*missing_yosys("fpga"), *missing_tools()), dry_run=dry_run)
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
        part, grade, start = (device or Ecp5.LARGE).value, speed or 6, 1 if seed is None else seed
        placed = place_accelerator(mapped, device=part, speed=grade, mhz=mhz or 100.0, seed=start)
        plain(f"{chosen.bitstream} on ECP5-{part}, speed grade {grade}")
        plain("\n".join([*placed_lines(placed), *mapped_lines(mapped)]))
        if history is None:
            return
        entry = Entry(
            when=datetime.now(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00"),
            name=chosen.bitstream,
            config=chosen.digest,
            hardware=hardware.digest,
            device=part,
            speed=grade,
            seed=start,
            mhz=round(placed.mhz, 2),
            lut=placed.lut,
            ff=placed.ff,
            dsp=placed.dsp,
            bram=placed.bram,
        )
        append_entry(history, entry)
        plain("history:")
        plain("\n".join(history_lines([*filter(entry.is_like, earlier), entry])))


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
