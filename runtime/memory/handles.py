"""Opaque handles: what compiled code holds instead of a pointer to a device buffer.

A handle is a host address in a range that is reserved and can be neither read nor written, 16 bytes for each page of
device memory. So it is unlike every pointer to data, and code that uses it as one stops at once instead of corrupting
something.

Tests: ``tests/runtime/memory/test_handles.py``.
"""

import mmap

import numpy as np

from isa.errors import VTAError
from runtime.memory.device_memory import PAGE_BYTES, Allocation, DeviceMemory

__all__ = ["HandleError", "Handles"]

_SPACING = 16


class HandleError(VTAError, ValueError):
    """A handle that does not stand for a live device buffer."""


class Handles:
    """The handles of one device memory's buffers, and ``command``, the handle of its command queue."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        size = memory.limit // PAGE_BYTES * _SPACING
        self._range = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)
        self._base = int(np.frombuffer(self._range, np.uint8).ctypes.data)
        self._end = self._base + size
        # Buffers of compiled code begin after page 0, so its handle is free.
        self.command = self._base

    def of(self, allocation: Allocation) -> int:
        """Return the handle of a live buffer."""
        if not self._memory.is_live(allocation):
            raise HandleError(f"buffer at {allocation.address:#x}: it is not allocated (any more), so it has no handle")
        return self._base + allocation.address // PAGE_BYTES * _SPACING

    def __contains__(self, pointer: int) -> bool:
        """Whether ``pointer`` is in the range of handles, where no host code may read or write."""
        return self._base <= pointer < self._end

    def find(self, pointer: int) -> Allocation | None:
        """Return the live buffer that ``pointer`` is the handle of, or None if it is something else."""
        page, rest = divmod(pointer - self._base, _SPACING)
        if not self._base < pointer < self._end or rest:
            return None
        return self._memory.starting_at(page * PAGE_BYTES)

    def get(self, pointer: int) -> Allocation:
        """Return the live buffer that ``pointer`` is the handle of; ``HandleError`` if it is something else."""
        allocation = self.find(pointer)
        if allocation is None:
            what = "a freed buffer" if self._base < pointer < self._end else "a foreign pointer"
            raise HandleError(f"handle {pointer:#x}: it stands for no device buffer of this session ({what})")
        return allocation
