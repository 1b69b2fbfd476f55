"""The folder that a board's project is written to: whose it is, and what an older build left in it.

Tests: ``tests/hw/fpga/boards/test_project_folder.py``.
"""

import json
import os
import tempfile
from pathlib import Path

from hw.fpga.place import FpgaError
from isa.printable import short

__all__ = ["prepare_folder", "require_folder"]

_RESULTS = (
    "board.json",
    "csr.json",
    "gateware/top.bit",
    "gateware/top.svf",
    "gateware/report.json",
    "vta.bit",
    "vta.xsa",
)
"""What a driver or a loader would take for the new build's, and an older one made."""


def require_folder(folder: Path, board: str) -> None:
    """Raise ``FpgaError`` for a file, a place that cannot be written, and the project of another board."""
    if folder.exists() and not folder.is_dir():
        raise FpgaError(f"{folder}: this is a file; name a folder for the project")
    above = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not above.is_dir():
        raise FpgaError(f"{folder}: {above} is a file, and no folder can be made in it; name another one")
    if not os.access(above, os.W_OK):
        raise FpgaError(f"{folder}: {above} cannot be written, permission denied; name another folder")
    facts = folder / "board.json"
    if not facts.is_file():
        return
    try:
        found = json.loads(facts.read_text(encoding="utf-8"))
        name = found["board"]
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        raise FpgaError(
            f"{folder}: its board.json is none that 'vta fpga build' wrote; name another folder, or delete it"
        ) from None
    if name != board:
        raise FpgaError(f"{folder}: it has the project of the board {short(name)}, not {board!r}; name another folder")


def prepare_folder(folder: Path, board: str) -> None:
    """Make the folder if it is not there, and delete the results of an older build of the same board.

    ``FpgaError`` as ``require_folder`` says, and where nothing can be written.
    """
    require_folder(folder, board)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FpgaError(f"{folder}: the folder cannot be made ({error.strerror})") from None
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        for name in _RESULTS:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise FpgaError(f"{folder}: nothing can be written there ({error.strerror}); name another folder") from None
