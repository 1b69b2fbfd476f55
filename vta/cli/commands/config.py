"""``vta config show`` and ``vta config check``.

Tests: tests/vta/cli/test_config_commands.py.
"""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from isa.config import VTAConfig
from isa.instructions import MemoryId
from vta.cli.options import ConfigOption, chosen_config
from vta.cli.reporting import reported
from vta.cli.style import Screen, plain

__all__ = ["config_app"]

config_app = typer.Typer(help="Show or check a configuration.", no_args_is_help=True)

_MEMORIES = (MemoryId.UOP, MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.OUT)


@config_app.command()
def show(
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the keys as JSON, ready to be a config file.")] = False,
) -> None:
    """Print the keys of a configuration and the sizes that follow from them."""
    with reported():
        chosen = chosen_config(config, None)
        if as_json:
            plain(json.dumps(chosen.to_dict(), indent=2))
            return
        console = Screen()
        console.print(_keys(chosen))
        console.print(_memories(chosen))
        console.print(f"name    {chosen.bitstream}\ndigest  {chosen.digest}", soft_wrap=True)


@config_app.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Configuration files.")],
) -> None:
    """Check configuration files: one line each; exit code 1 if one of them is not legal."""
    failed = False
    for path in files:
        try:
            with reported():
                plain(f"{path}: {VTAConfig.from_json(path).bitstream}")
        except SystemExit:
            failed = True
    if failed:
        raise typer.Exit(1)


def _keys(config: VTAConfig) -> Table:
    table = Table(title="keys", title_justify="left", show_header=False)
    for key, value in config.to_dict().items():
        table.add_row(key, str(value))
    return table


def _memories(config: VTAConfig) -> Table:
    table = Table(title="memories", title_justify="left")
    table.add_column("memory")
    for heading in ("element bytes", "depth", "bytes"):
        table.add_column(heading, justify="right")
    for memory in _MEMORIES:
        element, depth = config.elem_bytes(memory), config.depth(memory)
        table.add_row(memory.name, f"{element:,}", f"{depth:,}", f"{element * depth:,}")
    return table
