"""Cycles of ResNet-18's ten packed convolutions with the library's own schedules, beside what bounds them.

    python -m bench.layers [--hardware 64/1 128/64] [--config b1k8 block32] [--layer C2] [--account]

Every layer is convolution, ``>> 8``, + bias, clip to 0..127, cast to int8, with tiles from the search for that
configuration (a name or a file) and hardware (bits of the bus, latency of the memory), and is checked against numpy. A
layer's bound is the largest of its products, its operations of the ALU, and the beats that it reads and writes once;
the peak is that of the GEMM core. Predictions are that of the search, and that of the instructions. The exit status
says whether the layers together reach 95 % of their bounds, and with block 16 and 64 bits 92 % of the peak at latency
1, 90 % at latency 64.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import vta
from bench.setups import hardware_text, setup_of
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.named_config import named_config
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.accounting import CycleAccount
from runtime.session import Session
from vta.cost import predict
from vta.nd import EXT_DEV, Device, empty
from vta.topi.conv.conv2d import ConvTiles
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import Bias, Clip, ShiftRight
from vta.topi.core.operator import Compiled, compile  # noqa: A004

PEAK = 256
"""Products of the default GEMM core in a cycle."""

LEAST_OF_BOUND = 0.95
"""The share of their bounds that the layers together are to reach."""

LEAST: Mapping[int, float] = {1: 0.92, 64: 0.90}
"""Latency -> the share of the peak that the layers together are to reach with block 16 and 64 bits."""

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
    """One layer on one accelerator; ``seconds`` of this process's CPU went to schedule, lowering and build.

    ``predicted`` is what the search thought, ``followed`` what its instructions say; ``bound`` are cycles that it
    cannot be below, ``peak`` those of the products alone.
    """

    name: str
    cycles: int
    predicted: int
    followed: int
    bound: int
    peak: int
    tiles: ConvTiles
    seconds: float
    account: CycleAccount | None


def measure(name: str, env: vta.Environment) -> Measured:
    """Build a layer, run it, and require the numbers that numpy gives."""
    operator, setup = LAYERS[name], env.hardware
    assert setup is not None
    begin = time.process_time()
    compiled = compile(operator, env)
    _ = compiled.module.linked  # made when a function is first called
    seconds = time.process_time() - begin
    tiles = compiled.scheduled.tiles
    assert isinstance(tiles, ConvTiles)
    device = run(compiled, setup.latency, bits=setup.hardware.data_width)
    assert device.stats.cycles is not None
    predicted, followed = predict(operator, tiles=tiles, env=env), predict(compiled)
    once = bytes_once(operator, env)
    bound = max(followed.gemm, followed.alu, followed.store, once // setup.hardware.beat_bytes)
    return Measured(
        name, device.stats.cycles, predicted.cycles, followed.cycles, bound, followed.gemm, tiles, seconds,
        device.stats.account,
    )  # fmt: skip


def bytes_once(operator: Conv2d, env: vta.Environment) -> int:
    """Return the bytes that are read if each is read once; a kernel of one place with a stride leaves some out."""
    plain = [np.zeros(each.shape, each.dtype) for each in operator.inputs(env)]
    data, *others = [packed.nbytes for packed in operator.pack(env, *plain)]
    left_out = operator.strides[0] * operator.strides[1] if operator.kernel == (1, 1) else 1
    return data // left_out + sum(others)


def run(compiled: Compiled, latency: int, constants: Sequence[np.ndarray] = (), *, bits: int = 64) -> RtlSimulator:
    """Run a compiled operator once on the hardware; return the device. Exits if the result is wrong.

    ``constants`` are arrays for the int32 inputs, in order; others are drawn.
    """
    env, operator = compiled.env, compiled.operator
    device = RtlSimulator(env.config, DeviceMemory(1 << 28), hardware=HardwareConfig(data_width=bits), latency=latency)
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


def report(names: list[str], env: vta.Environment, *, account: bool) -> bool:
    """Print the table of one accelerator; return whether the shares that are aimed at are reached."""
    setup = env.hardware
    assert setup is not None
    bits, latency, block = setup.hardware.data_width, setup.latency, env.BLOCK_IN
    print(f"block {block}, {bits} bits, latency {latency}:")
    print(
        f"{'layer':6}{'cycles':>11}{'peak':>8}{'bound':>8}{'search':>11}{'error':>8}{'followed':>11}{'error':>8}"
        f"{'build':>8}  tiles"
    )
    found = [measure(name, env) for name in names]
    for one in found:
        t = one.tiles
        print(
            f"{one.name:6}{one.cycles:11,}{one.peak / one.cycles:8.1%}{one.bound / one.cycles:8.1%}"
            f"{one.predicted:11,}{one.predicted / one.cycles - 1:8.1%}"
            f"{one.followed:11,}{one.followed / one.cycles - 1:8.1%}"
            f"{one.seconds:7.2f}s  {t.tile_co} blocks x {t.tile_h} x {t.tile_w}, {t.tile_ci} in a step, "
            f"copies {t.rotate_tiles} and {t.rotate_steps}, resident {t.resident.value}"
        )
        if account:
            print(one.account)
    total, peak, bound = (sum(getattr(one, name) for one in found) for name in ("cycles", "peak", "bound"))
    print(f"{'sum':6}{total:11,}{peak / total:8.1%}{bound / total:8.1%}", flush=True)
    if len(names) < len(LAYERS):
        return True
    held = bound / total >= LEAST_OF_BOUND
    print(f"at least {LEAST_OF_BOUND:.0%} of the bound: {'holds' if held else 'DOES NOT HOLD'}", flush=True)
    if (block, bits) != (16, 64):
        return held
    print(f"upstream, tuned, latency 1: {UPSTREAM:,}; ratio {total / UPSTREAM:.3f}")
    least = LEAST.get(latency, 0.0)
    print(f"at least {least:.0%} of the peak: {'holds' if peak / total >= least else 'DOES NOT HOLD'}", flush=True)
    return held and peak / total >= least


def main() -> int:
    """Run the command line; return the exit status: 0 if every aim is reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hardware", type=hardware_text, nargs="+", default=["64/1", "64/64"], help="BITS/LATENCY")
    parser.add_argument("--config", type=Path, nargs="+", help="names of `vta config list`, or files")
    parser.add_argument("--layer", nargs="+", choices=[*LAYERS], default=[*LAYERS])
    parser.add_argument("--account", action="store_true", help="print what every module spent its cycles on")
    arguments = parser.parse_args()
    environments = [
        vta.Environment(config, hardware=setup_of(hardware))
        for config in [named_config(path) for path in arguments.config or ()] or [VTAConfig()]
        for hardware in arguments.hardware
    ]
    held = [report(arguments.layer, env, account=arguments.account) for env in environments]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
