"""What recording costs: CPU time of the same launches without any logs, with logs that are off, and recorded in a file.

    python -m bench.recording
    python -m bench.recording --rounds 41 --work C9

Default configuration. *Without* is a ``tsim`` made with ``recordable=False``, whose native code has no logs at all;
*off* and *on* are an ordinary one, on its own and inside ``vta.inspect.trace.recording``, the file included.
Contestants take turns, in another order each round, and a ratio is the median of the rounds' ratios, so that a busy
machine hits both sides; the quartiles beside it say how far single rounds lie apart. Work: the convolution tutorial
with two virtual threads, two recorded streams, a small program that is called again and again, and (on ``sim`` alone)
the first call of the tutorial, whose stream is not known yet. The exit status says whether ``tsim`` keeps its limits
over all works together: off at most 1 % over without, on at most 2 times off for each.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

import vta
from examples import convolution, vector_add
from isa.config import VTAConfig
from runtime.devices.device import Device
from runtime.devices.functional import FunctionalSimulator
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session
from tests.support.golden.golden import load_case
from tests.support.golden.golden_launch import GOLDEN_MEMORY_LIMIT, place_case
from vta.inspect.trace import recording
from vta.nd import EXT_DEV
from vta.nd import Device as Place

ROUNDS = 21
CALLS = 50
"""Calls of the small program in a measurement."""
MOST_OFF, MOST_ON = 1.01, 2.0
"""Limits on ``tsim``: off beside without (all works together), on beside off (each)."""

Run = Callable[[], object]
Seconds = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Work:
    """Something to run; ``prepare`` returns what runs it once on a session. On ``sim`` alone if not ``on_tsim``."""

    name: str
    prepare: Callable[[Session], Run]
    on_tsim: bool = True


def tutorial(session: Session, *, replays: bool = True) -> Run:
    """Return a call of the convolution tutorial with two virtual threads, checked once."""
    env = vta.get_env()
    with env:
        s, args = convolution.schedule(env, 2)
        layer = vta.build(s, args, target=env.target, name="convolution")
        inputs, expected = convolution.random_layer(env)
    layer.replays = replays
    place = Place(EXT_DEV, 0, session)
    arrays = [vta.nd.array(values, place) for values in inputs]
    result = vta.nd.empty(args[-1].shape, env.out_dtype, place)
    layer(*arrays, result)
    np.testing.assert_array_equal(result.numpy(), expected)
    return lambda: layer(*arrays, result)


def small_calls(session: Session) -> Run:
    """Return many calls of the vector addition."""
    env = vta.get_env()
    s, args = vector_add.schedule(env)
    add = vta.build(s, args, target=env.target, name="vadd")
    place = Place(EXT_DEV, 0, session)
    arrays = [vta.nd.array(np.ones(vector_add_shape(env), tensor.dtype), place) for tensor in args]

    def run() -> None:
        for _ in range(CALLS):
            add(*arrays)

    return run


def vector_add_shape(env: vta.Environment) -> tuple[int, ...]:
    """Return the shape of the tutorial's vectors."""
    return (vector_add.O, vector_add.M, env.BATCH, env.BLOCK_OUT)


def stream(name: str) -> Callable[[Session], Run]:
    """Return what prepares a recorded launch."""

    def prepare(session: Session) -> Run:
        placed = place_case(session.memory, load_case("default", name))
        return lambda: session.device.launch(placed.address, placed.count)

    return prepare


WORKS = (
    Work("convolution tutorial, 2 threads", tutorial),
    Work("recorded conv2d C7", stream("conv2d.resnet-18.C7")),
    Work("recorded conv2d C9", stream("conv2d.resnet-18.C9")),
    Work(f"vector add, {CALLS} calls", small_calls),
    Work("convolution tutorial, first call", lambda session: tutorial(session, replays=False), on_tsim=False),
)


def measure(runs: Mapping[str, tuple[Session, Run]], rounds: int, file: Path) -> dict[str, Seconds]:
    """Return the CPU seconds of each contestant in each round; the one called ``on`` is recorded into ``file``."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    for number in range(rounds + 1):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            session, run = runs[name]
            start = time.thread_time()
            with recording(session, file) if name == "on" else nullcontext():
                run()
            if number:  # the first round warms up
                found[name].append(time.thread_time() - start)
    return {name: np.array(seconds) for name, seconds in found.items()}


def contestants(work: Work, device: str) -> dict[str, tuple[Session, Run]]:
    """Return the sessions that take turns, each with a device of its own; off and on share one."""
    config, sessions = VTAConfig(), {}
    for name in ("without", "off") if device == "tsim" else ("off",):
        memory = DeviceMemory(GOLDEN_MEMORY_LIMIT)
        made: Device = (
            RtlSimulator(config, memory, recordable=name == "off")
            if device == "tsim"
            else FunctionalSimulator(config, memory)
        )
        session = Session(config, made)
        sessions[name] = session, work.prepare(session)
    return {**sessions, "on": sessions["off"]}


def shown(over: Seconds, under: Seconds) -> tuple[float, str]:
    """Return the median of the rounds' ratios, and text that has the quartiles, too."""
    low, middle, high = (float(value) for value in np.quantile(over / under, (0.25, 0.5, 0.75)))
    return middle, f"{middle:.3f} ({low:.3f}-{high:.3f})"


def main() -> int:
    """Run the command line; return the exit status: 0 if the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--work", default="", help="only work whose name contains this")
    arguments = parser.parse_args()
    print(
        f"Python {platform.python_version()}, numpy {version('numpy')}, llvmlite {version('llvmlite')}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {arguments.rounds} rounds"
    )
    print(f"{'':6}{'work':34}{'off, ms':>10}{'off/without':>24}{'on/off':>24}  file")
    sums: dict[str, Seconds] = {}
    fallen: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace"
        for device in ("tsim", "sim"):
            for work in WORKS:
                if arguments.work not in work.name or (device == "tsim" and not work.on_tsim):
                    continue
                found = measure(contestants(work, device), arguments.rounds, file)
                ratio, on = shown(found["on"], found["off"])
                off = ""
                if device == "tsim":
                    off = shown(found["off"], found["without"])[1]
                    if ratio > MOST_ON:
                        fallen.append(f"{work.name}: on/off is {ratio:.3f}, at most {MOST_ON}")
                    for name, seconds in found.items():
                        sums[name] = sums.get(name, np.zeros(arguments.rounds)) + seconds
                print(
                    f"{device:6}{work.name:34}{np.median(found['off']) * 1e3:10.1f}{off:>24}{on:>24}"
                    f"  {file.stat().st_size:,} bytes"
                )
    if sums:
        ratio, text = shown(sums["off"], sums["without"])
        if ratio > MOST_OFF:
            fallen.append(f"tsim, all together: off/without is {ratio:.3f}, at most {MOST_OFF}")
        print(f"tsim, all together: off/without {text}, at most {MOST_OFF}; on/off {shown(sums['on'], sums['off'])[1]}")
    for each in fallen:
        print(f"A LIMIT DOES NOT HOLD: {each}")
    if not fallen:
        print("the limits hold")
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(main())
