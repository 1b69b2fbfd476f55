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
from vta.cli.settings import DataWidthOption, HardwareOption, QueueDepthOption, SetOption, settings
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
    sets: SetOption = None,
    hardware_file: HardwareOption = None,
    data_width: DataWidthOption = None,
    queue_depth: QueueDepthOption = None,
) -> None:
    """Write the hardware of a configuration as Verilog.

    Every size of the hardware can be set, as in --set addr_width=40 --set axi3=1 --set max_burst_beats=16.
    """
    with reported():
        # Imported when it is asked for: Amaranth takes long to load.
        from hw.verilog import to_verilog

        if output is not None:
            require_place(output)
        changes = settings(sets, file=hardware_file, data_width=data_width, queue_depth=queue_depth)
        hardware = changes.built_hardware("Verilog")
        chosen = changes.applied(chosen_config(config, None))
        text = to_verilog(chosen, hardware, shell=shell.value)
        if output is None:
            plain(text.removesuffix("\n"))
            return
        write_whole(output, text.encode())
        plain(
            f"{output}: {chosen.bitstream}, {shell.value} shell, {hardware.data_width}-bit memory, "
            f"digests {chosen.digest} and {hardware.digest}"
        )
