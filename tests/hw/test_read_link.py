import random
from typing import Any

import pytest

from hw.read_link import ReadLink
from tests.support.hw.hw_streams import put, run_benches, take


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_commands_and_beats_pass_once_and_in_order(stall: float) -> None:
    link = ReadLink(addr_width=32, data_width=64)
    commands = [{"addr": 64 * index, "beats": index % 9 + 1} for index in range(60)]
    beats = [{"data": index * 0x0123456789, "last": index % 3 == 0} for index in range(60)]
    asked: list[Any] = []
    came: list[Any] = []

    async def ask(ctx: Any) -> None:
        await put(ctx, link.client.cmd, commands, seed=1, stall=stall)

    async def bring(ctx: Any) -> None:
        await put(ctx, link.engine.data, beats, seed=2, stall=stall)

    async def command(ctx: Any) -> None:
        asked.extend(await take(ctx, link.engine.cmd, len(commands), seed=3, stall=stall))

    async def take_beats(ctx: Any) -> None:
        came.extend(await take(ctx, link.client.data, len(beats), seed=4, stall=stall))

    run_benches(link, ask, bring, command, take_beats)
    assert [(each["addr"], each["beats"]) for each in asked] == [(each["addr"], each["beats"]) for each in commands]
    assert [(each["data"], each["last"]) for each in came] == [(each["data"], each["last"]) for each in beats]


def test_a_client_that_never_waits_gets_each_beat_a_cycle_after_it_came() -> None:
    link = ReadLink(addr_width=32, data_width=64, waits=False)
    generator = random.Random(5)
    offered = [(generator.random() < 0.6, generator.getrandbits(64), generator.random() < 0.3) for _ in range(100)]
    came: list[tuple[bool, int, bool]] = []

    async def bench(ctx: Any) -> None:
        ctx.set(link.client.data.ready, 1)
        for valid, value, last in offered:
            assert ctx.get(link.engine.data.ready) == 1
            ctx.set(link.engine.data.valid, valid)
            ctx.set(link.engine.data.p, {"data": value, "last": last})
            await ctx.tick()
            beat = link.client.data
            came.append((bool(ctx.get(beat.valid)), ctx.get(beat.p.data), bool(ctx.get(beat.p.last))))

    run_benches(link, bench)
    assert [found[0] for found in came] == [valid for valid, _, _ in offered]
    assert [found for found in came if found[0]] == [each for each in offered if each[0]]
