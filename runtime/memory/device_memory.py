"""The DRAM of a device: one address space that host code, drivers and simulators share, and its
page allocator.

Physical addresses look as upstream's driver hands them out (``docs/runtime.md``): pages
of 4 KiB, the first one at 0x1000, so that address 0 is never valid. The bytes lie in one anonymous
mapping that is reserved once at its full size and filled by the system page by page, so the base
pointer that native code holds never moves.

Tests: ``tests/runtime/memory/test_device_memory.py``.
"""

import bisect
import mmap
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError

__all__ = ["FIRST_ADDRESS", "PAGE_BYTES", "Allocation", "DeviceMemory", "DeviceMemoryError"]

PAGE_BYTES = 4096
"""Granularity of allocations."""

FIRST_ADDRESS = 0x1000
"""The first physical address; the page below it is never mapped."""

_ADDRESS_SPACE = 1 << 32
"""Bytes that a 32-bit physical address reaches (``vta_phy_addr_t``)."""

_HIDDEN_BYTES = 1 << 26
"""Address space after the limit, as far as there is any, for ``hidden``."""

# Python 3.11's mmap has no name for this flag; the number is Linux's on every architecture that
# wheels exist for.
_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0


class DeviceMemoryError(VTAError, MemoryError):
    """An allocation, a release or an access of device memory that cannot be done."""


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """A block of device memory: ``nbytes`` bytes (as asked for) from physical ``address`` on. Equal only to itself."""

    address: int
    nbytes: int

    @property
    def end(self) -> int:
        """One past the last byte."""
        return self.address + self.nbytes


