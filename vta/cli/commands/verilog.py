"""``vta verilog``: the hardware as Verilog.

Tests: tests/vta/cli/test_verilog_command.py.
"""

import enum
from pathlib import Path
from typing import Annotated

import typer

from isa.whole_file import write_whole
from vta.cli.options import ConfigOption, chosen_config
from vta.cli.reporting import reported, require_place
from vta.cli.style import plain

__all__ = ["ShellChoice", "verilog"]


class ShellChoice(enum.Enum):
    """What surrounds the core."""

    CORE = "core"
    AXI = "axi"


def verilog(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write (default: the screen).")
    ] = None,
    config: ConfigOption = None,
    shell: Annotated[
        ShellChoice, typer.Option("--shell", help="axi: registers and memory behind AXI; core: control as plain ports.")
    ] = ShellChoice.AXI,
    data_width: Annotated[
        int, typer.Option("--data-width", metavar="BITS", help="Of the memory port: 64, 128, 256 or 512.")
    ] = 64,
) -> None:
    """Write the hardware of a configuration as Verilog."""
    with reported():
        # Imported when it is asked for: Amaranth takes long to load.
        from hw.verilog import to_verilog
        from isa.machine.hardware_config import HardwareConfig

        if output is not None:
            require_place(output)
        chosen = chosen_config(config, None)
        hardware = HardwareConfig(data_width=data_width)
        text = to_verilog(chosen, hardware, shell=shell.value)
        if output is None:
            plain(text.removesuffix("\n"))
            return
        write_whole(output, text.encode())
        plain(
            f"{output}: {chosen.bitstream}, {shell.value} shell, {data_width}-bit memory, "
            f"digests {chosen.digest} and {hardware.digest}"
        )
