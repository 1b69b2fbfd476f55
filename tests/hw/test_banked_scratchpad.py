# amaranth: UnusedElaboratable=no
import random
from typing import Any

import pytest

from hw.banked_scratchpad import BankedScratchpad
from hw.errors import ComponentError
from hw.sim import compile_design
from tests.support.hw.hw_streams import run_benches


@pytest.mark.parametrize(("depth", "reads"), [(16, 3), (8, 8), (4, 4), (16, 1), (2, 2), (1, 1)])
def test_reads_give_neighbours_one_cycle_later_and_hold_them(depth: int, reads: int) -> None:
    generator = random.Random(1)
    pad = BankedScratchpad(depth=depth, width=16, write_granularity=8, reads=reads)
    model = [0] * depth

    async def bench(ctx: Any) -> None:
        for address in range(depth):
            ctx.set(pad.write_address, address)
            ctx.set(pad.write_enable, 3)
            await ctx.tick()
        expected = None
        for _ in range(300):
            address, target, read = generator.randrange(depth), generator.randrange(depth), generator.random() < 0.7
            read_now = [(address + tap) % depth for tap in range(reads)]
            enable, value = generator.getrandbits(2), generator.getrandbits(16)
            if read and target in read_now:
                enable = 0
            for port, number in (
                (pad.read_address, address),
                (pad.read_enable, read),
                (pad.write_address, target),
                (pad.write_data, value),
                (pad.write_enable, enable),
            ):
                ctx.set(port, number)
            if read:
                expected = [model[place] for place in read_now]
            mask = (enable & 1) * 0xFF | (enable >> 1) * 0xFF00
            model[target] = model[target] & ~mask | value & mask
            await ctx.tick()
            if expected is not None:
                assert [ctx.get(pad.read_data[tap]) for tap in range(reads)] == expected

    run_benches(pad, bench)


@pytest.mark.parametrize(("depth", "reads"), [(12, 3), (4, 5), (4, 0), (0, 1)])
def test_sizes_that_banks_cannot_have_are_refused(depth: int, reads: int) -> None:
    with pytest.raises(ComponentError) as caught:
        BankedScratchpad(depth=depth, width=8, write_granularity=8, reads=reads)
    assert str(caught.value) == (
        f"BankedScratchpad has a power of two of elements and reads one of them to all, not {reads} of {depth}"
    )


def test_a_reset_clears_nothing() -> None:
    design = compile_design(BankedScratchpad(depth=16, width=8, write_granularity=8, reads=3))
    design.poke("rst", 1)
    design.poke("write_enable", 1)
    for address in range(16):
        design.poke("write_address", address)
        design.poke("write_data", 10 + address)
        design.step()
    design.poke("write_enable", 0)
    design.poke("read_enable", 1)
    for address in range(16):
        design.poke("read_address", address)
        design.step()
        wanted = [10 + (address + tap) % 16 for tap in range(3)]
        assert design.peek("read_data") == int.from_bytes(bytes(wanted), "little")
    design.poke("read_enable", 0)
    design.step(2)
    assert design.peek("read_data") == int.from_bytes(bytes(wanted), "little")
