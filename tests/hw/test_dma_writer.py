# amaranth: UnusedElaboratable=no
import random
from typing import Any

import pytest

from hw.dma.reader import part_layout
from hw.dma.writer import TileWriter, writer_job_layout
from hw.sim import compile_design
from tests.support.hw.hw_streams import put, run_benches

DEPTH_LOG = 10


def random_jobs(generator: random.Random, count: int, kinds: int) -> Any:
    jobs = []
    for _ in range(count):
        pads = {name: generator.choice([0, 0, 1, 3]) for name in ("x_pad_0", "x_pad_1", "y_pad_0", "y_pad_1")}
        job = {
            "kind": generator.randrange(kinds),
            "empty": 0,
            "tag": generator.randrange(2),
            "sram_base": generator.randrange(1 << DEPTH_LOG),
            "x_size": generator.randrange(1, 5),
            "y_size": generator.randrange(1, 5),
            **pads,
        }
        if generator.random() < 0.2:
            job |= {"empty": 1, "x_size": 0}
        jobs.append(job)
    return jobs


def parts_of(
    jobs: list[dict[str, int]], *, sizes: tuple[int, ...], beat: int, generator: random.Random
) -> tuple[Any, ...]:
    """Return the parts that the reader gives, and what each element holds afterwards, by job."""
    parts, images = [], []
    for job in jobs:
        image: dict[Any, Any] = {}
        images.append(image)
        if job["empty"]:
            continue
        lanes = max(1, sizes[job["kind"]] // beat)
        width = job["x_pad_0"] + job["x_size"] + job["x_pad_1"]
        height = job["y_pad_0"] + job["y_size"] + job["y_pad_1"]
        for place in range(width * height):
            y, x = divmod(place, width)
            at = (job["sram_base"] + place) % (1 << DEPTH_LOG)
            inside = 0 <= x - job["x_pad_0"] < job["x_size"] and 0 <= y - job["y_pad_0"] < job["y_size"]
            row_end = x - job["x_pad_0"] == job["x_size"] - 1
            for lane in range(lanes):
                image[at, lane] = generator.randrange(1, 1 << 64) if inside else 0
                if inside:
                    end = lane == lanes - 1
                    last = end and row_end and y - job["y_pad_0"] == job["y_size"] - 1
                    parts.append(
                        {
                            "data": image[at, lane],
                            "kind": job["kind"],
                            "lane": lane,
                            "element_end": end,
                            "row_end": end and row_end,
                            "job_end": last,
                        }
                    )
    return parts, images


@pytest.mark.parametrize("stall", [0.0, 0.3])
@pytest.mark.parametrize("sizes", [(16, 64), (8,)])
def test_every_element_of_a_padded_tile_is_written_before_done(sizes: tuple[int, ...], stall: float) -> None:
    generator = random.Random(11)
    writer = TileWriter(data_width=64, element_bytes=sizes, address_width=DEPTH_LOG)
    jobs = random_jobs(generator, 60, len(sizes))
    parts, images = parts_of(jobs, sizes=sizes, beat=8, generator=generator)
    done: list[Any] = []

    async def feed_jobs(ctx: Any) -> None:
        await put(ctx, writer.job, jobs, seed=1, stall=stall)

    async def feed_parts(ctx: Any) -> None:
        await put(ctx, writer.parts, parts, seed=2, stall=stall)

    async def watch(ctx: Any) -> None:
        stalls = random.Random(3)
        written = {}
        while len(done) < len(jobs):
            ctx.set(writer.write.ready, stalls.random() >= stall)
            write, valid, ready, ends, tag = (
                await ctx.tick().sample(writer.write.p, writer.write.valid, writer.write.ready, writer.done, writer.tag)
            )[2:]
            if valid and ready:
                lanes = max(1, sizes[write.kind] // 8)
                for lane in range(lanes) if write.zero else (write.lane,):
                    assert (write.address, lane) not in written
                    written[write.address, lane] = 0 if write.zero else write.data
            if ends:
                job = jobs[len(done)]
                assert tag == job["tag"]
                assert written == images[len(done)]
                done.append(job)
                written = {}

    run_benches(writer, feed_jobs, feed_parts, watch)
    assert len(done) == len(jobs)


def test_two_unpadded_jobs_follow_each_other_without_a_gap() -> None:
    generator = random.Random(12)
    writer = TileWriter(data_width=64, element_bytes=(8,), address_width=DEPTH_LOG)
    job = dict.fromkeys(("kind", "empty", "tag", "x_pad_0", "x_pad_1", "y_pad_0", "y_pad_1"), 0)
    jobs = [{**job, "sram_base": 8 * i, "x_size": 3, "y_size": 2} for i in range(4)]
    parts, _ = parts_of(jobs, sizes=(8,), beat=8, generator=generator)
    cycles = []

    async def feed_jobs(ctx: Any) -> None:
        await put(ctx, writer.job, jobs)

    async def feed_parts(ctx: Any) -> None:
        await put(ctx, writer.parts, parts)

    async def watch(ctx: Any) -> None:
        ctx.set(writer.write.ready, 1)
        for cycle in range(40):
            if ctx.get(writer.write.valid):
                cycles.append(cycle)
            await ctx.tick()

    run_benches(writer, feed_jobs, feed_parts, watch)
    assert len(cycles) == len(parts)
    assert cycles[-1] - cycles[0] == len(parts) - 1


@pytest.mark.parametrize("bit", range(4))
@pytest.mark.parametrize("address_width", [1, 4, 12, 18])
def test_data_begin_behind_as_many_padded_rows_and_zeros_as_are_asked_for(bit: int, address_width: int) -> None:
    """Each bit of the four pads; addresses wrap."""
    design = compile_design(TileWriter(data_width=64, element_bytes=(8,), address_width=address_width))
    layout = writer_job_layout(kinds=1, address_width=address_width, tag_width=1)
    base, x_size = 3 % (1 << address_width), 65535
    for x_pad_0, x_pad_1, y_pad_0 in ((1 << bit, 0, 0), (0, 1 << bit, 15), (15, 15, 1 << bit), (0, 0, 15)):
        design.reset()
        job = {"sram_base": base, "x_size": x_size, "y_size": 1, "x_pad_0": x_pad_0, "x_pad_1": x_pad_1}
        design.poke("job__payload", int(layout.const({**job, "y_pad_0": y_pad_0}).as_bits()))
        design.poke("job__valid", 1)
        design.step(2)
        design.poke("job__valid", 0)
        design.poke("parts__valid", 1)
        address = design.peek("write__payload") % (1 << address_width)
        assert address == (base + y_pad_0 * (x_pad_0 + x_size + x_pad_1) + x_pad_0) % (1 << address_width)


@pytest.mark.parametrize("side", ["y_pad_0", "y_pad_1"])
@pytest.mark.parametrize(("x_size", "rows"), [(65535, 2), (3, 15), (1, 8)])
def test_rows_of_zeros_are_as_long_and_as_many_as_they_can_be(side: str, x_size: int, rows: int) -> None:
    """A row of all elements that fit, and pads of four bits beside it: 17 bits; one write a cycle."""
    design = compile_design(TileWriter(data_width=64, element_bytes=(8,), address_width=18))
    layout = writer_job_layout(kinds=1, address_width=18, tag_width=1)
    job = {"x_size": x_size, "y_size": 1, "x_pad_0": 15, "x_pad_1": 15, side: rows}
    design.poke("job__payload", int(layout.const(job).as_bits()))
    design.poke("job__valid", 1)
    design.step(2)
    design.poke("job__valid", 0)
    design.poke("write__ready", 1)
    design.poke("parts__valid", 1)
    last = part_layout(data_width=64, element_bytes=(8,)).const({"element_end": 1, "row_end": 1, "job_end": 1})
    design.poke("parts__payload", int(last.as_bits()))
    design.step()  # all data, said to be one element
    design.poke("parts__valid", 0)
    zeros = rows * (15 + x_size + 15) + 15 + 15
    design.step(zeros - 2)
    for done in (0, 1):
        assert design.peek("write__valid")
        assert design.peek("done") == done
        design.step()
    assert not design.peek("write__valid")
