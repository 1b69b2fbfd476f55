"""Cycles of the hardware on the recorded streams, beside those that upstream's hardware needed, and beside the bound.

    python -m bench.cycles
    python -m bench.cycles --stream CT1 --latency 1 --account

Default configuration and the latencies that upstream was measured with (docs/hardware.md describes the memory). The
bound is that of any design with one GEMM micro-op a cycle: the largest of GEMM micro-ops, beats read (two for each
instruction included) and beats written. Every launch is checked: the functional simulator leaves the same memory.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.bulk import FieldTable, decode_fields, encode_fields
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.device import Device
from runtime.devices.functional import FunctionalSimulator
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.stats import LaunchStats
from tests.support.golden.golden import Case, case_names, load_case
from tests.support.golden.golden_launch import GOLDEN_MEMORY_LIMIT, golden_words, place_case

LATENCIES = (1, 32, 100)

SUMMED = (
    "conv2d.resnet-18.C2",
    "conv2d.resnet-18.C7",
    "conv2d.resnet-18.C9",
    "group_conv2d.mobilenet.D1",
    "group_conv2d.mobilenet.D8",
    "tut.convolution_opt",
)
"""Layers whose sum is compared."""

OTHER_BUSES: Mapping[str, Mapping[int, int]] = {
    "tut.matrix_multiply": {128: 5894, 256: 3810, 512: 2768},
    "tut.matrix_multiply_opt": {128: 74211, 256: 41244, 512: 24761},
    "tut.vta_get_started": {128: 907, 256: 615, 512: 467},
}
"""Upstream's cycles at latency 32 by width of the memory port in bits."""

OVERLAP = "conv2d.resnet-18.C2"
"""The stream that is run without its ALU work, too."""

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Measured:
    """One stream at one latency."""

    name: str
    latency: int
    cycles: int
    seconds: float
    account: str


@dataclass(frozen=True, slots=True)
class Job:
    """What to run."""

    name: str
    latency: int
    data_width: int = 64
    without_alu: bool = False


def without_alu_work(case: Case) -> Words:
    """Return the case's words with no iterations in its ALU instructions; their tokens stay."""
    tables = dict(decode_fields(golden_words(case), case.config))
    alu = tables["ALU"]
    zeros = np.zeros_like(alu.columns["iter_out"])
    tables["ALU"] = FieldTable("ALU", alu.index, {**alu.columns, "iter_out": zeros})
    return encode_fields(tables, case.config)


def run(job: Job) -> Measured:
    """Run one stream; require the memory that the functional simulator leaves."""
    case = load_case("default", job.name)
    words = without_alu_work(case) if job.without_alu else golden_words(case)
    hardware = HardwareConfig(data_width=job.data_width)
    ours = RtlSimulator(case.config, DeviceMemory(GOLDEN_MEMORY_LIMIT), hardware=hardware, latency=job.latency)
    other = FunctionalSimulator(case.config, DeviceMemory(GOLDEN_MEMORY_LIMIT))
    _launch(other, case, words)
    start = time.process_time()
    stats = _launch(ours, case, words)
    seconds = time.process_time() - start
    if not np.array_equal(ours.memory.address_space(), other.memory.address_space()):
        raise SystemExit(f"{job.name}: tsim and sim leave different memory")
    assert stats.cycles is not None
    return Measured(job.name, job.latency, stats.cycles, seconds, str(stats.account))


def _launch(device: Device, case: Case, words: Words) -> LaunchStats:
    placed = place_case(device.memory, case, words)
    return device.launch(placed.address, placed.count)


def bound_of(case: Case) -> int:
    """Return the least cycles of a design with one GEMM micro-op a cycle and 64-bit memory."""
    counts = case.record["profiler"]
    read = sum(counts[f"{memory}_load_nbytes"] for memory in ("inp", "wgt", "acc", "uop")) / 8
    return int(max(counts["gemm_counter"], read + 2 * len(case.words), counts["out_store_nbytes"] / 8))


def report_streams(names: Sequence[str], latencies: Sequence[int], found: Mapping[tuple[str, int], Measured]) -> bool:
    """Print the table of streams; return whether none is slower than upstream."""
    print(
        f"{'stream':36}{'bound':>10}" + "".join(f"{'L=' + str(n):>11}{'upstream':>10}{'ratio':>7}" for n in latencies)
    )
    slower = []
    for name in names:
        case = load_case("default", name)
        line = f"{name:36}{bound_of(case):10,}"
        for latency in latencies:
            ours, theirs = found[name, latency].cycles, upstream(name, latency)
            line += f"{ours:11,}{theirs:10,}{ours / theirs:7.3f}"
            if ours > theirs:
                slower.append(f"{name} at latency {latency}")
        print(line)
    print(f"no more than upstream on every stream: {'yes' if not slower else 'NO: ' + ', '.join(slower)}")
    return not slower


