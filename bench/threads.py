"""Threads that share a device memory, a session or a compiled module, interrupted at nearly every instruction.

    python -m bench.threads
    python -m bench.threads --seconds 60 --threads 16 --seed 7

``memory``: every thread allocates, fills, checks and frees arrays of random sizes, some of them by forgetting them.
``modules``: one compiled module, every thread calls it on a session of its own. ``sessions``: one module and one
session for all. Numbers are those of the thread that asked, or the exit status is 1. What may be shared is in
docs/runtime.md.
"""

import argparse
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

import vta
from runtime.memory.array import DeviceArray
from runtime.session import Session
from vta import te

SWITCH_SECONDS = 1e-6
"""Between two threads; 5 ms is Python's own."""
MEMORY_LIMIT = 1 << 27
LARGEST = 5_000
"""Numbers of an array."""
CALLS = 20
"""Of a module on the same arrays."""
KEPT = 12
"""Arrays that a thread has at a time."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many rounds a stress made, and what went wrong."""

    rounds: int
    errors: tuple[str, ...]


Work = Callable[[np.random.Generator], None]
"""One round of one thread; raises if anything is wrong."""


@contextmanager
def switching_often() -> Iterator[None]:
    """Let threads take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def in_threads(works: list[Work], *, seconds: float, seed: int) -> Verdict:
    """Let a thread do each of ``works`` again and again, until time is up or something is wrong."""
    errors: list[str] = []
    rounds = [0] * len(works)
    end = time.monotonic() + seconds

    def loop(number: int) -> None:
        rng = np.random.default_rng([seed, number])
        try:
            while time.monotonic() < end and not errors:
                works[number](rng)
                rounds[number] += 1
        except BaseException as error:
            errors.append(f"thread {number}, round {rounds[number]}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=loop, args=(number,)) for number in range(len(works))]
    with switching_often():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return Verdict(sum(rounds), tuple(errors))


def memory_stress(count: int, *, seconds: float, seed: int) -> Verdict:
    """Arrays of ``count`` threads in one memory keep their contents."""
    session = Session(vta.get_env().config, "reference", memory_limit=MEMORY_LIMIT)

    def worker() -> Work:
        kept: list[tuple[DeviceArray, int]] = []

        def work(rng: np.random.Generator) -> None:
            array = DeviceArray(session, (int(rng.integers(1, LARGEST)),), "int8")
            if array.numpy().any():
                raise AssertionError("a new array is not zero")
            value = int(rng.integers(1, 100))
            array.copyfrom(np.full(array.shape, value, np.int8))
            kept.append((array, value))
            if len(kept) > KEPT:
                old, expected = kept.pop(int(rng.integers(len(kept))))
                if not (old.numpy() == expected).all():
                    raise AssertionError("an array has another one's contents")
                if rng.integers(2):
                    old.free()
            if not rng.integers(20):
                gc.collect()

        return work

    verdict = in_threads([worker() for _ in range(count)], seconds=seconds, seed=seed)
    gc.collect()
    if session.memory.allocations and not verdict.errors:
        return Verdict(verdict.rounds, (f"{len(session.memory.allocations)} blocks were never given back",))
    return verdict


def add_seven() -> vta.Module:
    """Return a module that adds 7 to 64 tiles."""
    return adding(7, tiles=64)


def adding(addend: int, *, tiles: int) -> vta.Module:
    """Return a module that adds a number to int32 tiles, and stores what the output's type holds of it."""
    env = vta.get_env()
    shape = (tiles, env.BATCH, env.BLOCK_OUT)
    a = te.placeholder(shape, "int32", "a")
    loaded = te.compute(shape, lambda *i: a(*i), "loaded")
    added = te.compute(shape, lambda *i: loaded(*i) + addend, "added")
    out = te.compute(shape, lambda *i: added(*i).astype(env.out_dtype), "out")
    schedule = te.create_schedule(out.op)
    for stage in (loaded, added):
        schedule[stage].set_scope(env.acc_scope)
    schedule[added].pragma(added.op.axis[0], env.alu)
    for stage in (loaded, out):
        schedule[stage].pragma(stage.op.axis[0], env.dma_copy)
    return vta.build(schedule, [a, out])


def module_stress(count: int, *, shared: bool, seconds: float, seed: int) -> Verdict:
    """Calls of one module by ``count`` threads, on one session if ``shared``, compute what each asked for."""
    env = vta.get_env()
    module = add_seven()
    one = Session(env.config, "sim", memory_limit=MEMORY_LIMIT)

    def worker() -> Work:
        session = one if shared else Session(env.config, "sim", memory_limit=MEMORY_LIMIT)

        def work(rng: np.random.Generator) -> None:
            numbers = rng.integers(-(1 << 20), 1 << 20, (64, env.BATCH, env.BLOCK_OUT)).astype(np.int32)
            source = DeviceArray(session, numbers.shape, "int32").copyfrom(numbers)
            target = DeviceArray(session, numbers.shape, env.out_dtype)
            module.replays = not shared or bool(rng.integers(4))
            for _ in range(CALLS):
                module(source, target)
            if not np.array_equal(target.numpy(), (numbers + 7).astype(np.int8)):
                raise AssertionError("wrong numbers")

        return work

    return in_threads([worker() for _ in range(count)], seconds=seconds, seed=seed)


def main() -> int:
    """Run all stresses and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20, help="for each stress")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = False
    stresses: tuple[tuple[str, Callable[..., Verdict]], ...] = (
        ("memory", partial(memory_stress, options.threads)),
        ("modules", partial(module_stress, options.threads, shared=False)),
        ("sessions", partial(module_stress, options.threads, shared=True)),
    )
    for name, stress in stresses:
        verdict = stress(seconds=options.seconds, seed=options.seed)
        print(f"{name:9} {options.threads} threads, {verdict.rounds} rounds, seed {options.seed}: ", end="")
        print("; ".join(verdict.errors) or "all right")
        failed |= bool(verdict.errors)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
