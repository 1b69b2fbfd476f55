"""Micro-ops on chip: upstream's replacement rules; in DRAM: what a load reads is always its own block."""

import random

from runtime.queue.kernel_lowering import UopBlock
from runtime.queue.uop_cache import UopCache


def blocks(*sizes: int) -> list[UopBlock]:
    return [UopBlock(tuple([number] * size)) for number, size in enumerate(sizes)]


def test_a_wrapped_cache_loads_each_kernel_from_its_own_place() -> None:
    # Depth 16, four kernels of 6: the third wraps. (Upstream reads C and D for A and B here.)
    cache = UopCache(16)
    kernels = blocks(6, 6, 6, 6)
    loads = [(cache.place(block).begin, cache.offset(block)) for block in kernels]
    assert loads == [(0, 0), (6, 6), (0, 12), (6, 18)]
    assert cache.image == tuple([0] * 6 + [1] * 6 + [2] * 6 + [3] * 6)
    assert [place.block for place in cache.resident] == kernels[2:]


def test_a_reload_after_eviction_reuses_the_place_in_dram() -> None:
    cache = UopCache(16)
    a, b, c = blocks(6, 6, 6)
    for block in (a, b, c):
        cache.place(block)
    assert cache.find(a) is None
    assert cache.growth(a) == 0
    place = cache.place(a)
    assert (place.begin, cache.offset(a)) == (6, 0)
    assert len(cache.image) == 18
    assert cache.find(b) is None


def test_a_wrap_keeps_what_it_does_not_overwrite() -> None:
    cache = UopCache(16)
    a, b, c = blocks(4, 10, 3)
    cache.place(a)
    cache.place(b)
    assert cache.place(c).begin == 0
    assert cache.find(a) is None
    found = cache.find(b)
    assert found is not None
    assert found.begin == 4


def test_a_block_that_fits_exactly_does_not_wrap() -> None:
    cache = UopCache(16)
    a, b = blocks(10, 6)
    cache.place(a)
    place = cache.place(b)
    assert (place.begin, place.end) == (10, 16)
    assert [resident.block for resident in cache.resident] == [a, b]


def test_a_wrapped_block_evicts_no_block_that_begins_where_it_ends() -> None:
    cache = UopCache(16)
    a, b, c = blocks(4, 12, 4)
    cache.place(a)
    cache.place(b)
    assert cache.place(c).end == 4
    assert cache.find(a) is None
    found = cache.find(b)
    assert found is not None
    assert found.begin == 4


def test_blocks_of_equal_words_are_two_blocks() -> None:
    cache = UopCache(16)
    first, second = UopBlock((1, 2)), UopBlock((1, 2))
    cache.place(first)
    assert cache.find(second) is None
    assert cache.place(second).begin == 2
    assert cache.image == (1, 2, 1, 2)


def test_a_launch_begins_with_nothing_on_chip() -> None:
    cache = UopCache(16)
    [block] = blocks(5)
    cache.place(block)
    cache.clear()
    assert cache.find(block) is None
    assert cache.image == ()
    assert cache.place(block).begin == 0


def test_what_is_called_resident_is_what_the_chip_holds() -> None:
    rng = random.Random(2)
    for _ in range(200):
        depth = rng.randrange(8, 40)
        cache, chip = UopCache(depth), [-1] * depth
        pool = blocks(*(rng.randrange(1, depth // 2 + 1) for _ in range(8)))
        for _ in range(60):
            block = rng.choice(pool)
            place = cache.find(block)
            if place is None:
                place = cache.place(block)
                offset = cache.offset(block)
                chip[place.begin : place.end] = cache.image[offset : offset + len(block.words)]
            assert tuple(chip[place.begin : place.end]) == block.words
            begins = [entry.begin for entry in cache.resident]
            assert begins == sorted(begins)
        assert len(cache.image) <= sum(len(block.words) for block in pool)
