"""Cycles of ResNet-18's ten packed convolutions with the library's own schedules, beside the peak and upstream's.

    python -m bench.layers [--latency 1 64] [--layer C2] [--account]

Default configuration, 64-bit memory; every layer is convolution, ``>> 8``, + bias, clip to 0..127, cast to int8, with
tiles from the search, and is checked against numpy. The peak is that of a GEMM core with 256 products a cycle. The exit
status says whether the layers together reach 92 % of it at latency 1, and 90 % at latency 64.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import vta
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.accounting import CycleAccount
from runtime.session import Session
from vta.nd import EXT_DEV, Device, empty
from vta.topi.conv.conv2d import ConvTiles
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.conv.conv2d_tiling import conv_work
from vta.topi.core.epilogue import Bias, Clip, ShiftRight
from vta.topi.core.operator import Compiled, compile  # noqa: A004
from vta.topi.tiling import Bus, cycles

PEAK = 256
"""Products of the default GEMM core in a cycle."""

LEAST: Mapping[int, float] = {1: 0.92, 64: 0.90}
"""Latency -> the share of the peak that the layers together are to reach."""

UPSTREAM = 2_944_524
"""Cycles of the ten layers with upstream's tuned schedules on upstream's hardware at latency 1."""


def layer(size: int, channels_in: int, channels_out: int, kernel: int, stride: int) -> Conv2d:
    """Return a layer of the network with the epilogue of a quantised one."""
    return Conv2d(
        batch=1,
        in_channels=channels_in,
        height=size,
        width=size,
        out_channels=channels_out,
        kernel=(kernel, kernel),
        strides=(stride, stride),
        padding=(kernel // 2,) * 4,
        epilogue=(ShiftRight(8), Bias(), Clip(0, 127)),
    )


LAYERS: Mapping[str, Conv2d] = {
    "C2": layer(56, 64, 64, 3, 1),
    "C3": layer(56, 64, 128, 3, 2),
    "C4": layer(56, 64, 128, 1, 2),
    "C5": layer(28, 128, 128, 3, 1),
    "C6": layer(28, 128, 256, 3, 2),
    "C7": layer(28, 128, 256, 1, 2),
    "C8": layer(14, 256, 256, 3, 1),
    "C9": layer(14, 256, 512, 3, 2),
    "C10": layer(14, 256, 512, 1, 2),
    "C11": layer(7, 512, 512, 3, 1),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """One layer at one latency; ``seconds`` of this process's CPU went to schedule, lowering and build."""

    name: str
    cycles: int
    predicted: int
    tiles: ConvTiles
    seconds: float
    account: CycleAccount | None


def measure(name: str, latency: int) -> Measured:
    """Build a layer, run it, and require the numbers that numpy gives."""
    operator, env = LAYERS[name], vta.get_env()
    begin = time.process_time()
    compiled = compile(operator, env)
    _ = compiled.module.linked  # made when a function is first called
    seconds = time.process_time() - begin
    tiles = compiled.scheduled.tiles
    assert isinstance(tiles, ConvTiles)
    device = run(compiled, latency)
    assert device.stats.cycles is not None
    predicted = cycles(conv_work(operator.shape_on(env), tiles, Bus()), Bus(latency=latency))
    return Measured(name, device.stats.cycles, predicted, tiles, seconds, device.stats.account)


def run(compiled: Compiled, latency: int, constants: Sequence[np.ndarray] = ()) -> RtlSimulator:
    """Run a compiled operator once on the hardware; return the device. Exits if the result is wrong.

    ``constants`` are arrays for the int32 inputs, in order; others are drawn.
    """
    env, operator = compiled.env, compiled.operator
    device = RtlSimulator(env.config, DeviceMemory(1 << 28), hardware=HardwareConfig(data_width=64), latency=latency)
    place = Device(EXT_DEV, 0, Session(env.config, device))
    rng = np.random.default_rng(0)
    plain, given = [], iter(constants)
    for operand in operator.inputs(env):
        if operand.dtype == "int32" and (array := next(given, None)) is not None:
            plain.append(array)
            continue
        low, high = (-128, 128) if operand.dtype == "int8" else (-(1 << 14), 1 << 14)
        plain.append(rng.integers(low, high, operand.shape).astype(operand.dtype))
    result = compiled.scheduled.args[-1]
    arrays = [vta.nd.array(values, place) for values in operator.pack(env, *plain)]
    out = empty(result.shape, str(result.dtype), place)
    compiled.module(*arrays, out)
    if not np.array_equal(operator.unpack(env, out.numpy()), operator.reference(*plain)):
        raise SystemExit(f"{operator}: the hardware's result is not numpy's")
    return device


def report(names: list[str], latency: int, *, account: bool) -> bool:
    """Print the table of one latency; return whether the share of the peak that is aimed at is reached."""
    print(f"latency {latency}:")
    print(f"{'layer':6}{'cycles':>11}{'peak':>8}{'predicted':>11}{'error':>8}{'build':>8}  tiles")
    found = [measure(name, latency) for name in names]
    for one in found:
        t = one.tiles
        share = LAYERS[one.name].macs / PEAK / one.cycles
        print(
            f"{one.name:6}{one.cycles:11,}{share:8.1%}{one.predicted:11,}{one.predicted / one.cycles - 1:8.1%}"
            f"{one.seconds:7.2f}s  {t.tile_co} blocks x {t.tile_h} x {t.tile_w}, {t.tile_ci} in a step, "
            f"copies {t.rotate_tiles} and {t.rotate_steps}, resident {t.resident.value}"
        )
        if account:
            print(one.account)
    total, best = sum(one.cycles for one in found), sum(LAYERS[name].macs for name in names) / PEAK
    print(f"{'sum':6}{total:11,}{best / total:8.1%}")
    if len(names) < len(LAYERS):
        return True
    print(f"upstream, tuned, latency 1: {UPSTREAM:,} ({best / UPSTREAM:.1%}); ratio {total / UPSTREAM:.3f}")
    least = LEAST.get(latency, 0.0)
    held = best / total >= least
    print(f"at least {least:.0%} of the peak: {'holds' if held else 'DOES NOT HOLD'}")
    return held


def main() -> int:
    """Run the command line; return the exit status: 0 if every aim is reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=int, nargs="+", default=[1, 64], help="cycles from an address to its data")
    parser.add_argument("--layer", nargs="+", choices=[*LAYERS], default=[*LAYERS])
    parser.add_argument("--account", action="store_true", help="print what every module spent its cycles on")
    arguments = parser.parse_args()
    held = [report(arguments.layer, latency, account=arguments.account) for latency in arguments.latency]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
