"""The boards, by name: what each of them has, and what it needs of the accelerator.

Tests: ``tests/hw/fpga/boards/test_table.py``.
"""

import difflib
from dataclasses import dataclass

from hw.fpga.place import FpgaError
from isa.machine.hardware_config import HardwareConfig
from isa.printable import short

__all__ = ["BOARDS", "LiteXBoard", "board_called"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteXBoard:
    """A board with an ECP5 that LiteX knows.

    ``mhz`` is the clock that is asked for unless somebody says another, ``nextpnr`` are the options that say which ECP5
    it has, ``links`` the host's.
    """

    name: str
    title: str
    mhz: float
    nextpnr: tuple[str, ...]
    links: tuple[str, ...]

    def refusal(self, hardware: HardwareConfig) -> str:
        """Return why this hardware cannot be built for the board, empty if it can; its size is left to the tools."""
        if hardware.addr_width != 32:
            return f"its memory has addresses of 32 bits, not addr_width {hardware.addr_width}"
        return "its memory port is AXI4: leave axi3 at 0" if hardware.axi3 else ""


BOARDS: tuple[LiteXBoard, ...] = (
    LiteXBoard(
        name="ecpix5",
        title="LambdaConcept ECPIX-5 (LFE5UM5G-85F, 512 MB of DDR3)",
        mhz=60.0,
        nextpnr=("--um5g-85k", "--package", "CABGA554", "--speed", "8"),
        links=("etherbone", "uart"),
    ),
    LiteXBoard(
        name="ulx3s",
        title="Radiona ULX3S (LFE5U-85F, 32 MB of SDRAM)",
        mhz=40.0,
        nextpnr=("--85k", "--package", "CABGA381", "--speed", "6"),
        links=("uart",),
    ),
)


def board_called(name: str) -> LiteXBoard:
    """Return a board by its name; ``FpgaError`` names the boards that there are."""
    for board in BOARDS:
        if board.name == name:
            return board
    names = [board.name for board in BOARDS]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "docs/fpga.md tells more of them"
    raise FpgaError(f"--board: the boards are {', '.join(names)}, not {short(name)}; {hint}")
