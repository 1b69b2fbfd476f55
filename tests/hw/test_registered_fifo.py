# amaranth: UnusedElaboratable=no
import random
from collections import deque
from typing import Any

import pytest

from hw.errors import ComponentError
from hw.registered_fifo import RegisteredFIFO
from hw.sim.netlist import cells as n
from hw.sim.netlist.frontend import build_netlist
from tests.support.hw.hw_streams import run_benches


@pytest.mark.parametrize("early", [None, 0, 3])
@pytest.mark.parametrize("depth", [1, 2, 3, 8])
@pytest.mark.parametrize(("puts", "takes"), [(0.5, 0.5), (0.9, 0.4), (0.3, 0.9), (1.0, 1.0)])
def test_entries_come_in_their_order_in_the_cycle_after_they_were_written(
    depth: int, puts: float, takes: float, early: int | None
) -> None:
    fifo = RegisteredFIFO(width=8, depth=depth, early=early)
    generator = random.Random(depth)
    model: deque[int] = deque()

    async def bench(ctx: Any) -> None:
        for _ in range(400):
            put, take, value = generator.random() < puts, generator.random() < takes, generator.randrange(256)
            ctx.set(fifo.w_en, put)
            ctx.set(fifo.w_data, value)
            ctx.set(fifo.r_en, take)
            assert ctx.get(fifo.r_rdy) == bool(model)
            room = ctx.get(fifo.w_rdy)
            assert not room or len(model) < depth
            assert room or len(model) >= max(1, depth - 1)
            if model:
                assert ctx.get(fifo.r_data) == model[0]
                if take:
                    model.popleft()
            if put and room:
                model.append(value)
            await ctx.tick()

    run_benches(fifo, bench)


def test_a_queue_of_none_is_refused() -> None:
    with pytest.raises(ComponentError, match=r"^RegisteredFIFO needs a depth of at least 1, not 0$"):
        RegisteredFIFO(width=1, depth=0)


@pytest.mark.parametrize("early", [-1, 9])
def test_no_more_bits_are_early_than_there_are(early: int) -> None:
    message = f"RegisteredFIFO of 8 bits has 0 to 8 early ones, not {early}"
    with pytest.raises(ComponentError, match=f"^{message}$"):
        RegisteredFIFO(width=8, depth=4, early=early)


@pytest.mark.parametrize(("early", "kept"), [(None, 8), (0, 0), (3, 3)])
def test_only_early_bits_are_kept_in_a_register(early: int | None, kept: int) -> None:
    """The others cost no flip-flop: control has as many in every one of them, and the place of the oldest entry."""

    def flags(early: int | None) -> int:
        cells = build_netlist(RegisteredFIFO(width=8, depth=4, early=early)).cells
        return sum(len(cell.data) for cell in cells if isinstance(cell, n.FlipFlop))

    places = 2 * (0 < kept < 8)  # of the oldest entry, beside that of the second
    assert flags(early) == flags(0) + kept + places
