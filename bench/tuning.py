"""Cycles of layers before and after tuning, each with the choices of the learned search measured on ``tsim``.

    python -m bench.tuning [--layers resnet18 grouped dcgan dense vit yolov3-tiny resnet50] [--trials 24] [--log FILE]

Before: the tiles of the library's search. After: the fastest of the choices that ``XGBTuner`` tried, the one before
among them; all are checked against numpy. ``choices`` are those that the models were asked about. A log is gone on
with, so that what is there is not measured again. Default configuration and hardware. The exit status says whether
ResNet-18's ten layers, if they were asked for, take at most 2,580,000 cycles. With ``--write``, the fastest record of
each layer of the log is what ``autotvm.tophub`` ships, where it is faster than without. ``--again`` tunes nothing and
measures what is shipped, which is what it takes after a change of the hardware: ``--again --write``. Tests:
tests/bench/test_tuning.py.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import vta
from bench import layers, network_shapes, products
from vta import autotvm
from vta.autotvm.callback import log_to_file
from vta.autotvm.library import index_of_tiles
from vta.autotvm.measure.inputs import MeasureInput, MeasureResult
from vta.autotvm.record import encode, load_from_file
from vta.autotvm.task import Task, create
from vta.autotvm.tophub import SHIPPED
from vta.topi import Conv2d, Dense
from vta.topi.core.epilogue import Bias, Clip, ShiftRight
from vta.topi.core.operator import Operator

__all__ = ["LAYERS", "main"]

MOST = 2_580_000
"""Cycles that ResNet-18's ten layers may take together, tuned."""

_STEPS = (ShiftRight(8), Bias(), Clip(0, 127))


def grouped() -> dict[str, Operator]:
    """Return the grouped convolutions of MobileNet, 16 channels a group: upstream's D1 to D9."""
    sizes = ((112, 32, 1), (112, 64, 2), (56, 128, 1), (56, 128, 2), (28, 256, 1), (28, 256, 2), (14, 512, 1))
    found: dict[str, Operator] = {}
    for number, (size, channels, stride) in enumerate((*sizes, (14, 512, 2), (7, 1024, 1)), 1):
        found[f"D{number}"] = Conv2d(
            1, channels, size, size, channels, (3, 3), (stride,) * 2, (1,) * 4, groups=channels // 16, epilogue=_STEPS
        )
    return found


