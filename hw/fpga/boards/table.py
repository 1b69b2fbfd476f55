"""The boards, by name: what each of them has, and what it needs of the accelerator.

Tests: ``tests/hw/fpga/boards/test_table.py``.
"""

import difflib
from dataclasses import dataclass, replace

from hw.fpga.place import FpgaError
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.machine.multipliers import share_out
from isa.printable import short

__all__ = ["BOARDS", "LiteXBoard", "VivadoBoard", "board_called"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteXBoard:
    """A board with an ECP5 that LiteX knows.

    ``mhz`` is the clock that is asked for unless somebody says another, ``multipliers`` how many the FPGA has,
    ``nextpnr`` are the options that say which ECP5 it is, ``links`` the host's.
    """

    name: str
    title: str
    mhz: float
    multipliers: int
    nextpnr: tuple[str, ...]
    links: tuple[str, ...]

    def refusal(self, vta: VTAConfig, hardware: HardwareConfig) -> str:
        """Return why this accelerator cannot be built for the board, empty if it can; other sizes are for the tools."""
        if hardware.addr_width != 32:
            return f"its memory has addresses of 32 bits, not addr_width {hardware.addr_width}"
        if hardware.axi3:
            return "its memory port is AXI4: leave axi3 at 0"
        return _too_many(vta, hardware, self.multipliers, hint=f"--set most_multipliers={self.multipliers}")


@dataclass(frozen=True, slots=True, kw_only=True)
class VivadoBoard:
    """A board with a Zynq-7000: ``part`` as Vivado calls it.

    Its processing system has a clock of ``crystal_mhz``, and memory of ``dram_mib`` on ``dram_bits``, of chips that
    Vivado calls ``dram``. It has no ``links``: the host is the processing system.
    """

    name: str
    title: str
    mhz: float
    multipliers: int
    part: str
    crystal_mhz: float
    dram: str
    dram_bits: int
    dram_mib: int
    links: tuple[str, ...] = ()

    def refusal(self, vta: VTAConfig, hardware: HardwareConfig) -> str:
        """Return why this accelerator cannot be built for the board, empty if it can; other sizes are for the tools."""
        if hardware.data_width != 64:
            return f"its high-performance ports have 64 bits, not data_width {hardware.data_width}"
        if hardware.addr_width != 32:
            return f"its memory has addresses of 32 bits, not addr_width {hardware.addr_width}"
        if not hardware.axi3:
            return "its memory port is AXI3: --set axi3=1 --set max_burst_beats=16"
        hint = f"--set share_multipliers=1 --set most_multipliers={self.multipliers}"
        return _too_many(vta, hardware, self.multipliers, hint=hint)


def _too_many(vta: VTAConfig, hardware: HardwareConfig, most: int, *, hint: str) -> str:
    lanes = vta.batch * vta.block_out
    shared = bool(hardware.share_multipliers) and vta.block_out > 1
    taken = share_out(hardware.most_multipliers, products=lanes * vta.block_in, lanes=lanes, shared=shared).total
    return f"its FPGA has {most} multipliers, and this takes {taken}: {hint}" if taken > most else ""


_PYNQ_Z1 = VivadoBoard(
    name="pynq-z1",
    title="Digilent PYNQ-Z1 (XC7Z020, 512 MB of DDR3)",
    mhz=100.0,
    multipliers=220,
    part="xc7z020clg400-1",
    crystal_mhz=50.0,
    dram="MT41J256M16 RE-125",
    dram_bits=16,
    dram_mib=512,
)

BOARDS: tuple[LiteXBoard | VivadoBoard, ...] = (
    LiteXBoard(
        name="ecpix5",
        title="LambdaConcept ECPIX-5 (LFE5UM5G-85F, 512 MB of DDR3)",
        mhz=60.0,
        multipliers=156,
        nextpnr=("--um5g-85k", "--package", "CABGA554", "--speed", "8"),
        links=("etherbone", "uart"),
    ),
    LiteXBoard(
        name="ulx3s",
        title="Radiona ULX3S (LFE5U-85F, 32 MB of SDRAM)",
        mhz=40.0,
        multipliers=156,
        nextpnr=("--85k", "--package", "CABGA381", "--speed", "6"),
        links=("uart",),
    ),
    _PYNQ_Z1,
    replace(
        _PYNQ_Z1,
        name="arty-z7",
        title="Digilent Arty Z7-20 (XC7Z020, 512 MB of DDR3)",
        dram="MT41K256M16 RE-125",
    ),
)


def board_called(name: str) -> LiteXBoard | VivadoBoard:
    """Return a board by its name; ``FpgaError`` names the boards that there are."""
    for board in BOARDS:
        if board.name == name:
            return board
    names = [board.name for board in BOARDS]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "docs/fpga.md tells more of them"
    raise FpgaError(f"--board: the boards are {', '.join(names)}, not {short(name)}; {hint}")
