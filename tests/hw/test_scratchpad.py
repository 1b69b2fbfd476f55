# amaranth: UnusedElaboratable=no
import random
import re
from typing import Any

import pytest
from amaranth.back import rtlil

from hw.scratchpad import Scratchpad
from tests.support.hw.hw_streams import run_benches


@pytest.mark.parametrize(("depth", "width", "granularity"), [(16, 32, 8), (5, 24, None), (1, 8, 4), (7, 88, 8)])
def test_reads_give_the_old_element_one_cycle_later(depth: int, width: int, granularity: int | None) -> None:
    generator = random.Random(1)
    pad = Scratchpad(depth=depth, width=width, write_granularity=granularity)
    parts = width // (granularity or width)
    model = [0] * depth
    part_mask = (1 << (granularity or width)) - 1

    async def bench(ctx: Any) -> None:
        expected = None
        for _ in range(300):
            address, target = generator.randrange(depth), generator.randrange(depth)
            enable, value, read = generator.getrandbits(parts), generator.getrandbits(width), generator.random() < 0.7
            ctx.set(pad.read_address, address)
            ctx.set(pad.read_enable, read)
            ctx.set(pad.write_address, target)
            ctx.set(pad.write_data, value)
            ctx.set(pad.write_enable, enable)
            if read:
                expected = model[address]
            for part in range(parts):
                if enable >> part & 1:
                    mask = part_mask << part * (granularity or width)
                    model[target] = model[target] & ~mask | value & mask
            await ctx.tick()
            if expected is not None:
                assert ctx.get(pad.read_data) == expected

    run_benches(pad, bench)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"depth": 0, "width": 8}, "Scratchpad needs a depth and a width of at least 1, not 0 and 8"),
        (
            {"depth": 4, "width": 8, "write_granularity": 3},
            "Scratchpad has elements of 8 bits, which parts of 3 do not divide",
        ),
    ],
)
def test_impossible_sizes_are_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        Scratchpad(**arguments)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("width", "granularity", "memories"), [(64, 8, [64]), (72, 8, [64, 8]), (128, 4, [32] * 4), (4096, None, [4096])]
)
def test_a_memory_has_eight_parts_at_most(width: int, granularity: int | None, memories: list[int]) -> None:
    text = rtlil.convert(Scratchpad(depth=4, width=width, write_granularity=granularity))
    assert [int(found) for found in re.findall(r"^\s*memory width (\d+) size 4 ", text, re.MULTILINE)] == memories


@pytest.mark.parametrize("promise", [{}, {"collisions": True}, {"collisions": False}])
def test_only_a_promise_frees_synthesis_from_reading_first(promise: dict[str, Any]) -> None:
    pytest.importorskip("pyosys", reason="pyosys is not installed")
    from hw.verilog import component_to_verilog

    text = component_to_verilog(Scratchpad(depth=16, width=8, **promise), name="pad")
    assert ("no_rw_check" in text) is not promise.get("collisions", True)


@pytest.mark.parametrize("collisions", [True, False])
def test_synthesis_is_told_where_nobody_reads_what_is_being_written(collisions: bool) -> None:
    text = rtlil.convert(Scratchpad(depth=4, width=8, collisions=collisions))
    assert ("attribute \\no_rw_check 1\n" in text) is not collisions
