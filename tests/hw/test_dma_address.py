# amaranth: UnusedElaboratable=no
import random
from typing import Any

import pytest

from hw.dma.address import BurstWalker
from hw.errors import ComponentError
from hw.sim.netlist.frontend import build_netlist
from tests.support.hw.hw_streams import put, run_benches, take


def expected_bursts(requests: list[dict[str, int]], *, beat: int, burst_beats: int) -> Any:
    bursts = []
    for request in requests:
        for row in range(request["rows"]):
            begin = request["addr"] + row * request["stride_bytes"]
            end = begin + request["row_bytes"]
            at = begin - begin % beat
            while at < end:
                line = at - at % (burst_beats * beat) + burst_beats * beat
                stop = min(line, end + -end % beat)
                bursts.append((at, (stop - at) // beat))
                at = stop
    return bursts


def run(walker: BurstWalker, requests: list[dict[str, int]], *, stall: float, seed: int) -> None:
    want = expected_bursts(requests, beat=1 << walker.beat_log, burst_beats=walker.burst_beats)
    got = []

    async def feed(ctx: Any) -> None:
        await put(ctx, walker.request, requests, seed=seed, stall=stall)

    async def drain(ctx: Any) -> None:
        for payload in await take(ctx, walker.cmd, len(want), seed=seed + 1, stall=stall):
            got.append((payload.addr, payload.beats))

    run_benches(walker, feed, drain)
    assert got == want
    assert all(addr // 4096 == (addr + beats * (1 << walker.beat_log) - 1) // 4096 for addr, beats in got)


def random_requests(generator: random.Random, count: int, unit: int) -> list[Any]:
    return [
        {
            "addr": generator.randrange(0, 1 << 14) * unit,
            "row_bytes": generator.randrange(1, 200) * unit,
            "stride_bytes": generator.randrange(0, 300) * unit,
            "rows": generator.randrange(1, 5),
        }
        for _ in range(count)
    ]


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize(("width", "burst", "unit"), [(64, 16, 1), (64, 64, 8), (128, 256, 16), (512, 64, 16)])
def test_bursts_cover_every_row_and_cross_no_line(width: int, burst: int, unit: int, stall: float) -> None:
    generator = random.Random(7)
    walker = BurstWalker(addr_width=32, data_width=width, burst_beats=burst, size_width=20, aligned=unit * 8 >= width)
    run(walker, random_requests(generator, 12, unit), stall=stall, seed=3)


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_a_walker_of_one_row_a_request_keeps_no_other_row(stall: float) -> None:
    walker = BurstWalker(addr_width=32, data_width=64, burst_beats=16, size_width=20, rows_width=1)
    requests = [request | {"rows": 1} for request in random_requests(random.Random(8), 12, 1)]
    run(walker, requests, stall=stall, seed=4)
    kept = {"next_row", "row_bytes", "rows_left"}
    for rows_width, expected in ((1, set()), (2, kept)):
        walker = BurstWalker(addr_width=32, data_width=64, burst_beats=16, size_width=20, rows_width=rows_width)
        assert kept & set(build_netlist(walker).signals) == expected


def test_a_burst_leaves_every_cycle_without_a_gap_between_requests() -> None:
    walker = BurstWalker(addr_width=32, data_width=64, burst_beats=16, size_width=20, aligned=True)
    requests = [{"addr": 4096 * i, "row_bytes": 8, "stride_bytes": 64, "rows": 2} for i in range(4)]
    seen = []

    async def feed(ctx: Any) -> None:
        await put(ctx, walker.request, requests)

    async def watch(ctx: Any) -> None:
        ctx.set(walker.cmd.ready, 1)
        for cycle in range(20):
            seen.append((cycle, ctx.get(walker.cmd.valid)))
            await ctx.tick()

    run_benches(walker, feed, watch)
    busy = [cycle for cycle, valid in seen if valid]
    assert len(busy) == 8
    assert busy[-1] - busy[0] == 7


@pytest.mark.parametrize(("width", "beats"), [(512, 128), (64, 512), (8, 512), (64, 3), (64, 0), (64, -4)])
def test_a_burst_longer_than_a_page_or_of_an_odd_number_is_refused(width: int, beats: int) -> None:
    with pytest.raises(ComponentError) as error:
        BurstWalker(addr_width=32, data_width=width, burst_beats=beats, size_width=20)
    assert str(error.value) == (
        "BurstWalker needs bursts of a power of two of beats within 4096 bytes, "
        f"not {beats} beats of {width // 8} bytes"
    )


@pytest.mark.parametrize(("width", "beats"), [(512, 64), (128, 256), (8, 256), (64, 1)])
def test_the_longest_and_the_shortest_bursts_are_taken(width: int, beats: int) -> None:
    walker = BurstWalker(addr_width=32, data_width=width, burst_beats=beats, size_width=20)
    request = {"addr": 3 * 4096, "row_bytes": 4096, "stride_bytes": 0, "rows": 1}
    run(walker, [request], stall=0.0, seed=1)
