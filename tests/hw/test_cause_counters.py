import random
from typing import Any

from hw.cause_counters import CauseCounters
from isa.machine.causes import Cause
from tests.support.hw.hw_streams import run_benches


def test_every_cycle_of_the_last_launch_is_in_the_counter_of_its_cause() -> None:
    generator = random.Random(1)
    counters = CauseCounters()

    async def bench(ctx: Any) -> None:
        for cycles in (1, 2, 57, 3, 40):
            expected = [[0] * 16 for _ in range(4)]
            ctx.set(counters.begins, 1)
            await ctx.tick()
            ctx.set(counters.begins, 0)
            ctx.set(counters.running, 1)
            for _ in range(cycles):
                for module in range(4):
                    cause = generator.choice(list(Cause)[: generator.choice((1, 3, 9))])
                    ctx.set(counters.causes[module], cause)
                    expected[module][cause] += 1
                await ctx.tick()
            ctx.set(counters.running, 0)
            await ctx.tick().repeat(4)
            for module in range(4):
                for cause in Cause:
                    ctx.set(counters.index, 16 * module + cause)
                    assert ctx.get(counters.value) == expected[module][cause], (cycles, module, cause)

    run_benches(counters, bench)


def test_launches_three_cycles_apart_do_not_count_for_one_another() -> None:
    counters = CauseCounters()

    async def bench(ctx: Any) -> None:
        for cause, cycles in ((Cause.WORK, 5), (Cause.MEMORY, 1), (Cause.WORK, 2)):
            ctx.set(counters.begins, 1)
            await ctx.tick()
            ctx.set(counters.begins, 0)
            ctx.set(counters.running, 1)
            for module in range(4):
                ctx.set(counters.causes[module], cause)
            await ctx.tick().repeat(cycles)
            ctx.set(counters.running, 0)
            await ctx.tick().repeat(2)
        await ctx.tick().repeat(2)
        for index in range(64):
            ctx.set(counters.index, index)
            assert ctx.get(counters.value) == (2 if index % 16 == Cause.WORK else 0), index

    run_benches(counters, bench)


def test_a_launch_that_is_refused_leaves_every_counter_at_zero() -> None:
    counters = CauseCounters()

    async def bench(ctx: Any) -> None:
        ctx.set(counters.running, 1)
        await ctx.tick().repeat(7)
        ctx.set(counters.running, 0)
        await ctx.tick().repeat(2)
        ctx.set(counters.begins, 1)
        await ctx.tick()
        ctx.set(counters.begins, 0)
        await ctx.tick().repeat(2)
        for index in range(64):
            ctx.set(counters.index, index)
            assert ctx.get(counters.value) == 0, index

    run_benches(counters, bench)


def test_before_the_first_launch_every_counter_is_zero() -> None:
    counters = CauseCounters()

    async def bench(ctx: Any) -> None:
        for index in range(64):
            ctx.set(counters.index, index)
            assert ctx.get(counters.value) == 0

    run_benches(counters, bench)
