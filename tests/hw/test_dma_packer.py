# amaranth: UnusedElaboratable=no
import random
from typing import Any

import pytest

from hw.dma.packer import Packer, packer_job_layout
from hw.sim import compile_design
from hw.sim.netlist.frontend import build_netlist
from tests.support.hw.hw_streams import put, run_benches, take


def expected_bytes(jobs: list[dict[str, int]], elements: list[int], *, size: int) -> Any:
    """Return the pairs (byte of a beat's place, value) that each row writes, as a list of rows."""
    rows = []
    values = iter(elements)
    for job in jobs:
        for row in range(job["y_size"]):
            begin = job["offset"] + row * job["stride"]
            rows.append((begin, b"".join(next(values).to_bytes(size, "little") for _ in range(job["x_size"]))))
    return rows


def random_jobs(generator: random.Random, *, beat: int, size: int) -> list[Any]:
    offsets = range(0, beat, min(size, beat))
    return [
        {
            "offset": generator.choice(offsets),
            "stride": generator.choice(offsets),
            "x_size": generator.randrange(1, 9),
            "y_size": generator.randrange(1, 4),
        }
        for _ in range(12)
    ]


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize(("width", "size"), [(64, 16), (64, 8), (64, 1), (128, 4), (256, 16), (512, 16)])
def test_every_byte_of_a_row_is_enabled_once_and_no_other(width: int, size: int, stall: float) -> None:
    generator = random.Random(9)
    packer = Packer(data_width=width, element_bytes=size)
    beat = width // 8
    jobs = random_jobs(generator, beat=beat, size=size)
    count = sum(job["x_size"] * job["y_size"] for job in jobs)
    elements = [generator.getrandbits(8 * size) for _ in range(count)]
    rows = expected_bytes(jobs, elements, size=size)
    beats_a_row = [(begin % beat + len(content) + beat - 1) // beat for begin, content in rows]
    got = []

    async def feed_jobs(ctx: Any) -> None:
        await put(ctx, packer.job, jobs, seed=1, stall=stall)

    async def feed_elements(ctx: Any) -> None:
        await put(ctx, packer.elements, elements, seed=2, stall=stall)

    async def drain(ctx: Any) -> None:
        got.extend(await take(ctx, packer.beats, sum(beats_a_row), seed=3, stall=stall))

    run_benches(packer, feed_jobs, feed_elements, drain)
    beats = iter(got)
    for (begin, content), beats_in_row in zip(rows, beats_a_row, strict=True):
        written = {}
        for index in range(beats_in_row):
            payload = next(beats)
            for byte in range(beat):
                if payload.strb >> byte & 1:
                    written[index * beat + byte] = payload.data >> 8 * byte & 255
        assert written == {begin % beat + at: value for at, value in enumerate(content)}


def test_an_element_of_an_odd_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Packer needs elements of a power of two of bytes, not 3$"):
        Packer(data_width=64, element_bytes=3)


@pytest.mark.parametrize("size", [8, 16])
def test_it_is_busy_from_its_job_to_its_last_beat(size: int) -> None:
    design = compile_design(Packer(data_width=64, element_bytes=size))
    layout = packer_job_layout(data_width=64)
    assert not design.peek("busy")
    design.poke("job__payload", layout.const({"offset": 0, "stride": 0, "x_size": 1, "y_size": 1}).as_bits())
    design.poke("job__valid", 1)
    design.step()
    design.poke("job__valid", 0)
    for _ in range(3):
        assert (design.peek("busy"), design.peek("beats__valid")) == (1, 0)  # no element has come
        design.step()
    design.poke("elements__valid", 1)
    design.poke("beats__ready", 1)
    design.step(size // 8)
    design.poke("elements__valid", 0)
    design.poke("beats__ready", 0)
    for _ in range(3):
        assert (design.peek("busy"), design.peek("beats__valid")) == (1, 1)  # the job is done, and a beat waits
        design.step()
    design.poke("beats__ready", 1)
    design.step()
    assert (design.peek("busy"), design.peek("beats__valid")) == (0, 0)


def test_elements_of_a_whole_beat_are_not_gathered() -> None:
    for size, gathers in ((4, True), (8, False), (16, False)):
        netlist = build_netlist(Packer(data_width=64, element_bytes=size))
        assert ("fresh" in netlist.signals) is gathers
