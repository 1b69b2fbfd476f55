"""``--board FOLDER`` and ``--serial PORT``: a board in place of a simulator, for every command that has ``--target``.

Tests: tests/vta/cli/test_board_option.py.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from isa.config import VTAConfig
from isa.named_config import named_config
from runtime.drivers.built_board import BuiltBoard
from vta.cli.options import chosen_config
from vta.cli.settings import Settings

__all__ = ["BoardOption", "SerialOption", "chosen_board", "config_for", "refuse_on_board"]

BoardOption = Annotated[
    Path | None,
    typer.Option("--board", metavar="FOLDER", help="The device: a board, by the folder of its `vta fpga build`."),
]
SerialOption = Annotated[
    str | None,
    typer.Option("--serial", metavar="PORT", help="Reach --board over a serial port, not over Ethernet."),
]


def config_for(
    board: BuiltBoard | None, config: Path | None, target: str | None, changes: Settings | None = None
) -> VTAConfig:
    """Return the configuration to work with: a board's own, or else what the options and the environment name.

    ``SessionError`` if the options ask for another one than the board's.
    """
    changed = changes or Settings()
    if board is None:
        return changed.applied(chosen_config(config, target))
    built, _ = board.built_for()
    asked = changed.applied(built if config is None else named_config(config))
    board.require_config(asked, "--set" if changed.config else "--config")
    return built


def refuse_on_board(board: BuiltBoard, options: Mapping[str, object]) -> None:
    """Raise typer's error for options that are given and that only a simulator understands."""
    given = [name for name, value in options.items() if value]
    if given:
        raise typer.BadParameter(
            f"{given[0]} needs a simulator, and --board {board.folder} is hardware; leave it out, or use --target"
        )


def chosen_board(folder: Path | None, serial: str | None, target: str | None) -> BuiltBoard | None:
    """Return the board that the options name, None if they name none."""
    if folder is None:
        if serial is not None:
            raise typer.BadParameter("--serial says how to reach a board, and there is no --board FOLDER")
        return None
    if target is not None:
        raise typer.BadParameter(f"--target {target} and --board {folder} are two devices; leave one out")
    return BuiltBoard(folder, serial)
