# amaranth: UnusedElaboratable=no
import random
from collections import deque
from typing import Any

import pytest

from hw.errors import ComponentError
from hw.registered_fifo import RegisteredFIFO
from tests.support.hw.hw_streams import run_benches


@pytest.mark.parametrize("depth", [1, 2, 3, 8])
@pytest.mark.parametrize(("puts", "takes"), [(0.5, 0.5), (0.9, 0.4), (0.3, 0.9), (1.0, 1.0)])
def test_entries_come_in_their_order_in_the_cycle_after_they_were_written(
    depth: int, puts: float, takes: float
) -> None:
    fifo = RegisteredFIFO(width=8, depth=depth)
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
