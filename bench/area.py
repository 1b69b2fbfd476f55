"""Area of the core in yosys: LUTs, flip-flops, multipliers and block RAMs on two FPGA families, block 4 to block 32.

    python -m bench.area [--yosys /usr/bin/yosys] [--config "block 16"] [--flow "xc7 flat"] [--shell axi]

Without ``--yosys`` it is the yosys of the ``verilog`` extra, pyosys. The commands are those that upstream's figures
were made with (docs/hardware.md), and figures compare only between equal versions of yosys: upstream's stand for 0.23.
The micro-op buffer has 2048 entries (LOG_UOP_BUFF_SIZE 13), in block 4, which is that of ``bench/fmax.py``, 512.
``fused`` is with depthwise taps. The ALU's multipliers, which upstream's hardware lacks,
are counted among the DSPs, and apart: those with the ALU in their names. ``bench/fmax.py`` measures the clock.
"""

import argparse
import importlib.metadata
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from hw.fpga.area import Area, areas_of, cells_of
from hw.verilog import Shell, to_verilog
from hw.verilog.yosys import VerilogError, run_yosys
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

_BLOCK_16 = VTAConfig(log_uop_buff_size=13)
_BLOCK_8 = VTAConfig(
    log_block=3, log_uop_buff_size=13, log_inp_buff_size=14, log_wgt_buff_size=16, log_acc_buff_size=16
)
_BLOCK_4 = VTAConfig(
    log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14
)
_BLOCK_32 = replace(_BLOCK_16, log_block=5)

CONFIGS: Mapping[str, tuple[VTAConfig, HardwareConfig]] = {
    "block 16": (_BLOCK_16, HardwareConfig()),
    "block 16 depthwise": (replace(_BLOCK_16, depthwise_taps=3), HardwareConfig()),
    "block 16 fused": (replace(_BLOCK_16, depthwise_taps=3, fused_alu=1), HardwareConfig()),
    "block 16 shared": (_BLOCK_16, HardwareConfig(share_multipliers=1)),
    "block 16 of 144": (_BLOCK_16, HardwareConfig(share_multipliers=1, most_multipliers=144)),
    "block 4": (_BLOCK_4, HardwareConfig()),
    "block 4 depthwise": (replace(_BLOCK_4, depthwise_taps=3), HardwareConfig()),
    "block 4 fused": (replace(_BLOCK_4, depthwise_taps=3, fused_alu=1), HardwareConfig()),
    "block 8": (_BLOCK_8, HardwareConfig()),
    "block 8 depthwise": (replace(_BLOCK_8, depthwise_taps=3), HardwareConfig()),
    "block 8 fused": (replace(_BLOCK_8, depthwise_taps=3, fused_alu=1), HardwareConfig()),
    "block 8 shared": (_BLOCK_8, HardwareConfig(share_multipliers=1)),
    "block 32": (_BLOCK_32, HardwareConfig()),
    "block 32 depthwise": (replace(_BLOCK_32, depthwise_taps=3), HardwareConfig()),
    "block 32 fused": (replace(_BLOCK_32, depthwise_taps=3, fused_alu=1), HardwareConfig()),
    "block 32 shared": (_BLOCK_32, HardwareConfig(share_multipliers=1)),
}
"""Depthwise taps, fused steps of the ALU, multipliers that two products share: what upstream's hardware lacks."""

FLOWS: Mapping[str, str] = {
    "xc7 flat": "synth_xilinx -family xc7 -flatten -top {top}",
    "xc7 hierarchical": "synth_xilinx -family xc7 -top {top}",
    "ecp5": "synth_ecp5 -top {top}",
}

TOPS: Mapping[Shell, str] = {"core": "vta_core", "axi": "vta"}

Row = tuple[str, str, "Area", int, int, float]
"""Configuration, flow, area, multipliers of the ALU, LUT RAM cells, seconds."""


