"""Device DRAM: addresses, the allocator against a byte-by-byte model, copies, and every error's
text.
"""

import itertools
import re
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.memory.device_memory import FIRST_ADDRESS, PAGE_BYTES, Allocation, DeviceMemory, DeviceMemoryError

SMALL = FIRST_ADDRESS + 16 * PAGE_BYTES


def test_blocks_follow_each_other_page_by_page_from_0x1000() -> None:
    memory = DeviceMemory()
    addresses = [memory.alloc(n).address for n in (1, 4096, 4097, 1 << 25, 10)]
    assert addresses == [0x1000, 0x2000, 0x3000, 0x5000, 0x2005000]
    assert memory.nbytes == 0x2006000


def test_a_freed_block_is_split_and_merged_again() -> None:
    memory = DeviceMemory(SMALL)
    a, b, c = (memory.alloc(4 * PAGE_BYTES) for _ in range(3))
    memory.free(b)
    small = memory.alloc(1)
    assert small.address == b.address
    rest = memory.alloc(3 * PAGE_BYTES)
    assert rest.address == b.address + PAGE_BYTES
    for block in (small, a, rest, c):
        memory.free(block)
    assert memory.alloc(16 * PAGE_BYTES).address == FIRST_ADDRESS


def test_freed_memory_reads_as_zeros_when_it_is_handed_out_again() -> None:
    memory = DeviceMemory(SMALL)
    block = memory.alloc(PAGE_BYTES)
    memory.view(block.address, block.nbytes)[:] = 7
    memory.free(block)
    again = memory.alloc(PAGE_BYTES)
    assert again.address == block.address
    assert not memory.view(again.address, again.nbytes).any()


def test_views_share_the_memory_and_the_base_pointer_reaches_it() -> None:
    memory = DeviceMemory()
    block = memory.alloc(64)
    memory.view(block.address, 64)[:] = np.arange(64)
    pointer = memory.base_pointer
    assert memory.view(block.address, 1).ctypes.data == pointer + block.address
    memory.alloc(1 << 28)
    assert memory.base_pointer == pointer
    assert memory.view(block.address + 10, 3).tolist() == [10, 11, 12]


def test_an_allocation_is_found_by_its_first_address_while_it_lives() -> None:
    memory = DeviceMemory(SMALL)
    a, b = memory.alloc(5000), memory.alloc(1)
    assert memory.starting_at(a.address) is a
    assert memory.starting_at(a.address + PAGE_BYTES) is None
    memory.free(a)
    assert memory.starting_at(a.address) is None
    assert memory.allocations == (b,)
    assert memory.allocated_bytes == PAGE_BYTES


def test_claimed_blocks_lie_where_they_are_asked_for_and_leave_the_rest_free() -> None:
    memory = DeviceMemory(SMALL)
    far = memory.claim(8 * PAGE_BYTES, 2 * PAGE_BYTES)
    assert memory.nbytes == 10 * PAGE_BYTES
    assert memory.alloc(7 * PAGE_BYTES).address == FIRST_ADDRESS
    assert memory.alloc(1).address == 10 * PAGE_BYTES
    memory.free(far)
    middle = memory.claim(9 * PAGE_BYTES, 1)
    assert memory.alloc(1).address == 8 * PAGE_BYTES
    memory.free(middle)
    again = memory.claim(9 * PAGE_BYTES, PAGE_BYTES)
    memory.write(again, 0, b"x")
    assert memory.address_space()[9 * PAGE_BYTES] == ord("x")
    message = "device memory: 8192 bytes cannot be claimed at 0x8000, because the block of 1 bytes at 0x8000 is in use"
    with pytest.raises(DeviceMemoryError, match=_says(message)):
        memory.claim(8 * PAGE_BYTES, 8192)


