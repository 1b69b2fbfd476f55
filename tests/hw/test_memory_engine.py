# amaranth: UnusedElaboratable=no
import random
from typing import Any

import pytest

from hw.memory_engine import MemoryEngine
from hw.sim import compile_design
from tests.support.hw.axi_dram import AxiDram
from tests.support.hw.hw_streams import put, run_benches, take

IMAGE = random.Random(2).randbytes(1 << 14)


def engine_of(readers: int, *, width: int = 64, urgent: int = 1, read_beats: int = 32) -> Any:
    return MemoryEngine(
        addr_width=32,
        data_width=width,
        readers=readers,
        urgent=urgent,
        read_bursts=16,
        read_beats=read_beats,
        write_bursts=4,
    )


def random_bursts(generator: random.Random, count: int, beat: int) -> Any:
    bursts = []
    for _ in range(count):
        beats = generator.randrange(1, 9)
        addr = generator.randrange(0, len(IMAGE) // beat - 8) * beat
        beats = min(beats, (4096 - addr % 4096) // beat)
        bursts.append({"addr": addr, "beats": beats})
    return bursts


@pytest.mark.parametrize(("latency", "stall"), [(1, 0.0), (20, 0.0), (3, 0.4)])
@pytest.mark.parametrize("width", [64, 256])
def test_every_reader_gets_its_own_beats_in_order(width: int, latency: int, stall: float) -> None:
    generator = random.Random(4)
    engine = engine_of(3, width=width)
    dram = AxiDram(bytearray(IMAGE), latency=latency, stall=stall, seed=1)
    beat = width // 8
    bursts = [random_bursts(generator, 15, beat) for _ in range(3)]
    want = [
        [
            (int.from_bytes(IMAGE[b["addr"] + i * beat : b["addr"] + (i + 1) * beat], "little"), i == b["beats"] - 1)
            for b in client
            for i in range(b["beats"])
        ]
        for client in bursts
    ]
    got: list[list[Any]] = [[], [], []]
    benches = []
    for index in range(3):

        async def feed(ctx: Any, index: int = index) -> None:
            await put(ctx, engine.readers[index].cmd, bursts[index], seed=index, stall=stall)

        async def drain(ctx: Any, index: int = index) -> None:
            for part in await take(ctx, engine.readers[index].data, len(want[index]), seed=index + 9, stall=stall):
                got[index].append((part.data, bool(part.last)))

        benches += [feed, drain]
    counted = [0, 0]

    async def count_beats(ctx: Any) -> None:
        while True:
            passed = (await ctx.tick().sample(engine.read_beat, engine.write_beat))[2:]
            counted[:] = [count + each for count, each in zip(counted, passed, strict=True)]

    run_benches(engine, *benches, background=(dram.bench(engine.axi), count_beats))
    assert got == want
    assert counted == [sum(map(len, want)), 0]


def test_reads_of_one_client_cover_the_latency() -> None:
    engine = engine_of(1, read_beats=128)
    dram = AxiDram(bytearray(IMAGE), latency=60)
    bursts = [{"addr": 64 * i, "beats": 8} for i in range(8 * 4)]
    cycles: list[Any] = []

    async def feed(ctx: Any) -> None:
        await put(ctx, engine.readers[0].cmd, bursts)

    async def drain(ctx: Any) -> None:
        ctx.set(engine.readers[0].data.ready, 1)
        while len(cycles) < 256:
            (valid,) = (await ctx.tick().sample(engine.readers[0].data.valid))[2:]
            if valid:
                cycles.append(dram.cycle)

    run_benches(engine, feed, drain, background=(dram.bench(engine.axi),))
    assert cycles[-1] - cycles[0] == 255


@pytest.mark.parametrize(("latency", "ahead"), [(1, (8, 24)), (60, (64, 72))])
def test_a_patient_reader_has_as_many_beats_on_their_way_as_the_memory_needs(
    latency: int, ahead: tuple[int, ...]
) -> None:
    engine = engine_of(2, urgent=1, read_beats=64)
    dram = AxiDram(bytearray(IMAGE), latency=latency)
    bursts = [{"addr": 64 * i, "beats": 8} for i in range(40)]
    cycles: list[int] = []
    most: list[int] = []

    async def feed(ctx: Any) -> None:
        await put(ctx, engine.readers[1].cmd, bursts)

    async def drain(ctx: Any) -> None:
        asked = 0
        ctx.set(engine.readers[1].data.ready, 1)
        while len(cycles) < 320:
            cmd = engine.readers[1].cmd
            valid, sent, ready = (await ctx.tick().sample(engine.readers[1].data.valid, cmd.valid, cmd.ready))[2:]
            asked += 8 * (sent and ready)
            if valid:
                cycles.append(dram.cycle)
            most.append(asked - len(cycles))

    run_benches(engine, feed, drain, background=(dram.bench(engine.axi),))
    assert ahead[0] <= max(most) <= ahead[1]
    if latency == 1:
        assert cycles[-1] - cycles[0] == 319


def test_after_a_flush_a_patient_reader_begins_anew() -> None:
    engine = engine_of(2, urgent=1, read_beats=64)
    dram = AxiDram(bytearray(IMAGE), latency=40)
    burst = {"addr": 0, "beats": 8}
    times = []

    async def bench(ctx: Any) -> None:
        reader = engine.readers[1]
        ctx.set(reader.data.ready, 1)
        for _ in range(2):
            await ctx.tick()
            begin = dram.cycle
            await put(ctx, reader.cmd, [burst] * 30)
            ctx.set(engine.flush, 1)
            await ctx.tick()
            while not ctx.get(engine.quiet):
                await ctx.tick()
            ctx.set(engine.flush, 0)
            times.append(dram.cycle - begin)

    run_benches(engine, bench, background=(dram.bench(engine.axi),))
    assert times[0] == times[1]


@pytest.mark.parametrize(("latency", "stall"), [(1, 0.0), (20, 0.0), (3, 0.4)])
def test_writes_reach_memory_and_each_burst_is_answered(latency: int, stall: float) -> None:
    generator = random.Random(6)
    engine = engine_of(1)
    memory = bytearray(IMAGE)
    dram = AxiDram(memory, latency=latency, stall=stall, seed=3)
    bursts = random_bursts(generator, 20, 8)
    want = bytearray(IMAGE)
    beats = []
    for burst in bursts:
        for index in range(burst["beats"]):
            data = generator.randbytes(8)
            strb = generator.choice([255, 15, 128])
            beats.append({"data": int.from_bytes(data, "little"), "strb": strb})
            for byte in range(8):
                if strb >> byte & 1:
                    want[burst["addr"] + 8 * index + byte] = data[byte]
    done: list[Any] = []

    async def feed(ctx: Any) -> None:
        await put(ctx, engine.writer.cmd, bursts, seed=1, stall=stall)

    async def feed_beats(ctx: Any) -> None:
        await put(ctx, engine.writer.data, beats, seed=2, stall=stall)

    counted = [0, 0]

    async def watch(ctx: Any) -> None:
        while len(done) < len(bursts):
            pulse, *passed = (await ctx.tick().sample(engine.writer.done, engine.write_beat, engine.read_beat))[2:]
            counted[:] = [count + each for count, each in zip(counted, passed, strict=True)]
            if pulse:
                done.append(dram.cycle)

    run_benches(engine, feed, feed_beats, watch, background=(dram.bench(engine.axi),))
    assert memory == want
    assert counted == [len(beats), 0]


def test_an_urgent_reader_goes_first_and_the_others_take_turns() -> None:
    engine = engine_of(4, urgent=2)
    dram = AxiDram(bytearray(IMAGE), latency=1)
    benches = []
    for index in range(4):

        async def feed(ctx: Any, index: int = index) -> None:
            await put(ctx, engine.readers[index].cmd, [{"addr": 4096 * index // 2, "beats": 8}] * 3)

        async def drain(ctx: Any, index: int = index) -> None:
            await take(ctx, engine.readers[index].data, 24)

        benches += [feed, drain]
    run_benches(engine, *benches, background=(dram.bench(engine.axi),))
    order = [address // 2048 for _, address, _ in dram.read_addresses]
    assert order == [0, 0, 0, 1, 1, 1, 2, 3, 2, 3, 2, 3]


def test_a_flush_ends_what_was_begun_and_touches_no_byte() -> None:
    engine = engine_of(1)
    memory = bytearray(IMAGE)
    dram = AxiDram(memory, latency=12, stall=0.3, seed=5)

    async def bench(ctx: Any) -> None:
        await put(ctx, engine.readers[0].cmd, [{"addr": 0, "beats": 8}, {"addr": 64, "beats": 8}])
        await put(ctx, engine.writer.cmd, [{"addr": 0, "beats": 8}, {"addr": 64, "beats": 4}])
        await put(ctx, engine.writer.data, [{"data": 0, "strb": 0}] * 3)
        ctx.set(engine.flush, 1)
        await ctx.tick()
        ctx.set(engine.readers[0].cmd.valid, 1)
        while not ctx.get(engine.quiet):
            assert not ctx.get(engine.readers[0].cmd.ready)
            assert not ctx.get(engine.readers[0].data.valid)
            await ctx.tick()

    run_benches(engine, bench, background=(dram.bench(engine.axi),))
    assert memory == IMAGE
    assert not dram.reads
    assert not dram.write_bursts
    assert not dram.responses


@pytest.mark.parametrize("write", [False, True])
def test_an_error_response_is_reported_with_who_asked(write: bool) -> None:
    engine = engine_of(2)
    dram = AxiDram(bytearray(IMAGE), latency=2, errors=range(128, 136))
    seen = []

    async def bench(ctx: Any) -> None:
        if write:
            await put(ctx, engine.writer.cmd, [{"addr": 120, "beats": 2}])
            await put(ctx, engine.writer.data, [{"data": 1, "strb": 255}] * 2)
        else:
            ctx.set(engine.readers[1].data.ready, 1)
            await put(ctx, engine.readers[1].cmd, [{"addr": 120, "beats": 2}])
        for _ in range(12):
            error, *who = (await ctx.tick().sample(engine.error, engine.error_write, engine.error_reader))[2:]
            if error:
                seen.append(who)

    run_benches(engine, bench, background=(dram.bench(engine.axi),))
    assert len(seen) == 1
    assert seen[0][0] == write
    assert write or seen[0][1] == 1


def test_more_urgent_readers_than_readers_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^MemoryEngine needs a reader and 0 to 1 urgent ones, not 2$"):
        engine_of(1, urgent=2)


@pytest.mark.parametrize(("readers", "urgent"), [(1, 0), (2, 0), (3, 0), (3, 3), (4, 2), (5, 1)])
def test_who_is_granted_is_the_first_urgent_one_or_the_next_in_turn(readers: int, urgent: int) -> None:
    generator = random.Random(8)
    design = compile_design(engine_of(readers, urgent=urgent))
    design.poke("axi__arready", 1)
    turn, grants = urgent, 0
    for cycle in range(300):
        if cycle % 8 == 0:  # before too many beats are on their way
            design.reset()
            design.poke("axi__arready", 1)
            turn = urgent
        wants = [generator.random() < 0.4 for _ in range(readers)]
        for index, want in enumerate(wants):
            design.poke(f"readers__{index}__cmd__valid", int(want))
            design.poke(f"readers__{index}__cmd__payload", 1 << 32 | index * 64)
        order = [*range(urgent), *range(turn, readers), *range(urgent, turn)]
        granted = next((index for index in order if wants[index]), None)
        found = [design.peek(f"readers__{index}__cmd__ready") for index in range(readers)]
        assert found == [int(index == granted) for index in range(readers)], (cycle, turn, wants)
        assert design.peek("axi__arvalid") == (granted is not None)
        if granted is not None:
            grants += 1
            assert design.peek("axi__araddr") == granted * 64
            if granted >= urgent:
                turn = granted + 1 if granted + 1 < readers else urgent
        design.step()
    assert grants > 100


@pytest.mark.parametrize(("width", "size"), [(64, 3), (128, 4), (512, 6)])
@pytest.mark.parametrize("axi3", [False, True])
def test_every_burst_is_one_of_whole_beats_that_follow_each_other(width: int, size: int, axi3: bool) -> None:
    """What the standard calls INCR, with the given cache and protection bits, on both address channels."""
    sizes: dict[str, Any] = {
        "readers": 1,
        "urgent": 0,
        "read_bursts": 1,
        "read_beats": 1,
        "write_bursts": 1,
        "axi3": axi3,
    }
    design = compile_design(MemoryEngine(addr_width=32, data_width=width, cache=5, prot=2, **sizes))
    for prefix in ("aw", "ar"):
        fields = [design.peek(f"axi__{prefix}{name}") for name in ("size", "burst", "cache", "prot", "id", "lock")]
        assert fields == [size, 1, 5, 2, 0, 0]


def _reading(*, urgent: int, read_bursts: int = 64, read_beats: int, beats: int) -> Any:
    """Return an engine of which one reader (urgent or not) asks for bursts of so many beats all the time."""
    sizes: dict[str, Any] = {
        "readers": 2,
        "urgent": urgent,
        "read_bursts": read_bursts,
        "read_beats": read_beats,
        "write_bursts": 1,
    }
    design = compile_design(MemoryEngine(addr_width=32, data_width=64, **sizes))
    design.poke("readers__1__cmd__valid", 1)
    design.poke("readers__1__cmd__payload", beats << 32)
    return design


def _taken(design: Any, cycles: int) -> int:
    """Return how many of its commands are taken."""
    count = 0
    for _ in range(cycles):
        count += design.peek("readers__1__cmd__ready")
        design.step()
    return count


@pytest.mark.parametrize("read_bursts", [1, 2, 5])
def test_as_many_read_bursts_are_outstanding_as_are_asked_for(read_bursts: int) -> None:
    design = _reading(urgent=2, read_bursts=read_bursts, read_beats=100, beats=1)
    design.poke("axi__arready", 1)
    assert _taken(design, 12) == read_bursts
    design.poke("axi__rvalid", 1)
    design.poke("axi__rlast", 1)
    design.poke("readers__1__data__ready", 1)
    assert _taken(design, 12) >= 6


@pytest.mark.parametrize(("read_beats", "beats", "bursts"), [(1, 256, 1), (256, 256, 1), (257, 256, 2), (9, 3, 3)])
def test_an_urgent_reader_asks_while_fewer_beats_than_the_limit_are_on_their_way(
    read_beats: int, beats: int, bursts: int
) -> None:
    design = _reading(urgent=2, read_beats=read_beats, beats=beats)
    design.poke("axi__arready", 1)
    assert design.peek("axi__arlen") == beats - 1
    assert _taken(design, 10) == bursts
    design.poke("readers__1__data__ready", 1)
    for left in range(bursts * beats, 0, -1):
        assert design.peek("readers__1__cmd__ready") == (left < read_beats)
        design.poke("readers__1__cmd__valid", 0)
        design.poke("axi__rvalid", 1)
        design.poke("axi__rlast", int(left % beats == 1 % beats))
        design.step()
        design.poke("axi__rvalid", 0)
        design.step()  # a beat is counted out in the cycle after it
        design.poke("readers__1__cmd__valid", int(left - 1 < read_beats))
    assert design.peek("readers__1__cmd__ready")


@pytest.mark.parametrize(
    ("read_beats", "taken"), [(4, [4, 4, 4]), (8, [8, 8, 8]), (12, [8, 12, 12]), (40, [8, 16, 24])]
)
def test_a_patient_reader_may_have_eight_beats_more_for_each_cycle_of_waiting(
    read_beats: int, taken: list[int]
) -> None:
    """At first eight. A cycle counts in which it wants more than it may have, and no beat comes."""
    design = _reading(urgent=0, read_beats=read_beats, beats=1)
    design.poke("axi__arready", 1)
    found: list[int] = []
    for step in range(3):
        design.poke("readers__1__cmd__valid", 1)
        found.append(_taken(design, taken[0] if step == 0 else taken[step] - taken[step - 1]) + sum(found[-1:]))
        assert design.peek("readers__1__cmd__ready") == 0
        design.step()  # one cycle of waiting
        design.poke("readers__1__cmd__valid", 0)
        design.step(5)
    assert found == taken


@pytest.mark.parametrize("write_bursts", [1, 2, 5])
def test_as_many_write_bursts_wait_for_their_response_as_are_asked_for(write_bursts: int) -> None:
    sizes: dict[str, Any] = {"readers": 1, "urgent": 0, "read_bursts": 1, "read_beats": 1, "write_bursts": write_bursts}
    design = compile_design(MemoryEngine(addr_width=32, data_width=64, **sizes))
    for name in ("axi__awready", "axi__wready", "writer__cmd__valid", "writer__data__valid"):
        design.poke(name, 1)
    design.poke("writer__cmd__payload", 1 << 32)
    for _ in range(3):
        taken = lasts = 0
        for _ in range(12):
            taken += design.peek("writer__cmd__ready")
            lasts += design.peek("axi__wvalid") & design.peek("axi__wlast")
            assert design.peek("writer__done") == 0
            assert design.peek("quiet") == (taken == 1 and design.peek("writer__cmd__ready"))
            design.step()
        assert taken == lasts == write_bursts
        design.poke("writer__cmd__valid", 0)
        for _ in range(write_bursts):
            assert not design.peek("quiet")
            design.poke("axi__bvalid", 1)
            assert design.peek("writer__done")
            design.step()
        design.poke("axi__bvalid", 0)
        assert design.peek("quiet")
        design.poke("writer__cmd__valid", 1)


def test_the_last_of_256_beats_is_marked() -> None:
    sizes: dict[str, Any] = {"readers": 1, "urgent": 0, "read_bursts": 1, "read_beats": 1, "write_bursts": 2}
    design = compile_design(MemoryEngine(addr_width=32, data_width=64, **sizes))
    for name in ("axi__awready", "axi__wready", "writer__cmd__valid", "writer__data__valid"):
        design.poke(name, 1)
    for beats in (256, 1, 255):
        design.poke("writer__cmd__payload", beats << 32)
        design.poke("writer__cmd__valid", 1)
        assert (design.peek("axi__awlen"), design.peek("writer__cmd__ready")) == (beats - 1, 1)
        design.step()
        design.poke("writer__cmd__valid", 0)
        for left in range(beats, 0, -1):
            assert (design.peek("axi__wvalid"), design.peek("axi__wlast")) == (1, left == 1)
            design.step()
        assert not design.peek("axi__wvalid")
        design.poke("axi__bvalid", 1)
        design.step()
        design.poke("axi__bvalid", 0)


@pytest.mark.parametrize("response", range(4))
def test_only_responses_of_errors_are_reported(response: int) -> None:
    """SLVERR and DECERR are 2 and 3; OKAY and EXOKAY are 0 and 1."""
    design = _reading(urgent=2, read_beats=4, beats=1)
    design.poke("axi__arready", 1)
    design.step()
    design.poke("readers__1__cmd__valid", 0)
    design.poke("axi__rresp", response)
    design.poke("axi__bresp", response)
    assert (design.peek("error"), design.peek("error_write")) == (0, 0)
    design.poke("axi__bvalid", 1)
    assert (design.peek("error"), design.peek("error_write")) == (response >> 1, response >> 1)
    design.poke("axi__bvalid", 0)
    design.poke("axi__rvalid", 1)
    assert (design.peek("error"), design.peek("read_beat")) == (0, 0)  # its reader does not take it yet
    design.poke("readers__1__data__ready", 1)
    found = [design.peek(name) for name in ("error", "error_write", "error_reader", "read_beat")]
    assert found == [response >> 1, 0, 1, 1]
