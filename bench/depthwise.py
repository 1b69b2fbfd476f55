"""Cycles of MobileNetV1's depthwise convolutions, with GEMM's flag for them and without, beside what bounds them.

    python -m bench.depthwise [--taps 0 3] [--latency 32] [--layer 112x32 ...]

Default configuration with DEPTHWISE_TAPS, 64-bit memory. Every layer shifts its sums and clips them, runs once with
random data, and is checked against numpy. The bound is what the busiest of four would take alone: steps of GEMM,
operations of the ALU, beats read, beats written.
"""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace

import vta
from bench.layers import run
from isa.config import VTAConfig
from vta.topi import Conv2d
from vta.topi.core.epilogue import Clip, ShiftRight
from vta.topi.core.operator import compile  # noqa: A004

_BEAT = 8
"""Bytes that memory moves in a cycle."""


def layer(size: int, channels: int, stride: int) -> Conv2d:
    """Return a depthwise layer of the network."""
    return Conv2d(
        batch=1,
        in_channels=channels,
        height=size,
        width=size,
        out_channels=channels,
        kernel=(3, 3),
        strides=(stride, stride),
        padding=(1,) * 4,
        groups=channels,
        epilogue=(ShiftRight(8), Clip(0, 127)),
    )


LAYERS: Mapping[str, Conv2d] = {
    "112x32": layer(112, 32, 1),
    "112x64/2": layer(112, 64, 2),
    "56x128": layer(56, 128, 1),
    "56x128/2": layer(56, 128, 2),
    "28x256": layer(28, 256, 1),
    "28x256/2": layer(28, 256, 2),
    "14x384": layer(14, 384, 1),
    "14x512": layer(14, 512, 1),
    "14x512/2": layer(14, 512, 2),
    "7x1024": layer(7, 1024, 1),
}


def report(name: str, config: VTAConfig, latency: int) -> None:
    """Run a layer and print its line."""
    compiled = compile(LAYERS[name], vta.Environment(config))
    stats = run(compiled, latency).stats
    assert stats.cycles is not None
    counted = stats.as_dict()
    read = sum(counted[f"{memory}_load_nbytes"] for memory in ("inp", "wgt", "acc", "uop")) // _BEAT
    parts = (stats.gemm_counter, stats.alu_counter, read, stats.out_store_nbytes // _BEAT)
    print(
        f"{name:10}{config.depthwise_taps:5}{stats.cycles:11,}{stats.cycles / max(parts):8.2f}"
        + "".join(f"{part:10,}" for part in parts)
        + f"  {compiled.scheduled.tiles}",
        flush=True,
    )


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taps", type=int, nargs="+", default=[0, 3])
    parser.add_argument("--latency", type=int, default=32, help="cycles from an address to its data")
    parser.add_argument("--layer", action="append", choices=list(LAYERS))
    arguments = parser.parse_args()
    print(
        f"{'layer':10}{'taps':>5}{'cycles':>11}{'/bound':>8}{'GEMM':>10}{'ALU':>10}{'read':>10}{'written':>10}  tiles"
    )
    for name in arguments.layer or LAYERS:
        for taps in arguments.taps:
            report(name, replace(VTAConfig(), depthwise_taps=taps), arguments.latency)
    return 0


if __name__ == "__main__":
    sys.exit(main())
