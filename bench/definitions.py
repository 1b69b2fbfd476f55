"""Cycles of definitions that no template is written for, with the schedules that ``vta.auto_scheduler`` finds.

    python -m bench.definitions [--sets without resnet18] [--trials 6] [--hardware 64/1] [--only NAME ...]

Each definition is searched, so many choices are measured on ``tsim``, and the fastest is run again: its numbers are
compared with the definition built for the CPU, and its counters say what bounds it: the busiest of the steps of GEMM,
the operations of the ALU, the beats read and those written. ``without`` are depthwise convolutions with an epilogue,
gated convolutions and pools with a residual; ``resnet18`` the ten layers of bench.layers, beside the library's tiles
on the same hardware. The exit status says whether all of ``without`` reach 85 % of their bound, and each of the ten
layers 99 % of the library's speed.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import vta
from bench import layers
from bench.setups import hardware_text, setup_of
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session
from vta import auto_scheduler, te, topi
from vta.autotvm.measure.judge import case_of_definition
from vta.nd import EXT_DEV, Device, empty
from vta.topi.core.operator import compile  # noqa: A004

__all__ = ["WITHOUT", "main"]

LEAST_OF_BOUND, LEAST_OF_LIBRARY = 0.85, 0.99

Define = Callable[..., list[te.Tensor]]


def _stored(sums: te.Tensor, low: int = -128, high: int = 127) -> te.Tensor:
    return topi.cast(topi.clip(sums, low, high), "int8")


def _image(blocks: int, size: int, name: str = "data") -> te.Tensor:
    return te.placeholder((1, blocks, size, size, 1, 16), "int8", name)


def _kernel(outputs: int, inputs: int, size: int, name: str) -> te.Tensor:
    return te.placeholder((outputs, inputs, size, size, 16, 16), "int8", name)


def _bias(blocks: int) -> te.Tensor:
    return te.placeholder((1, blocks, 1, 1, 1, 16), "int32", "bias")


def depthwise(blocks: int, size: int, stride: int) -> list[te.Tensor]:
    """Return a depthwise convolution of 3x3, its weights in the diagonals, with a bias, a shift and limits."""
    data, kernel, bias = _image(blocks, size), _kernel(blocks, 1, 3, "kernel"), _bias(blocks)
    sums = topi.group_conv2d(data, kernel, (stride,) * 2, (1, 1, 1, 1), (1, 1), blocks)
    return [data, kernel, bias, _stored(topi.right_shift(topi.add(sums, bias), 6), 0)]


def gated(inputs: int, size: int, outputs: int, kernel: int, stride: int = 1) -> list[te.Tensor]:
    """Return a convolution times what limits make of another one of the same data."""
    data, first, second = _image(inputs, size), *(_kernel(outputs, inputs, kernel, name) for name in ("kernel", "gate"))
    sums, gate = (topi.conv2d(data, each, (stride,) * 2, (kernel // 2,) * 4, (1, 1)) for each in (first, second))
    opened = topi.clip(topi.right_shift(gate, 7), 0, 64)
    return [data, first, second, _stored(topi.right_shift(topi.multiply(topi.right_shift(sums, 6), opened), 6))]


def pool(blocks: int, size: int, window: int = 2) -> list[te.Tensor]:
    """Return the largest cells of windows side by side, a tensor added to them, and limits."""
    data, other = _image(blocks, window * size), _image(blocks, size, "other")
    shape = ((window, window), (window, window), (1, 1), (0, 0, 0, 0))
    pooled = topi.nn.pool2d(topi.cast(data, "int32"), *shape, "max", layout="NCHW1n16c")
    return [data, other, _stored(topi.add(pooled, topi.cast(other, "int32")))]


def convolution(name: str) -> list[te.Tensor]:
    """Return one of the ten layers, with the epilogue that bench.layers gives it."""
    layer = layers.LAYERS[name]
    [kernel, *_], [stride, *_], [pad, *_] = layer.kernel, layer.strides, layer.padding
    inputs, outputs = layer.in_channels // 16, layer.out_channels // 16
    data, weights, bias = _image(inputs, layer.height), _kernel(outputs, inputs, kernel, "kernel"), _bias(outputs)
    sums = topi.conv2d(data, weights, (stride, stride), (pad,) * 4, (1, 1))
    return [data, weights, bias, _stored(topi.add(topi.right_shift(sums, 8), bias), 0)]


WITHOUT: Mapping[str, tuple[Define, tuple[int, ...]]] = {
    "depthwise 3x3, 32x112x112": (depthwise, (2, 112, 1)),
    "depthwise 3x3/2, 128x56x56": (depthwise, (8, 56, 2)),
    "depthwise 3x3, 512x14x14": (depthwise, (32, 14, 1)),
    "depthwise 3x3, 1024x7x7": (depthwise, (64, 7, 1)),
    "gated 3x3, 64x28x28 to 64": (gated, (4, 28, 4, 3)),
    "gated 3x3/2, 64x28x28 to 64": (gated, (4, 28, 4, 3, 2)),
    "gated 1x1, 128x28x28 to 128": (gated, (8, 28, 8, 1)),
    "gated 5x5, 32x17x17 to 48": (gated, (2, 17, 3, 5)),
    "pool 2x2 + residual, 64x56x56": (pool, (4, 28)),
    "pool 2x2 + residual, 32x112x112": (pool, (2, 56)),
    "pool 2x2 + residual, 512x14x14": (pool, (32, 7)),
    "pool 2x2 + residual, 80x26x26": (pool, (5, 13)),
    "pool 4x4 + residual, 64x56x56": (pool, (4, 14, 4)),
}
"""Definitions that no template is written for, by what is read."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a definition took in cycles; ``parts`` are GEMM, ALU, beats read and written."""

    cycles: int
    parts: tuple[int, int, int, int]

    @property
    def share(self) -> float:
        """The part of the cycles that the busiest part works."""
        return max(self.parts) / self.cycles


