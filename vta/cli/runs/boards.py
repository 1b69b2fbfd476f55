"""``--board FOLDER`` and ``--serial PORT``: a board in place of a simulator, for every command that has ``--target``.

Tests: tests/vta/cli/test_board_option.py.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from isa.config import VTAConfig
from isa.named_config import named_config
from runtime.drivers.board_file import configurations, read_json
from runtime.session import Session
from vta.cli.options import chosen_config
from vta.cli.reporting import UserError
from vta.cli.settings import Settings

__all__ = ["BoardOption", "ChosenBoard", "SerialOption", "chosen_board", "config_for"]

BoardOption = Annotated[
    Path | None,
    typer.Option("--board", metavar="FOLDER", help="The device: a board, by the folder of its `vta fpga build`."),
]
SerialOption = Annotated[
    str | None,
    typer.Option("--serial", metavar="PORT", help="Reach --board over a serial port, not over Ethernet."),
]


@dataclass(frozen=True, slots=True)
class ChosenBoard:
    """A board by its folder, and the serial port that it is reached over, if it is."""

    folder: Path
    serial: str | None = None

    def configuration(self, config: Path | None, changes: Settings) -> VTAConfig:
        """Return the board's configuration, by its folder alone; ``UserError`` if the options ask for another one."""
        found, _ = configurations(read_json(self.folder / "board.json"))
        asked = changes.applied(found if config is None else named_config(config))
        if asked.digest != found.digest:
            raise UserError(
                f"--board {self.folder}: the board was built for {found.bitstream} (digest {found.digest}), and "
                f"{'--set' if changes.config else '--config'} asks for {asked.bitstream} (digest {asked.digest}); "
                "leave it out, or build the board for it"
            )
        return found

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Yield a session on the board, which is opened and given back."""
        from runtime.drivers.opening import board_session  # and with it sockets and terminals

        with board_session(self.folder, serial=self.serial) as session:
            yield session

    def refuse(self, options: Mapping[str, object]) -> None:
        """Raise typer's error for options that are given and that only a simulator understands."""
        given = [name for name, value in options.items() if value]
        if given:
            raise typer.BadParameter(
                f"{given[0]} needs a simulator, and --board {self.folder} is hardware; leave it out, or use --target"
            )


def config_for(
    board: ChosenBoard | None, config: Path | None, target: str | None, changes: Settings | None = None
) -> VTAConfig:
    """Return the configuration to work with: a board's own, or else what the options and the environment name."""
    changed = changes or Settings()
    if board is None:
        return changed.applied(chosen_config(config, target))
    return board.configuration(config, changed)


def chosen_board(folder: Path | None, serial: str | None, target: str | None) -> ChosenBoard | None:
    """Return the board that the options name, None if they name none."""
    if folder is None:
        if serial is not None:
            raise typer.BadParameter("--serial says how to reach a board, and there is no --board FOLDER")
        return None
    if target is not None:
        raise typer.BadParameter(f"--target {target} and --board {folder} are two devices; leave one out")
    return ChosenBoard(folder, serial)