def yolov3_tiny() -> dict[str, Operator]:
    """Return the convolutions of YOLOv3-tiny for images of 416x416, without the first one."""
    shapes = (
        (16, 208, 32, 3), (32, 104, 64, 3), (64, 52, 128, 3), (128, 26, 256, 3), (256, 13, 512, 3), (512, 13, 1024, 3),
        (1024, 13, 256, 1), (512, 13, 255, 1), (256, 13, 128, 1), (384, 26, 256, 3), (256, 26, 255, 1),
    )  # fmt: skip
    return {
        f"{inputs}x{size} {kernel}x{kernel} {outputs}": Conv2d(
            1, inputs, size, size, outputs, (kernel, kernel), padding=(kernel // 2,) * 4, epilogue=_STEPS
        )
        for inputs, size, outputs, kernel in shapes
    }


def vit() -> dict[str, Operator]:
    """Return the products of a layer of ViT-B/16."""
    return {f"{inner} to {columns}": Dense(197, inner, columns, _STEPS) for inner, columns in _PRODUCTS}


_PRODUCTS = ((768, 768), (768, 2304), (768, 3072), (3072, 768))


def _of_products(*names: str) -> dict[str, Operator]:
    return {name: products.LAYERS[name].operator for name in names}


LAYERS: Mapping[str, Callable[[], Mapping[str, Operator]]] = {
    "resnet18": lambda: layers.LAYERS,
    "grouped": grouped,
    "dcgan": lambda: _of_products("CT1", "CT2", "CT3"),
    "dense": lambda: _of_products("dense-1", "dense-4", "dense-128", "classes"),
    "vit": vit,
    "yolov3-tiny": yolov3_tiny,
    "resnet50": lambda: {layer.name: layer.operator for layer in network_shapes.resnet50()},
}


def tuned(task: Task, log: Path, trials: int, *, workers: int | None) -> tuple[float, float, int]:
    """Return the cost of the library's own choice and of the best one, and how many choices were considered."""
    costs: list[float] = []

    def remember(_: object, __: object, results: list[MeasureResult]) -> None:
        costs.extend(result.cost for result in results)

    option = autotvm.measure_option(autotvm.LocalBuilder(n_parallel=workers), autotvm.LocalRunner())
    tuner = autotvm.tuner.XGBTuner(task, 8, seed=0)
    tuner.tune(trials, option, callbacks=[log_to_file(log), remember], resume=log)  # type: ignore[list-item]
    return costs[0], tuner.best_cost, tuner.considered


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def write(log: Path) -> None:
    """Ship the fastest record of each workload of ``log``, if it is faster than the library's choice, the first one.

    What was shipped before is not any more: records hold for the streams of the day on which they were measured.
    """
    own: dict[object, float] = {}
    best: dict[object, tuple[MeasureInput, MeasureResult]] = {}
    for given, result in load_from_file(log):
        key = (given.target, given.workload)
        if result.error_no:
            continue
        own.setdefault(key, result.cost)
        if key not in best or result.cost < best[key][1].cost:
            best[key] = (given, result)
    lines = sorted(
        encode(given, result, times=False) for key, (given, result) in best.items() if result.cost < own[key]
    )
    SHIPPED.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{SHIPPED}: {len(lines)} records, {SHIPPED.stat().st_size:,} bytes")


def measure_again(log: Path) -> None:
    """Write into ``log``, for each record that is shipped, the library's choice and the record's, as they are today."""
    option = autotvm.measure_option(autotvm.LocalBuilder(), autotvm.LocalRunner())
    for given, result in load_from_file(SHIPPED):
        name, *arguments = given.workload
        task = create(str(name), arguments)
        assert task.operator is not None
        own = index_of_tiles(task.config_space, task.operator.schedule(task.env).tiles)
        assert own is not None
        pair = [task.config_space.get(own), given.config]
        results = [option.measure(task, config) for config in pair]
        with log.open("a", encoding="utf-8") as lines:
            lines.writelines(
                f"{encode(task.input(config), each)}\n" for config, each in zip(pair, results, strict=True)
            )
        first, was, now = (round(each.cost * 1e8) for each in (results[0], result, results[1]))
        print(f"{name} {arguments[:2]}: {was:,} cycles before, {now:,} now, {first:,} without", flush=True)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", nargs="+", choices=LAYERS, default=["resnet18"], metavar="SET")
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--log", type=Path, default=Path("tuning.log"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    if options.again:
        options.layers = []
        measure_again(options.log)
    status = 0
    print(f"{'layer':28}{'before':>11}{'after':>11}{'gain':>8}{'choices':>9}{'seconds':>9}{'of CPU':>9}")
    for name in options.layers:
        before = after = 0
        for layer, operator in LAYERS[name]().items():
            begin, spent = time.monotonic(), processor_seconds()
            [task] = autotvm.task.extract_from_operators([operator], env=vta.get_env())
            *costs, considered = tuned(task, options.log, options.trials, workers=options.workers)
            first, best = (round(cost * 1e8) for cost in costs)
            before, after = before + first, after + best
            seconds, of_cpu = time.monotonic() - begin, processor_seconds() - spent
            print(
                f"{layer:28}{first:11,}{best:11,}{1 - best / first:8.2%}{considered:9,}{seconds:9.1f}{of_cpu:9.1f}",
                flush=True,
            )
        print(f"{name:28}{before:11,}{after:11,}{1 - after / before:8.2%}")
        if name == "resnet18" and after > MOST:
            status = 1
    if options.write:
        write(options.log)
    return status


if __name__ == "__main__":
    sys.exit(main())
