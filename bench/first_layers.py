"""Cycles of networks' first layers, of three channels or one, with and without folding, and how long packing takes.

    python -m bench.first_layers [--latency 1]

Default configuration, 64-bit memory; every layer has the epilogue of a quantised one (bias, a scale for each channel,
limits) and is checked against numpy. The exit status says whether 7x7/2 on three channels at 224x224 takes at most
850,000 cycles at latency 1.
"""

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from statistics import median

import numpy as np

import vta
from bench.layers import PEAK, run
from bench.network_shapes import Layer, conv
from vta.topi import Conv2d
from vta.topi.core.operator import compile  # noqa: A004

LAYERS: Mapping[str, Layer] = {
    "ResNet 7x7/2": conv("", (3, 224, 224), 64, 7, 2),
    "EfficientNet 3x3/2": conv("", (3, 224, 224), 32, 3, 2),
    "ViT 16x16/16": conv("", (3, 224, 224), 384, 16, 16, low=-128),
    "YOLO 3x3": conv("", (3, 416, 416), 16, 3),
    "VGG 3x3": conv("", (3, 224, 224), 64, 3),
    "MNIST 5x5": conv("", (1, 28, 28), 32, 5),
}

MOST: Mapping[tuple[str, int], int] = {("ResNet 7x7/2", 1): 850_000}
"""Layer and latency -> the cycles that it may take."""

_PACKINGS = 15


def packing_seconds(layer: Conv2d, env: vta.Environment) -> float:
    """Return the median time that packing an image takes, kernel and biases not included."""
    image = np.zeros((layer.batch, layer.in_channels, layer.height, layer.width), np.int8)
    data, times = layer.arguments(env)[0], []
    for _ in range(_PACKINGS):
        begin = time.perf_counter()
        data.pack(image)
        times.append(time.perf_counter() - begin)
    return median(times)


def report(name: str, latency: int) -> bool:
    """Print a layer's line; return whether it takes no more cycles than it may."""
    env, layer = vta.get_env(), LAYERS[name]
    operator = layer.operator
    assert isinstance(operator, Conv2d)
    cycles: dict[bool, int] = {}
    for folds in (True, False):
        compiled = compile(operator if folds else replace(operator, fold=(1, 1)), env)
        found = run(compiled, latency, layer.constants).stats.cycles
        assert found is not None
        cycles[folds] = found
    factors = operator.folded(env).factors
    print(
        f"{name:22}{cycles[False]:12,}{cycles[True]:12,}{operator.macs / PEAK / cycles[True]:9.1%}"
        f"   {factors[0]} x {factors[1]:<5}{packing_seconds(operator, env) * 1e3:8.2f} ms",
        flush=True,
    )
    return cycles[True] <= MOST.get((name, latency), cycles[True])


def main() -> int:
    """Run the command line; return the exit status: 0 if no layer takes more cycles than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=int, nargs="+", default=[1], help="cycles from an address to its data")
    parser.add_argument("--layer", nargs="+", choices=[*LAYERS], default=[*LAYERS])
    arguments = parser.parse_args()
    held = []
    for latency in arguments.latency:
        print(f"latency {latency}:")
        print(f"{'layer':22}{'unfolded':>12}{'cycles':>12}{'of peak':>9}   {'folded':<9}{'packing':>11}")
        held += [report(name, latency) for name in arguments.layer]
    print(f"{MOST['ResNet 7x7/2', 1]:,} cycles at most for ResNet's: {'holds' if all(held) else 'DOES NOT HOLD'}")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