class DeviceMemory:
    """Byte-addressed device DRAM with an allocator that splits and merges blocks.

    The lowest free block that is large enough is taken (first fit), so a fresh memory hands out
    consecutive pages as upstream does. A block reads as zeros when it is handed out, whatever was
    there before.

    ``limit`` is the exclusive upper bound of addresses, in bytes; at most 4 GiB.

    Threads may share a memory: blocks come and go under a lock. What lies in a block is its owners' affair.
    """

    def __init__(self, limit: int = _ADDRESS_SPACE) -> None:
        if not FIRST_ADDRESS < limit <= _ADDRESS_SPACE or limit % PAGE_BYTES:
            raise DeviceMemoryError(
                f"device memory: the limit must be a multiple of {PAGE_BYTES} above "
                f"{FIRST_ADDRESS:#x} and at most {_ADDRESS_SPACE:#x}, not {limit:#x}"
            )
        self.limit = limit
        self._end = min(limit + _HIDDEN_BYTES, _ADDRESS_SPACE)
        self._mapping = _reserve(self._end)
        self._bytes: npt.NDArray[np.uint8] = np.frombuffer(self._mapping, dtype=np.uint8)
        self.base_pointer = int(self._bytes.ctypes.data)
        """Host pointer to physical address 0: byte ``p`` of device memory lies at ``base_pointer +
        p``.
        """
        # Not re-entrant, which ``release`` relies on: where a finalizer comes in between, the lock is taken.
        self._lock = threading.Lock()
        self._owner: int | None = None  # the thread that has it
        self._released: deque[Allocation] = deque()
        self._live: dict[int, tuple[Allocation, int]] = {}
        # Free blocks below the top, as parallel sorted lists of begin and end; no two of them
        # touch.
        self._free_begins: list[int] = []
        self._free_ends: list[int] = []
        self._top = FIRST_ADDRESS
        self._ceiling = self._end  # where a hidden block begins

    @property
    def nbytes(self) -> int:
        """One past the highest byte that any allocation has ever covered: an access at or above it
        is out of range.
        """
        return self._top

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the pages that are in use now."""
        with self._changing():
            return self._allocated()

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """The live allocations, by address."""
        with self._changing():
            return tuple(self._live[address][0] for address in sorted(self._live))

    def alloc(self, nbytes: int) -> Allocation:
        """Return a zeroed block of ``nbytes`` that begins a page, so that elements of every size are aligned.

        Raises ``DeviceMemoryError`` when nothing is large enough.
        """
        if nbytes < 1:
            raise DeviceMemoryError(f"device memory: a block has at least one byte, not {nbytes}")
        pages = -(-nbytes // PAGE_BYTES) * PAGE_BYTES
        with self._changing():
            address = self._take_free(pages)
            if address is None:
                address = self._grow(nbytes, pages)
            allocation = Allocation(address, nbytes)
            self._live[address] = (allocation, pages)
        return allocation

    def claim(self, address: int, nbytes: int) -> Allocation:
        """Return a zeroed block of ``nbytes`` at ``address``, which begins a page.

        For programs that bring their own addresses. Raises ``DeviceMemoryError`` where something is in use there.
        """
        end = address + -(-nbytes // PAGE_BYTES) * PAGE_BYTES
        if nbytes < 1 or address < FIRST_ADDRESS or address % PAGE_BYTES or end > self.limit:
            raise DeviceMemoryError(
                f"device memory: {nbytes} bytes cannot be claimed at {address:#x}; a block begins a page and lies "
                f"between {FIRST_ADDRESS:#x} and {self.limit:#x} (the first page is never mapped)"
            )
        with self._changing():
            for other, pages in self._live.values():
                if other.address < end and address < other.address + pages:
                    raise DeviceMemoryError(
                        f"device memory: {nbytes} bytes cannot be claimed at {address:#x}, because the block of "
                        f"{other.nbytes} bytes at {other.address:#x} is in use"
                    )
            if end > self._ceiling:
                raise DeviceMemoryError(
                    f"device memory: {nbytes} bytes cannot be claimed at {address:#x} while a launch has its "
                    "instructions there; claim them before or after it"
                )
            self._remove_free(address, end)
            allocation = Allocation(address, nbytes)
            self._live[address] = (allocation, end - address)
        return allocation

    def free(self, allocation: Allocation) -> None:
        """Give a block back; it merges with the free blocks next to it.

        Raises ``DeviceMemoryError`` for a block that this memory does not have (freed already, or
        another memory's).
        """
        if self._owner == threading.get_ident():  # a finalizer that came in between, and frees without ``release``
            self.release(allocation)
            return
        with self._changing():
            if not self.is_live(allocation):
                raise DeviceMemoryError(
                    f"device memory: no block of {allocation.nbytes} bytes at {allocation.address:#x} is "
                    "allocated; it was freed before, or belongs to another memory"
                )
            self._give_back(allocation)

    def release(self, allocation: Allocation) -> None:
        """Free a block soon, if it is not free already: for finalizers, which may run at any point of any thread.

        Where the lock is taken, perhaps by the very thread that the finalizer interrupted, whoever holds it does it.
        """
        self._released.append(allocation)
        self._free_released()

    def _free_released(self) -> None:
        while self._released and self._lock.acquire(blocking=False):
            try:
                while self._released:
                    allocation = self._released.popleft()
                    if self.is_live(allocation):
                        self._give_back(allocation)
            finally:
                self._lock.release()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Keep other threads from the lists of blocks; what was released in between is freed afterwards."""
        with self._lock:
            self._owner = threading.get_ident()
            try:
                yield
            finally:
                self._owner = None
        self._free_released()

    def _give_back(self, allocation: Allocation) -> None:
        _, pages = self._live.pop(allocation.address)
        begin = allocation.address
        self._clear(begin, begin + pages)
        self._insert_free(begin, begin + pages)

    def starting_at(self, address: int) -> Allocation | None:
        """Return the live allocation that begins at ``address``, or None."""
        live = self._live.get(address)
        return None if live is None else live[0]

    def is_live(self, allocation: Allocation) -> bool:
        """Tell whether ``allocation`` came from this memory and was not freed."""
        live = self._live.get(allocation.address)
        return live is not None and live[0] is allocation

    def view(self, address: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return the ``nbytes`` bytes from ``address`` on as a writable array that shares the
        memory.

        Raises ``DeviceMemoryError`` outside of what allocations have covered.
        """
        if nbytes < 0 or address < FIRST_ADDRESS or address + nbytes > self._top:
            raise DeviceMemoryError(
                f"device memory: {nbytes} bytes from {address:#x} are outside of the mapped range "
                f"{FIRST_ADDRESS:#x} to {self._top:#x}"
            )
        return self._bytes[address : address + nbytes]

    def address_space(self) -> npt.NDArray[np.uint8]:
        """Return all bytes from address 0 to ``nbytes``, sharing the memory, so that an index is an address."""
        return self._bytes[: self._top]

    @contextmanager
    def hidden(self, nbytes: int) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
        """Yield address and bytes of a block beyond ``self.nbytes`` that no allocation gets.

        For what a device keeps in its memory out of every program's reach; it lies at the end of the mapping, one at a
        time. Raises ``DeviceMemoryError`` where allocations reach that far.
        """
        begin = self._end - -(-nbytes // PAGE_BYTES) * PAGE_BYTES
        with self._changing():
            if begin < self._top or self._ceiling < self._end:
                raise DeviceMemoryError(
                    f"device memory: no {nbytes} bytes are left after the allocations, which reach to {self._top:#x} "
                    f"of {self._end:#x}; free some of them, or give a higher limit"
                )
            self._ceiling = begin
        try:
            yield begin, self._bytes[begin : begin + nbytes]
        finally:
            self._clear(begin, self._end)
            self._ceiling = self._end

    def write(self, allocation: Allocation, offset: int, data: bytes | memoryview) -> None:
        """Copy ``data`` into ``allocation`` from byte ``offset`` on."""
        self.span(allocation, offset, len(data))[:] = np.frombuffer(data, dtype=np.uint8)

    def read(self, allocation: Allocation, offset: int, nbytes: int) -> bytes:
        """Return ``nbytes`` bytes of ``allocation`` from byte ``offset`` on."""
        return self.span(allocation, offset, nbytes).tobytes()

    def copy(
        self,
        source: Allocation,
        source_offset: int,
        target: Allocation,
        target_offset: int,
        nbytes: int,
    ) -> None:
        """Copy ``nbytes`` between two blocks (or within one, also where the ranges overlap)."""
        data = self.span(source, source_offset, nbytes).copy()
        self.span(target, target_offset, nbytes)[:] = data

    def span(self, allocation: Allocation, offset: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Return ``nbytes`` bytes of a live ``allocation`` as a writable array that shares the memory."""
        if not self.is_live(allocation):
            raise DeviceMemoryError(f"device memory: the block at {allocation.address:#x} is not allocated (any more)")
        if offset < 0 or nbytes < 0 or offset + nbytes > allocation.nbytes:
            raise DeviceMemoryError(
                f"device memory: {nbytes} bytes from offset {offset} do not lie in a block of {allocation.nbytes} bytes"
            )
        return self.view(allocation.address + offset, nbytes)

    def _allocated(self) -> int:
        return sum(pages for _, pages in self._live.values())

    def _take_free(self, pages: int) -> int | None:
        for index, (begin, end) in enumerate(zip(self._free_begins, self._free_ends, strict=True)):
            if begin + pages > end:
                continue
            if begin + pages < end:
                self._free_begins[index] = begin + pages
            else:
                del self._free_begins[index]
                del self._free_ends[index]
            return begin
        return None

    def _grow(self, nbytes: int, pages: int) -> int:
        # A free block that touches the top serves as the beginning.
        touches = bool(self._free_ends) and self._free_ends[-1] == self._top
        begin = self._free_begins[-1] if touches else self._top
        if begin + pages > min(self.limit, self._ceiling):
            raise DeviceMemoryError(
                f"device memory: no {nbytes} bytes free: {self._allocated()} of {self.limit - FIRST_ADDRESS} bytes "
                f"are allocated in {len(self._live)} blocks; free some of them"
            )
        if touches:
            self._free_begins.pop()
            self._free_ends.pop()
        self._top = begin + pages
        return begin

    def _remove_free(self, begin: int, end: int) -> None:
        """Take the range, no part of which is in use, out of the free blocks and the space above the top."""
        if end > self._top:
            old_top, self._top = self._top, end
            self._insert_free(old_top, end)
        index = bisect.bisect_right(self._free_begins, begin) - 1
        low, high = self._free_begins.pop(index), self._free_ends.pop(index)
        for rest_begin, rest_end in ((low, begin), (end, high)):
            if rest_begin < rest_end:
                self._insert_free(rest_begin, rest_end)

    def _insert_free(self, begin: int, end: int) -> None:
        index = bisect.bisect_left(self._free_begins, begin)
        if index < len(self._free_begins) and self._free_begins[index] == end:
            end = self._free_ends[index]
            del self._free_begins[index]
            del self._free_ends[index]
        if index > 0 and self._free_ends[index - 1] == begin:
            self._free_ends[index - 1] = end
            return
        self._free_begins.insert(index, begin)
        self._free_ends.insert(index, end)

    def _clear(self, begin: int, end: int) -> None:
        # On Linux dropping anonymous pages gives them back to the system, and they read as zeros
        # afterwards.
        if sys.platform == "linux" and mmap.PAGESIZE == PAGE_BYTES:
            self._mapping.madvise(mmap.MADV_DONTNEED, begin, end - begin)
            return
        self._bytes[begin:end] = 0


def _reserve(limit: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, limit, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    except OSError as error:
        raise DeviceMemoryError(
            f"device memory: the system does not reserve {limit:#x} bytes of address space "
            f"({error.strerror}); give a smaller limit"
        ) from error
