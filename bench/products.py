"""Cycles of dense layers, matrix products and transposed convolutions with the library's own schedules.

    python -m bench.products [--latency 1 64] [--layer CT1 ...] [--account]

Default configuration, 64-bit memory; every layer ends with ``>> 8``, clip to 0..127, cast to int8, has tiles from the
search, and is checked against numpy. The bound is the largest of three: GEMM operations without products with
zeros, beats of operands read once, beats of results written. ``upstream`` is its hardware on its recorded stream.
"""

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from bench.layers import run
from vta.environment import get_env
from vta.topi.core.epilogue import Clip, ShiftRight
from vta.topi.core.operator import Operator, compile  # noqa: A004
from vta.topi.core.sizes import sizes
from vta.topi.matmul.batch_matmul import BatchMatmul
from vta.topi.matmul.dense import Dense
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose

STEPS = (ShiftRight(8), Clip(0, 127))
BEAT_BYTES = 8


@dataclass(frozen=True, slots=True)
class Layer:
    """An operator, and upstream's cycles at latency 1 where they were recorded."""

    operator: Operator
    upstream: int | None = None


def dcgan(size: int, channels_in: int, channels_out: int) -> Conv2dTranspose:
    """Return a transposed convolution of DCGAN's generator."""
    kernel, strides, padding = (4, 4), (2, 2), (1, 1, 1, 1)
    return Conv2dTranspose(1, channels_in, size, size, channels_out, kernel, strides, padding, epilogue=STEPS)


LAYERS: Mapping[str, Layer] = {
    "CT1": Layer(dcgan(4, 1024, 512), 2_117_304),
    "CT2": Layer(dcgan(8, 512, 256)),
    "CT3": Layer(dcgan(16, 256, 128)),
    "dense-1": Layer(Dense(1, 256, 128, STEPS)),
    "dense-4": Layer(Dense(4, 256, 128, STEPS)),
    "dense-128": Layer(Dense(128, 128, 128, STEPS), 539_957),
    "classes": Layer(Dense(16, 512, 1008, STEPS)),
    "mlp": Layer(Dense(197, 768, 768, STEPS)),
    "scores": Layer(BatchMatmul(12, 197, 64, 197, epilogue=STEPS)),
    "values": Layer(BatchMatmul(12, 197, 197, 64, transpose_b=False, epilogue=STEPS)),
}


def measure(name: str, latency: int, *, account: bool) -> None:
    """Build a layer, run it on the hardware, and print its line; exits if the result is not numpy's."""
    layer, env = LAYERS[name], get_env()
    begin = time.process_time()
    compiled = compile(layer.operator, env)
    _ = compiled.module.linked  # made when a function is first called
    seconds = time.process_time() - begin
    stats = run(compiled, latency).stats
    assert stats.cycles is not None
    read = sum(prod(sizes(tensor)) * tensor.dtype.bits // 8 for tensor in compiled.scheduled.args[:-1])
    bound = max(stats.gemm_counter, read // BEAT_BYTES, stats.out_store_nbytes // BEAT_BYTES)
    beside = f"{layer.upstream:11,}{stats.cycles / layer.upstream:7.3f}" if layer.upstream else " " * 18
    print(
        f"{name:10}{stats.cycles:11,}{bound:11,}{bound / stats.cycles:8.1%}{beside}"
        f"{stats.instructions.total:8,}{seconds:7.2f}s  {compiled.scheduled.tiles}"
    )
    if account:
        print(stats.account)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=int, nargs="+", default=[1, 64], help="cycles from an address to its data")
    parser.add_argument("--layer", nargs="+", choices=[*LAYERS], default=[*LAYERS])
    parser.add_argument("--account", action="store_true", help="print what every module spent its cycles on")
    arguments = parser.parse_args()
    for latency in arguments.latency:
        print(f"latency {latency}:")
        print(
            f"{'layer':10}{'cycles':>11}{'bound':>11}{'':8}{'upstream':>11}{'ratio':>7}{'instr.':>8}{'build':>8}  tiles"
        )
        for name in arguments.layer:
            measure(name, latency, account=arguments.account)
    return 0


if __name__ == "__main__":
    sys.exit(main())
