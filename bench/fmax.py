"""The highest clock of the accelerator on an ECP5-85 in nextpnr, for block 4 and block 8, and what it waits for.

    python -m bench.fmax --config "block 4" --speed 6 --seed 1

Every AXI port is behind a flip-flop. It takes ten minutes a row or more, and needs the ``fpga`` extra. Clocks of
different seeds differ by several per cent.
"""

import argparse
import sys
from collections.abc import Mapping
from itertools import chain

from hw.fpga.place import FpgaError, missing_tools
from hw.fpga.report import map_accelerator, mapped_lines, place_accelerator, placed_lines
from hw.fpga.working_folder import working_folder
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig

CONFIGS: Mapping[str, VTAConfig] = {
    "block 4": VTAConfig(
        log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14
    ),
    "block 8": VTAConfig(
        log_block=3, log_uop_buff_size=13, log_inp_buff_size=14, log_wgt_buff_size=16, log_acc_buff_size=16
    ),
}


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", action="append", choices=list(CONFIGS))
    parser.add_argument("--speed", type=int, nargs="+", choices=(6, 7, 8), default=[6])
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if missing_tools():
        parser.error(f"missing: {', '.join(missing_tools())}")
    for name in arguments.config or CONFIGS:
        for speed in arguments.speed:
            with working_folder() as folder:
                try:
                    mapped = map_accelerator(CONFIGS[name], HardwareConfig(), folder=folder)
                    placed = place_accelerator(mapped, device="85k", speed=speed, mhz=100, seed=arguments.seed)
                except FpgaError as error:
                    raise SystemExit(str(error)) from None
            print(f"{name}, ECP5-85, speed grade {speed}, seed {arguments.seed}:")
            print("\n".join(f"  {line}" for line in chain(placed_lines(placed), mapped_lines(mapped))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
