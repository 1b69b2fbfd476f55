"""Many threads and processes at once, each with modules and networks of its own, on devices of their own.

    python -m bench.mixed_load
    python -m bench.mixed_load --seconds 120 --threads 16 --processes 8

One process with ``--threads`` threads, and ``--processes`` with one thread each, start at once. A thread compiles a
module and a random network that nobody else has, and runs both on ``sim`` again and again, with fresh numbers for the
module; now and then it compiles another of each, while the others run. Numbers are those of plain numpy: a sum for
modules, the integer graph's interpreter for networks. All share one cache of native code, empty at the beginning.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

import vta
from bench.threads import Verdict, Work, adding, in_threads
from runtime.executor.runner import NetworkRunner
from runtime.memory.array import DeviceArray
from runtime.session import Session
from tests.support.relay.random_networks import random_network
from vta.relay.backend.session import compile_model
from vta.relay.interpreter import run as interpreted

STEPS = 4
"""Layers of a network."""
ROUNDS = 8
"""Of one module and one network, before others are compiled."""

Job = Callable[[np.random.Generator], None]


def module_job(rng: np.random.Generator, session: Session) -> Job:
    """Compile a module that adds a number to tiles; return what runs it once."""
    env = vta.get_env()
    tiles, addend = int(rng.integers(1, 100)), int(rng.integers(-1000, 1000))
    shape = (tiles, env.BATCH, env.BLOCK_OUT)
    module = adding(addend, tiles=tiles)

    def job(rng: np.random.Generator) -> None:
        numbers = rng.integers(-(1 << 20), 1 << 20, shape).astype(np.int32)
        source = DeviceArray(session, shape, "int32").copyfrom(numbers)
        target = DeviceArray(session, shape, env.out_dtype)
        module(source, target)
        if not np.array_equal(target.numpy(), (numbers + addend).astype(np.int8)):
            raise AssertionError(f"a module that adds {addend} to {tiles} tiles: wrong numbers")

    return job


def network_job(rng: np.random.Generator, session: Session) -> Job:
    """Compile a random network; return what runs it once."""
    seed = int(rng.integers(1 << 30))
    model, x = random_network(seed, steps=STEPS)
    built = compile_model(model, vta.get_env(), jobs=1, cache=False)
    result = interpreted(built.function, {"x": x})
    wanted = [np.asarray(each) for each in (result if isinstance(result, tuple) else (result,))]
    runner = NetworkRunner(built.network, session)

    def job(_: np.random.Generator) -> None:
        found = list(runner.run({"x": x}).values())
        for one, other in zip(found, wanted, strict=True):
            if not np.array_equal(one, other):
                raise AssertionError(f"network {seed}: {np.count_nonzero(one != other)} of {other.size} wrong numbers")

    return job


def worker(done: Counter[str]) -> Work:
    """Return one thread's work, which counts what it did."""
    session = Session(vta.get_env().config, "sim")
    jobs: list[Job] = []
    left = 0

    def work(rng: np.random.Generator) -> None:
        nonlocal left
        if not left:
            jobs[:] = [module_job(rng, session), network_job(rng, session)]
            done["compiled"] += 2
            left = ROUNDS
        for kind, job in zip(("modules", "networks"), jobs, strict=True):
            job(rng)
            done[kind] += 1
        left -= 1

    return work


def together(threads: int, *, seconds: float, seed: int) -> tuple[Verdict, Counter[str]]:
    """Let threads of this process work; return the verdict, and what they did."""
    counters = [Counter[str]() for _ in range(threads)]
    verdict = in_threads([worker(each) for each in counters], seconds=seconds, seed=seed)
    return verdict, sum(counters, Counter[str]())


def _child(seconds: float, threads: int, seed: int) -> subprocess.Popen[str]:
    words = ["--seconds", str(seconds), "--threads", str(threads), "--processes", "0", "--seed", str(seed), "--json"]
    return subprocess.Popen([sys.executable, "-m", "bench.mixed_load", *words], stdout=subprocess.PIPE, text=True)


def main() -> int:
    """Run everything at once, print what was done, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="this process alone, for the one that started it")
    options = parser.parse_args()
    if options.json:
        verdict, done = together(options.threads, seconds=options.seconds, seed=options.seed)
        print(json.dumps([list(verdict.errors), dict(done)]))
        return int(bool(verdict.errors))
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        sizes = [options.threads, *[1] * options.processes]
        children = [_child(options.seconds, size, options.seed + at) for at, size in enumerate(sizes)]
        said = [child.communicate()[0] for child in children]
    errors: list[str] = []
    total = Counter[str]()
    for child, text in zip(children, said, strict=True):
        wrong, done = json.loads(text) if text else ([f"a process ended with code {child.returncode}"], {})
        errors += wrong
        total.update(done)
    who = f"{options.threads} threads of a process and {options.processes} processes"
    what = f"{total['compiled']} compiled, {total['modules']} runs of modules, {total['networks']} of networks"
    took = f"{time.monotonic() - begin:.0f} s, seed {options.seed}"
    print(f"{who}, {took}: {what}: {'; '.join(errors) or 'all right'}")
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())
