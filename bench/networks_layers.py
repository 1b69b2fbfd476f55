"""Cycles of whole networks, layer by layer, with the epilogues of quantised ones, on the cycle-accurate simulator.

    python -m bench.networks_layers [--network resnet18 ...] [--config fused] [--latency 1] [--account]

64-bit memory; without a configuration (a name or a file), the default one. Every different layer runs once, with random
data, and is checked against numpy; the sum counts it as often as the network has it. The bound is what the busiest of
four would take alone: products of blocks, operations of the ALU, beats read, beats written. The exit status says
whether ResNet-18 takes at most 7.9 M cycles at latency 1 (as many products of 256 would take 7.09 M), and with the
configuration ``fused``, at latency 32, MobileNetV1's convolutions at most 2.9 M, or 2.8 M with the shift alone,
MobileNetV2 at most 2.4 M and EfficientNet-Lite0 at most 3.0 M.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import vta
from bench.layers import PEAK, run
from bench.network_shapes import (
    Layer,
    efficientnet_lite0,
    mobilenet_v1,
    mobilenet_v1_shift,
    mobilenet_v2,
    resnet18,
    resnet50,
)
from isa.config import VTAConfig
from isa.named_config import named_config
from runtime.observe.accounting import CycleAccount
from vta.topi.core.operator import compile  # noqa: A004

NETWORKS: Mapping[str, Callable[[], tuple[Layer, ...]]] = {
    "resnet18": resnet18,
    "resnet50": resnet50,
    "mobilenet_v1": mobilenet_v1,
    "mobilenet_v1_shift": mobilenet_v1_shift,
    "mobilenet_v2": mobilenet_v2,
    "efficientnet_lite0": efficientnet_lite0,
}

MOST: Mapping[tuple[str, str, int], int] = {
    ("", "resnet18", 1): 7_900_000,
    ("fused", "mobilenet_v1", 32): 2_900_000,
    ("fused", "mobilenet_v1_shift", 32): 2_800_000,
    ("fused", "mobilenet_v2", 32): 2_400_000,
    ("fused", "efficientnet_lite0", 32): 3_000_000,
}
"""Name of the configuration, network and latency -> the cycles that it may take."""

_BEAT = 8
"""Bytes that memory moves in a cycle."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one layer took, in cycles: in all, and what its parts would take alone."""

    layer: Layer
    cycles: int
    gemm: int
    alu: int
    read: int
    written: int
    account: CycleAccount | None

    @property
    def bound(self) -> int:
        """The cycles that it cannot do without."""
        return max(self.gemm, self.alu, self.read, self.written)


def measure(layer: Layer, latency: int) -> Measured:
    """Run ``layer`` once; exits if the result is not numpy's."""
    compiled = compile(layer.operator, vta.get_env())
    stats = run(compiled, latency, layer.constants).stats
    assert stats.cycles is not None
    counted = stats.as_dict()
    read = sum(counted[f"{memory}_load_nbytes"] for memory in ("inp", "wgt", "acc", "uop"))
    return Measured(
        layer,
        stats.cycles,
        stats.gemm_counter,
        stats.alu_counter,
        read // _BEAT,
        stats.out_store_nbytes // _BEAT,
        stats.account,
    )


def report(network: str, latency: int, *, config: str = "", account: bool) -> bool:
    """Print the table of a network; return whether it takes no more cycles than it may."""
    print(f"{network}{config and f' on {config}'}, latency {latency}:")
    print(f"{'layer':34}{'times':>6}{'cycles':>11}{'of bound':>9}{'GEMM':>11}{'ALU':>11}{'read':>11}{'written':>11}")
    total, bound, macs = 0, 0, 0
    for layer in NETWORKS[network]():
        found = measure(layer, latency)
        print(
            f"{layer.name:34}{layer.count:6}{found.cycles:11,}{found.bound / found.cycles:9.1%}{found.gemm:11,}"
            f"{found.alu:11,}{found.read:11,}{found.written:11,}",
            flush=True,
        )
        if account:
            print(found.account)
        total += layer.count * found.cycles
        bound += layer.count * found.bound
        macs += layer.count * layer.operator.macs
    print(f"{'sum':40}{total:11,}{bound / total:9.1%}   products alone: {macs // PEAK:,} ({macs / PEAK / total:.1%})")
    most = MOST.get((config, network, latency))
    if most is not None:
        print(f"at most {most:,} cycles: {'holds' if total <= most else 'DOES NOT HOLD'}")
    return most is None or total <= most


def main() -> int:
    """Run the command line; return the exit status: 0 if no network takes more cycles than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", nargs="+", choices=[*NETWORKS], default=["resnet18"])
    parser.add_argument("--config", default="", help="name or file of a configuration")
    parser.add_argument("--latency", type=int, nargs="+", default=[1], help="cycles from an address to its data")
    parser.add_argument("--account", action="store_true", help="print what every module spent its cycles on")
    arguments = parser.parse_args()
    with vta.Environment(named_config(arguments.config) if arguments.config else VTAConfig()):
        held = [
            report(network, latency, config=arguments.config, account=arguments.account)
            for network in arguments.network
            for latency in arguments.latency
        ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
