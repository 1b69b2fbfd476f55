# amaranth: UnusedElaboratable=no
import random
from typing import Any

import pytest

from hw.token_counter import TOKEN_WIDTH, TokenCounter
from tests.support.hw.hw_streams import run_benches


def test_tokens_are_counted_and_none_is_lost() -> None:
    generator = random.Random(3)
    queue = TokenCounter(6)

    async def bench(ctx: Any) -> None:
        count = 0
        for _ in range(2000):
            push = count < 60 and generator.random() < 0.5
            pop, clear = generator.random() < 0.5, generator.random() < 0.01
            ctx.set(queue.push, push)
            ctx.set(queue.pop, pop)
            ctx.set(queue.clear, clear)
            assert ctx.get(queue.available) == (count > 0)
            await ctx.tick()
            count = 0 if clear else count + push - (pop and count > 0)

    run_benches(queue, bench)


def test_it_holds_a_push_of_every_instruction_of_a_launch() -> None:
    assert (1 << TOKEN_WIDTH).bit_length() - 1 == ((1 << 25) // 16).bit_length()


def test_a_queue_without_bits_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^TokenCounter needs a counter of at least one bit, not 0$"):
        TokenCounter(0)


def test_a_queue_of_one_bit_holds_one_token() -> None:
    queue = TokenCounter(1)

    async def bench(ctx: Any) -> None:
        for push, pop, available in ((1, 0, 0), (0, 0, 1), (1, 1, 1), (0, 1, 1), (0, 1, 0), (0, 0, 0)):
            assert ctx.get(queue.available) == available
            ctx.set(queue.push, push)
            ctx.set(queue.pop, pop)
            await ctx.tick()

    run_benches(queue, bench)
