"""Driving and reading Amaranth streams from test benches, with random stalls whose seed is in sight."""

import random
from collections.abc import Iterable
from typing import Any

from amaranth.sim import Simulator

__all__ = ["put", "run_benches", "take"]


async def put(ctx: Any, port: Any, values: Iterable[Any], *, seed: int = 0, stall: float = 0.0) -> None:
    """Offer each value on an In(stream) until it is taken; pause with probability ``stall`` before each."""
    generator = random.Random(seed)
    for value in values:
        while generator.random() < stall:
            await ctx.tick()
        ctx.set(port.payload, value)
        ctx.set(port.valid, 1)
        await ctx.tick().until(port.ready)
        ctx.set(port.valid, 0)


async def take(ctx: Any, port: Any, count: int, *, seed: int = 0, stall: float = 0.0) -> list[Any]:
    """Take ``count`` values from an Out(stream); pause with probability ``stall`` before each."""
    generator = random.Random(seed)
    values = []
    for _ in range(count):
        while generator.random() < stall:
            await ctx.tick()
        ctx.set(port.ready, 1)
        (value,) = await ctx.tick().sample(port.payload).until(port.valid)
        ctx.set(port.ready, 0)
        values.append(value)
    return values


def run_benches(design: Any, *benches: Any, background: tuple[Any, ...] = (), cycles: int = 20000) -> None:
    """Run test benches on ``design`` at one clock until the last one ends; fail after ``cycles``."""
    simulator = Simulator(design)
    simulator.add_clock(1e-6)

    async def give_up(ctx: Any) -> None:
        for _ in range(cycles):
            await ctx.tick()
        raise AssertionError(f"the benches did not end within {cycles} cycles")

    for bench in benches:
        simulator.add_testbench(bench)
    for bench in (*background, give_up):
        simulator.add_testbench(bench, background=True)
    simulator.run()
