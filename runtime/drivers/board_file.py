"""``board.json``, with which ``vta fpga build`` says what it built: what all boards have in it.

Tests: ``tests/runtime/drivers/test_board_file.py``.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.machine.hardware_config import HardwareConfig, HardwareConfigError
from isa.printable import short

__all__ = ["BoardFileError", "Table", "configurations", "read_json"]


class BoardFileError(VTAError, ValueError):
    """A folder that is no board's, or not one of this version."""


class Table(dict[str, Any]):
    """An object of a file of JSON, which says which file it is that lacks a name."""

    def __init__(self, file: Path, names: Mapping[str, Any], *, inside: str = "") -> None:
        super().__init__(names)
        self.file = file
        self._inside = inside

    def __missing__(self, name: str) -> object:
        """Raise ``BoardFileError``."""
        raise BoardFileError(f"{self.file}: there is no {self._inside}{name} in it; build the board again")

    def typed(self, name: str, kind: type) -> Any:
        """Return what the file has under a name, of one kind alone."""
        found = self[name]
        if not isinstance(found, kind) or isinstance(found, bool):
            raise BoardFileError(
                f"{self.file}: {self._inside}{name} is {short(found)}, and it should be {_CALLED[kind]}; "
                "build the board again"
            )
        return found

    def table(self, name: str) -> "Table":
        """Return an object in this one."""
        return Table(self.file, self.typed(name, dict), inside=f"{self._inside}{name}.")


_CALLED: Mapping[type, str] = {str: "a text", int: "a whole number", list: "a list", dict: "an object"}


def read_json(file: Path) -> Table:
    """Return the object that a file of a board's folder has; ``BoardFileError`` for anything else."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BoardFileError(
            f"{file}: expected the folder of a board that 'vta fpga build' wrote ({error.strerror})"
        ) from None
    except (ValueError, RecursionError) as error:
        raise BoardFileError(f"{file}: this is no JSON ({error}); build the board again") from None
    if not isinstance(found, dict):
        raise BoardFileError(f"{file}: expected an object, found {short(found)}; build the board again")
    return Table(file, found)


def configurations(board: Table) -> tuple[VTAConfig, HardwareConfig]:
    """Return what accelerator ``board.json`` says that the board has."""
    vta = VTAConfig.from_dict(board.typed("vta", dict), where=str(board.file))
    try:
        return vta, HardwareConfig(**board.typed("hardware", dict))
    except (TypeError, HardwareConfigError) as error:
        raise BoardFileError(f"{board.file}: hardware: {error}; build the board again") from None