def searched(define: Define, arguments: Sequence[object], env: vta.Environment, trials: int) -> Row:
    """Return what the fastest of so many measured schedules takes."""
    task = auto_scheduler.SearchTask(define, arguments, env=env)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        task.tune(auto_scheduler.TuningOptions(trials, [auto_scheduler.RecordToFile(log)]))
        schedule, tensors = task.apply_best(log)
    with env:
        module = vta.build(schedule, tensors, target=env.target)
    setup = env.hardware
    assert setup is not None
    device = RtlSimulator(env.config, DeviceMemory(1 << 28), hardware=setup.hardware, latency=setup.latency)
    place = Device(EXT_DEV, 0, Session(env.config, device))
    case = case_of_definition(task.tensors(), np.random.default_rng(0))
    result = empty(tuple(int(extent) for extent in tensors[-1].shape), str(tensors[-1].dtype), place)
    module(*(vta.nd.array(values, place) for values in case.arrays), result)
    if not case.is_right(result.numpy()):
        raise SystemExit(f"{define.__name__}{tuple(arguments)}: the result is not the definition's")
    counted, beat = device.stats.as_dict(), setup.hardware.beat_bytes
    read = sum(counted[f"{memory}_load_nbytes"] for memory in ("inp", "wgt", "acc", "uop")) // beat
    parts = (counted["gemm_counter"], counted["alu_counter"], read, counted["out_store_nbytes"] // beat)
    return Row(counted["cycle_count"], parts)


def report_without(wanted: tuple[str, ...], env: vta.Environment, trials: int) -> bool:
    """Print the definitions without templates; return whether all reach what is aimed at."""
    print("| definition | cycles | of the bound | GEMM | ALU | read | written |\n|---|---|---|---|---|---|---|")
    held = True
    for name, (define, arguments) in WITHOUT.items():
        if name.startswith(wanted):
            row = searched(define, arguments, env, trials)
            parts = " | ".join(f"{part:,}" for part in row.parts)
            print(f"| {name} | {row.cycles:,} | {row.share:.1%} | {parts} |", flush=True)
            held &= row.share >= LEAST_OF_BOUND
    return held


def report_resnet18(wanted: tuple[str, ...], env: vta.Environment, trials: int) -> bool:
    """Print the ten layers beside the library's; return whether all reach what is aimed at."""
    setup = env.hardware
    assert setup is not None
    print("| layer | library | found | of the library's speed |\n|---|---|---|---|")
    held = True
    for name, layer in layers.LAYERS.items():
        if name.startswith(wanted):
            library = layers.run(compile(layer, env), setup.latency, bits=setup.hardware.data_width).stats.cycles
            assert library is not None
            row = searched(convolution, (name,), env, trials)
            print(f"| {name} | {library:,} | {row.cycles:,} | {library / row.cycles:.1%} |", flush=True)
            held &= library / row.cycles >= LEAST_OF_LIBRARY
    return held


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=["without", "resnet18"], default=["without", "resnet18"])
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--hardware", type=hardware_text, default="64/1", help="BITS/LATENCY")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of definitions whose names begin so")
    options = parser.parse_args()
    env = vta.Environment(vta.get_env().config, hardware=setup_of(options.hardware))
    wanted = tuple(options.only or ("",))
    reports = {"without": report_without, "resnet18": report_resnet18}
    found = [reports[name](wanted, env, options.trials) for name in options.sets]  # every one, whatever the first says
    held = all(found)
    aims = f"at least {LEAST_OF_BOUND:.0%} of the bound, {LEAST_OF_LIBRARY:.0%} of the library's speed"
    print(f"{aims}: {'holds' if held else 'DOES NOT HOLD'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