def upstream(name: str, latency: int) -> int:
    """Return upstream's recorded cycles."""
    return int(load_case("default", name).record["upstream_rtl_cycles"][str(latency)])


def report_targets(found: Mapping[tuple[str, int], Measured]) -> bool:
    """Print the sums and ratios that are aimed at; return whether all hold."""
    held = True

    def line(what: str, value: float, most: float) -> None:
        nonlocal held
        held = held and value <= most
        print(f"{what:64}{value:8.3f}  at most {most:.3f}  {'holds' if value <= most else 'DOES NOT HOLD'}")

    for latency, most in ((1, 0.90), (100, 0.80)):
        ours = sum(found[name, latency].cycles for name in SUMMED)
        theirs = sum(upstream(name, latency) for name in SUMMED)
        line(f"sum of C2, C7, C9, D1, D8, convolution_opt, L={latency}", ours / theirs, most)
    for name, latency, most in (
        *(("conv2d_transpose.DCGAN.CT1", latency, 0.997) for latency in LATENCIES),
        ("tut.convolution_opt", 100, 0.65),
    ):
        line(f"{name}, L={latency}", found[name, latency].cycles / upstream(name, latency), most)
    return held


def report_overlap(with_alu: Measured, without: Measured) -> bool:
    """Print how much of the ALU's work is hidden behind other work; return whether at least 60 % is."""
    implied = int(load_case("default", OVERLAP).record["profiler"]["alu_counter"])
    share = (with_alu.cycles - without.cycles) / implied
    print(
        f"{OVERLAP} without its ALU work, L={with_alu.latency}: {without.cycles:,} cycles, saves "
        f"{with_alu.cycles - without.cycles:,} of {implied:,} ({share:.1%}, at most 40 %)"
    )
    return share <= 0.4


def streams(parts: Sequence[str] | None) -> list[str]:
    """Return the names of the streams that upstream's cycles are known of, and that contain one of ``parts``."""
    return [
        name
        for folder, name in case_names()
        if folder == "default" and "upstream_rtl_cycles" in load_case(folder, name).record
        if not parts or any(part in name for part in parts)
    ]


def report_rest(pool: ProcessPoolExecutor, found: Mapping[tuple[str, int], Measured]) -> bool:
    """Print the targets, how much ALU work is hidden, and other buses; return whether all is as aimed at."""
    held = report_targets(found)
    for result in pool.map(run, [Job(OVERLAP, latency, without_alu=True) for latency in LATENCIES]):
        held &= report_overlap(found[OVERLAP, result.latency], result)
    wide = [Job(name, 32, data_width=width) for name, widths in OTHER_BUSES.items() for width in widths]
    for job, result in zip(wide, pool.map(run, wide), strict=True):
        theirs = OTHER_BUSES[job.name][job.data_width]
        held &= result.cycles <= theirs
        print(
            f"{job.name}, {job.data_width}-bit memory, L=32: {result.cycles:,}, upstream {theirs:,}, "
            f"ratio {result.cycles / theirs:.3f}"
        )
    return held


def main() -> int:
    """Run the command line; return the exit status: 0 if every aim is reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stream", action="append", help="only streams whose name contains this")
    parser.add_argument("--latency", action="append", type=int, choices=LATENCIES, help="only this one")
    parser.add_argument("--account", action="store_true", help="print what every module spent its cycles on")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    names = streams(arguments.stream)
    if not names:
        parser.error(f"no stream's name contains {' or '.join(map(repr, arguments.stream))}")
    latencies = arguments.latency or LATENCIES
    RtlSimulator(load_case("default", names[0]).config, DeviceMemory(1 << 24))  # compiled once, for all
    with ProcessPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(run, [Job(name, latency) for name in names for latency in latencies]))
        found = {(result.name, result.latency): result for result in results}
        held = report_streams(names, latencies, found)
        if arguments.account:
            for result in results:
                print(f"\n{result.name}, L={result.latency}: {result.cycles:,} cycles\n{result.account}")
        if arguments.stream or arguments.latency:
            return not held
        held &= report_rest(pool, found)
    cycles, seconds = sum(r.cycles for r in results), sum(r.seconds for r in results)
    print(f"{cycles:,} cycles in {seconds:.1f} CPU seconds: {cycles / seconds / 1e6:.2f} M cycles/s")
    return not held


if __name__ == "__main__":
    sys.exit(main())
