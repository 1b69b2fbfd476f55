"""``vta config``: ``show``, ``check``, ``init`` and ``list``.

Tests: tests/vta/cli/test_config_commands.py.
"""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.instructions import MemoryId
from isa.named_config import named_config, preset_names
from isa.whole_file import write_whole
from vta.cli.as_json import JsonOption, print_json
from vta.cli.options import ConfigOption, chosen_config
from vta.cli.reporting import UserError, reported, require_place, sentence_of
from vta.cli.style import Screen, plain, say

__all__ = ["config_app"]

config_app = typer.Typer(help="Show, check or begin a configuration.", no_args_is_help=True)

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
    as_json: JsonOption = False,
) -> None:
    """Check configuration files: one line each; exit code 1 if one of them is not legal."""
    found = []
    for path in files:
        name = digest = error = None
        try:
            config = VTAConfig.from_json(path)
            name, digest = config.bitstream, config.digest
        except (VTAError, OSError) as problem:
            error = sentence_of(problem)
        found.append({"file": str(path), "legal": error is None, "name": name, "digest": digest, "error": error})
        if not as_json:
            say(f"error: {error}", err=True) if error is not None else plain(f"{path}: {name}")
    if as_json:
        print_json("config check", {"files": found})
    if not all(entry["legal"] for entry in found):
        raise typer.Exit(1)


@config_app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="Where to write it.")] = Path("vta_config.json"),
    config: ConfigOption = None,
) -> None:
    """Write a configuration file with every key, to be changed: the default, or that of --config."""
    with reported():
        if file.exists():
            raise UserError(f"{file}: there is a file already; name another one")
        require_place(file)
        chosen = chosen_config(config, None)
        write_whole(file, (json.dumps(chosen.to_dict(), indent=2) + "\n").encode())
        say(f"{file}: {chosen.bitstream}; `vta run --config {file}` uses it, VTA_CONFIG={file} makes it the default")


@config_app.command("list")
def list_presets(as_json: JsonOption = False) -> None:
    """List the configurations of the package, which --config and VTA_CONFIG take by name."""
    with reported():
        if as_json:
            presets = [(name, named_config(name)) for name in preset_names()]
            entries = [{"name": name, "target": each.target, "config": each.bitstream} for name, each in presets]
            print_json("config list", {"presets": entries})
            return
        width = max(map(len, preset_names()))
        for name in preset_names():
            found = named_config(name)
            plain(f"{name:{width}}  {found.target:9}  {found.bitstream}")


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
