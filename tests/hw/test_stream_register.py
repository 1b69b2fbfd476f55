import random
from typing import Any

import pytest

from hw.skid import Skid
from hw.stream_register import StreamRegister
from tests.support.hw.hw_streams import put, run_benches, take


@pytest.mark.parametrize("kind", [StreamRegister, Skid])
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_every_transfer_passes_once_and_in_order(kind: type, stall: float) -> None:
    block = kind(8)
    values = [random.Random(1).randrange(256) for _ in range(100)]
    got = []

    async def feed(ctx: Any) -> None:
        await put(ctx, block.source, values, seed=1, stall=stall)

    async def drain(ctx: Any) -> None:
        got.extend(await take(ctx, block.sink, len(values), seed=2, stall=stall))

    run_benches(block, feed, drain)
    assert got == values


@pytest.mark.parametrize(("kind", "latency"), [(StreamRegister, 1), (Skid, 0)])
def test_one_transfer_a_cycle_with_its_latency(kind: type, latency: int) -> None:
    block = kind(8)
    seen = []

    async def bench(ctx: Any) -> None:
        ctx.set(block.sink.ready, 1)
        ctx.set(block.source.valid, 1)
        for cycle in range(10):
            ctx.set(block.source.payload, cycle)
            if ctx.get(block.sink.valid):
                seen.append(cycle - ctx.get(block.sink.payload))
            await ctx.tick()

    run_benches(block, bench)
    assert seen == [latency] * (10 - latency)


def test_a_skid_keeps_what_was_not_taken_although_the_source_gives_up() -> None:
    block = Skid(8)

    async def bench(ctx: Any) -> None:
        ctx.set(block.source.valid, 1)
        ctx.set(block.source.payload, 7)
        await ctx.tick()
        ctx.set(block.source.valid, 0)
        ctx.set(block.source.payload, 9)
        await ctx.tick().repeat(3)
        assert ctx.get(block.full)
        assert ctx.get(block.sink.valid)
        assert ctx.get(block.sink.payload) == 7
        ctx.set(block.sink.ready, 1)
        await ctx.tick()
        assert not ctx.get(block.sink.valid)

    run_benches(block, bench)
