# amaranth: UnusedElaboratable=no
import random
from typing import Any

import pytest

from hw.dma.reader import Reader
from hw.sim.netlist import cells as n
from hw.sim.netlist.frontend import build_netlist
from tests.support.hw.hw_streams import put, run_benches, take

MEMORY = random.Random(1).randbytes(1 << 16)


def beats_of(jobs: list[dict[str, int]], *, beat: int, sizes: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the beats that a walker would ask for, and the parts that they hold."""
    beats, parts = [], []
    for job in jobs:
        size = sizes[job["kind"]]
        for row in range(job["y_size"]):
            begin = job["addr"] + row * job["stride_bytes"]
            end = begin + job["x_size"] * size
            first = begin - begin % beat
            for at in range(first, end, beat):
                beats.append({"data": int.from_bytes(MEMORY[at : at + beat], "little"), "last": at + beat >= end})
            unit = min(size, beat)
            for at in range(begin, end, unit):
                element_end = (at + unit - begin) % size == 0
                row_end = at + unit == end
                value = int.from_bytes(MEMORY[at : at + unit], "little")
                lane = (at - begin) % size // unit
                parts.append(
                    (job["kind"], lane, value, element_end, row_end, row_end and row == job["y_size"] - 1, 8 * unit)
                )
    return beats, parts


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize(
    ("width", "sizes"), [(64, (16, 256)), (64, (4,)), (128, (16, 4)), (256, (16, 256)), (512, (1, 32, 64))]
)
def test_every_element_comes_once_in_order(width: int, sizes: tuple[int, ...], stall: float) -> None:
    generator = random.Random(5)
    reader = Reader(data_width=width, element_bytes=sizes)
    beat = width // 8
    jobs, records = [], []
    for _ in range(10):
        kind = generator.randrange(len(sizes))
        unit = sizes[kind]
        addr = generator.randrange(0, 64) * unit
        stride = generator.randrange(0, 12) * unit
        x_size = generator.randrange(1, 5 if unit > 64 else 12)
        y_size = generator.randrange(1, 4)
        records.append({"kind": kind, "addr": addr, "stride_bytes": stride, "x_size": x_size, "y_size": y_size})
        jobs.append({"kind": kind, "offset": addr % beat, "stride": stride % beat, "x_size": x_size, "y_size": y_size})
    beats, want = beats_of(records, beat=beat, sizes=sizes)
    got = []

    async def feed_jobs(ctx: Any) -> None:
        await put(ctx, reader.job, jobs, seed=1, stall=stall)

    async def feed_beats(ctx: Any) -> None:
        await put(ctx, reader.beats, beats, seed=2, stall=stall)

    async def drain(ctx: Any) -> None:
        for part, expected in zip(await take(ctx, reader.parts, len(want), seed=3, stall=stall), want, strict=True):
            bits = expected[-1]
            value = part.data & ((1 << bits) - 1)
            flags = (bool(part.element_end), bool(part.row_end), bool(part.job_end))
            got.append((part.kind, part.lane, value, *flags, bits))

    run_benches(reader, feed_jobs, feed_beats, drain)
    assert got == want


def test_an_element_of_an_odd_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Reader needs elements of a power of two of bytes, not 12$"):
        Reader(data_width=64, element_bytes=(12,))


def test_elements_of_a_whole_beat_are_taken_as_they_are() -> None:
    for sizes, selects in (((4, 8), 1), ((8, 16), 0), ((1, 2, 8), 2)):
        netlist = build_netlist(Reader(data_width=64, element_bytes=sizes))
        assert sum(isinstance(cell, n.Part) for cell in netlist.cells) == selects