@pytest.mark.parametrize(("address", "nbytes"), [(0, 1), (0x1010, 1), (0x1000, 0), (0x10000, 4097)])
def test_a_claim_outside_of_the_pages_is_refused(address: int, nbytes: int) -> None:
    message = (
        f"device memory: {nbytes} bytes cannot be claimed at {address:#x}; a block begins a page and lies between "
        "0x1000 and 0x11000 (the first page is never mapped)"
    )
    with pytest.raises(DeviceMemoryError, match=_says(message)):
        DeviceMemory(SMALL).claim(address, nbytes)


def test_claims_and_allocations_mix_without_overlap() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        memory = DeviceMemory(SMALL)
        live: list[Allocation] = []
        for _ in range(30):
            kind, page, count = rng.integers(3), int(rng.integers(17)), int(rng.integers(1, 5))
            try:
                if kind == 0:
                    live.append(memory.alloc(count * PAGE_BYTES))
                elif kind == 1:
                    live.append(memory.claim(page * PAGE_BYTES, count * PAGE_BYTES))
                elif live:
                    memory.free(live.pop(page % len(live)))
            except DeviceMemoryError:
                continue
            used = sorted((block.address, block.end) for block in live)
            assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(used))
            assert memory.allocated_bytes == sum(end - begin for begin, end in used)
        for block in live:
            memory.free(block)
        assert memory.alloc(16 * PAGE_BYTES).address == FIRST_ADDRESS


def test_br_021_copies_at_an_offset_move_the_right_bytes_and_freed_space_is_reused() -> None:
    memory = DeviceMemory()
    block = memory.alloc(4096)
    data = bytes(range(100))
    memory.write(block, 1000, data)
    assert memory.read(block, 1025, 50) == data[25:75]
    assert memory.read(block, 998, 3) == b"\0\0\0"
    memory.free(block)
    assert memory.alloc(4096).address == block.address