UPSTREAM: Mapping[tuple[str, str], Area] = {
    ("block 16", "xc7 flat"): Area(18192, 6533, 256, 122),
    ("block 16", "xc7 hierarchical"): Area(20918, 7329, 256, 122),
    ("block 16", "ecp5"): Area(29038, 6907, 256, 244),
}
"""Upstream's core in yosys 0.23."""


def distributed_ram(statistics: str) -> int:
    """Return the LUT RAM cells, which are not among the LUTs."""
    cells = cells_of(statistics)
    return sum(count for name, count in cells.items() if re.fullmatch(r"RAM\d+[XM]\w*|TRELLIS_DPR16X4|SRL\w+", name))


def synthesise(yosys: str | None, verilog: Path, flow: str, top: str) -> tuple[str, int]:
    """Return what ``stat`` prints after synthesis, and how many multipliers have the ALU in their names.

    By the program ``yosys``, or by pyosys.
    """
    with tempfile.TemporaryDirectory() as folder:
        out, cells = Path(folder, "stat.txt"), Path(folder, "dsp.txt")
        commands = (
            f"read_verilog {verilog}",
            f"hierarchy -check -top {top}",
            flow.format(top=top),
            f"tee -o {out} stat -top {top}",
            f"tee -o {cells} select -list t:DSP48E1 t:MULT18X18D",
        )
        if yosys is None:
            try:
                run_yosys(*commands, folder=Path(folder))
            except VerilogError as error:
                raise SystemExit(str(error)) from None
        else:
            command = [yosys, "-q", "-p", "; ".join(commands)]
            process = subprocess.run(command, check=False, capture_output=True, text=True)
            if process.returncode:
                raise SystemExit(f"yosys failed: {process.stderr[-2000:]}")
        return out.read_text(), sum("alu" in line for line in cells.read_text().splitlines())


def _file(folder: str, name: str) -> Path:
    return Path(folder, name.replace(" ", "") + ".v")


def report(rows: list[Row]) -> None:
    """Print the table."""
    head = ("configuration", "flow", "LUT", "FF", "DSP", "of ALU", "BRAM", "LUT RAM", "LUT x", "BRAM x", "s")
    print(("{:20}{:20}" + "{:>9}" * 9).format(*head))
    for name, flow, area, in_alu, ram, seconds in rows:
        known = UPSTREAM.get((name, flow))
        ratios = (f"{area.lut / known.lut:.2f}", f"{area.bram / known.bram:.2f}") if known else ("", "")
        print(
            f"{name:20}{flow:20}{area.lut:9,}{area.ff:9,}{area.dsp:9}{in_alu:9}{area.bram:9.1f}{ram:9,}"
            f"{ratios[0]:>9}{ratios[1]:>9}{seconds:9.0f}"
        )
        if known:
            print(f"{'':20}{'  upstream':20}{known.lut:9,}{known.ff:9,}{known.dsp:9}{0:9}{known.bram:9.1f}")


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yosys", help="a program; default: pyosys of the verilog extra")
    parser.add_argument("--config", action="append", choices=list(CONFIGS))
    parser.add_argument("--flow", action="append", choices=list(FLOWS))
    parser.add_argument("--shell", choices=list(TOPS), default="core", help="upstream's figures are of the core")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.yosys is None:
        print(f"pyosys {importlib.metadata.version('pyosys')}")
    else:
        print(subprocess.run([arguments.yosys, "-V"], capture_output=True, text=True, check=True).stdout.strip())
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:

        def one(name: str, flow: str) -> Row:
            start = time.perf_counter()
            text, in_alu = synthesise(arguments.yosys, _file(folder, name), FLOWS[flow], TOPS[arguments.shell])
            return name, flow, areas_of(text), in_alu, distributed_ram(text), time.perf_counter() - start

        for name in arguments.config or CONFIGS:
            _file(folder, name).write_text(to_verilog(*CONFIGS[name], shell=arguments.shell))
        pairs = [(name, flow) for name in arguments.config or CONFIGS for flow in arguments.flow or FLOWS]
        report(list(pool.map(lambda pair: one(*pair), pairs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