def test_copies_within_a_block_may_overlap() -> None:
    memory = DeviceMemory()
    block, other = memory.alloc(32), memory.alloc(32)
    memory.write(block, 0, bytes(range(16)))
    memory.copy(block, 0, block, 4, 16)
    assert memory.read(block, 0, 20) == bytes(range(4)) + bytes(range(16))
    memory.copy(block, 4, other, 16, 16)
    assert memory.read(other, 15, 17) == b"\0" + bytes(range(16))


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 5 * PAGE_BYTES)), max_size=60))
@settings(max_examples=60, deadline=None)
def test_random_histories_never_overlap_and_always_find_what_fits(
    history: list[tuple[bool, int]],
) -> None:
    memory = DeviceMemory(SMALL)
    used = [False] * 16
    live: list[Allocation] = []
    for take, size in history:
        if not take and live:
            block = live.pop(size % len(live))
            memory.free(block)
            for page in _pages(block):
                used[page] = False
            continue
        count = -(-size // PAGE_BYTES)
        fits = [p for p in range(17 - count) if not any(used[p : p + count])]
        if not fits:
            with pytest.raises(DeviceMemoryError):
                memory.alloc(size)
            continue
        block = memory.alloc(size)
        live.append(block)
        assert block.address == FIRST_ADDRESS + fits[0] * PAGE_BYTES
        for page in _pages(block):
            used[page] = True
    assert memory.allocated_bytes == sum(used) * PAGE_BYTES


def _pages(block: Allocation) -> range:
    first = (block.address - FIRST_ADDRESS) // PAGE_BYTES
    return range(first, first + -(-block.nbytes // PAGE_BYTES))


def _says(text: str) -> str:
    return f"^{re.escape(text)}$"


def test_errors_name_the_place_and_the_numbers() -> None:
    memory, other = DeviceMemory(SMALL), DeviceMemory(SMALL)
    block = memory.alloc(100)
    twin = other.alloc(100)
    with pytest.raises(
        DeviceMemoryError,
        match=_says(
            "device memory: no block of 100 bytes at 0x1000 is allocated; it was freed before, "
            "or belongs to another memory"
        ),
    ):
        memory.free(twin)
    with pytest.raises(
        DeviceMemoryError,
        match=_says("device memory: 2 bytes from offset 99 do not lie in a block of 100 bytes"),
    ):
        memory.write(block, 99, b"xx")
    with pytest.raises(
        DeviceMemoryError,
        match=_says("device memory: a block has at least one byte, not 0"),
    ):
        memory.alloc(0)
    with pytest.raises(
        DeviceMemoryError,
        match=_says(
            "device memory: no 65536 bytes free: 4096 of 65536 bytes are allocated in 1 blocks; free some of them"
        ),
    ):
        memory.alloc(16 * PAGE_BYTES)
    with pytest.raises(
        DeviceMemoryError,
        match=_says("device memory: 2 bytes from 0x1fff are outside of the mapped range 0x1000 to 0x2000"),
    ):
        memory.view(0x1FFF, 2)
    memory.free(block)
    with pytest.raises(DeviceMemoryError, match="freed before"):
        memory.free(block)
    with pytest.raises(
        DeviceMemoryError,
        match=_says("device memory: the block at 0x1000 is not allocated (any more)"),
    ):
        memory.read(block, 0, 1)
    with pytest.raises(
        DeviceMemoryError,
        match=_says(
            "device memory: the limit must be a multiple of 4096 above 0x1000 and at most 0x100000000, not 0x1001"
        ),
    ):
        DeviceMemory(0x1001)


def test_a_claim_may_end_at_the_limit() -> None:
    memory = DeviceMemory(4 * PAGE_BYTES)
    assert memory.claim(2 * PAGE_BYTES, 2 * PAGE_BYTES).end == memory.limit


def test_a_block_of_another_memory_is_not_live() -> None:
    one, other = DeviceMemory(), DeviceMemory()
    block = one.alloc(8)
    assert other.alloc(8).address == block.address
    assert one.is_live(block)
    assert not other.is_live(block)


def test_a_hidden_block_lies_behind_the_limit_and_is_forgotten() -> None:
    memory = DeviceMemory(0x20000)
    memory.alloc(0x1F000)
    with memory.hidden(100) as (address, view):
        assert (address >= memory.limit, address % PAGE_BYTES, view.nbytes) == (True, 0, 100)
        view[:] = 7
        assert memory.nbytes == memory.limit
    with memory.hidden(100) as (again, view):
        assert (again, bool(view.any())) == (address, False)


def test_there_is_no_place_to_hide_where_allocations_reach_the_end_of_all_addresses() -> None:
    memory = DeviceMemory(1 << 32)
    memory.claim((1 << 32) - 0x2000, 0x1000)
    with memory.hidden(0x1000) as (address, _):
        assert address == (1 << 32) - 0x1000
    with pytest.raises(DeviceMemoryError) as caught, memory.hidden(0x1001):
        pass
    assert str(caught.value) == (
        "device memory: no 4097 bytes are left after the allocations, which reach to 0xfffff000 of 0x100000000; free "
        "some of them, or give a higher limit"
    )


class Interrupted(DeviceMemory):
    """A memory in the middle of whose operations a finalizer frees ``victim``, in the same thread."""

    victim: Allocation | None = None

    def _take_free(self, pages: int) -> int | None:
        if self.victim is not None:
            victim, self.victim = self.victim, None
            (self.free if victim.nbytes == 2 else self.release)(victim)
            assert self.is_live(victim)
        return super()._take_free(pages)


@pytest.mark.parametrize("nbytes", [1, 2], ids=["release", "free"])
def test_what_a_finalizer_frees_in_the_middle_is_free_behind_it(nbytes: int) -> None:
    memory = Interrupted(SMALL)
    memory.victim = victim = memory.alloc(nbytes)
    other = memory.alloc(1)
    assert not memory.is_live(victim)
    assert memory.allocations == (other,)
    assert memory.alloc(1).address == victim.address


def test_what_was_freed_is_not_released_again() -> None:
    memory = DeviceMemory(SMALL)
    block = memory.alloc(1)
    memory.free(block)
    again = memory.alloc(1)
    memory.release(block)
    assert memory.is_live(again)


def test_threads_share_a_memory() -> None:
    memory, wrong = DeviceMemory(1 << 27), list[str]()
    before = sys.getswitchinterval()

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        kept: list[Allocation] = []
        try:
            for _ in range(400):
                block = memory.alloc(int(rng.integers(1, 30_000)))
                view = memory.view(block.address, block.nbytes)
                if view.any():
                    wrong.append("a new block is not zero")
                view[:] = number + 1
                kept.append(block)
                if len(kept) > 5:
                    old = kept.pop(int(rng.integers(len(kept))))
                    if not (memory.view(old.address, old.nbytes) == number + 1).all():
                        wrong.append("a block has another one's contents")
                    (memory.free if rng.integers(2) else memory.release)(old)
        except Exception as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    try:
        sys.setswitchinterval(1e-6)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert wrong == []
    assert len(memory.allocations) == 6 * 5
    assert memory.allocated_bytes == sum(-(-block.nbytes // PAGE_BYTES) * PAGE_BYTES for block in memory.allocations)


def test_nothing_is_allocated_where_a_block_is_hidden() -> None:
    memory = DeviceMemory(1 << 32)
    with memory.hidden(0x1000):
        with pytest.raises(DeviceMemoryError) as caught:
            memory.claim((1 << 32) - 0x1000, 0x1000)
        assert str(caught.value) == (
            "device memory: 4096 bytes cannot be claimed at 0xfffff000 while a launch has its instructions there; "
            "claim them before or after it"
        )
        with pytest.raises(DeviceMemoryError, match=r"^device memory: no 4294963200 bytes free"):
            memory.alloc((1 << 32) - 0x1000)
        with pytest.raises(DeviceMemoryError, match=r"^device memory: no 1 bytes are left after"), memory.hidden(1):
            pass
    assert memory.alloc((1 << 32) - 0x1000).address == 0x1000


@pytest.mark.parametrize(("platform", "page"), [("darwin", PAGE_BYTES), ("linux", 4 * PAGE_BYTES)])
def test_where_pages_cannot_be_dropped_one_by_one_they_are_zeroed(
    platform: str, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pages:
        def madvise(self, *_: int) -> None:
            raise AssertionError("a page of the system holds several of ours")

    memory = DeviceMemory(SMALL)
    first, second = memory.alloc(PAGE_BYTES), memory.alloc(PAGE_BYTES)
    for block in (first, second):
        memory.write(block, 0, bytes([7]) * PAGE_BYTES)
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("mmap.PAGESIZE", page)
    monkeypatch.setattr(memory, "_mapping", Pages())
    memory.free(first)
    again = memory.alloc(PAGE_BYTES)
    assert again.address == first.address
    assert memory.read(again, 0, PAGE_BYTES) == bytes(PAGE_BYTES)
    assert memory.read(second, 0, PAGE_BYTES) == bytes([7]) * PAGE_BYTES


def test_a_span_lies_within_its_block_and_may_be_empty() -> None:
    memory = DeviceMemory(SMALL)
    block = memory.alloc(64)
    assert [memory.span(block, offset, nbytes).nbytes for offset, nbytes in ((0, 64), (60, 4), (0, 0), (64, 0))] == [
        64, 4, 0, 0,
    ]  # fmt: skip
    for offset, nbytes in ((-1, 1), (0, -1), (0, 65), (61, 4), (65, 0)):
        text = f"device memory: {nbytes} bytes from offset {offset} do not lie in a block of 64 bytes"
        with pytest.raises(DeviceMemoryError, match=f"^{text}$"):
            memory.span(block, offset, nbytes)
