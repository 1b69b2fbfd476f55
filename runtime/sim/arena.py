"""The host memory of one simulator: the record, the scratchpads, and the buffers that a launch is fetched into.

Tests: ``tests/runtime/sim/test_transfers.py``, ``tests/runtime/sim/test_tokens.py``.
"""

from collections.abc import Mapping
from typing import assert_never

import numpy as np
import numpy.typing as npt

from isa.instructions import MemoryId
from runtime.sim.geometry import Geometry
from runtime.sim.record import FIELD_NAMES, RECORD_BYTES, RECORD_OFFSETS

__all__ = ["Arena"]

_PAGE = 4096
_FIRST_CAPACITY = 1024

Bytes = npt.NDArray[np.uint8]


class Arena:
    """Memory that native code works on through plain addresses, so it lives as long as the simulator.

    Scratchpads start as zeros.
    """

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self._bytes = _aligned(geometry.arena_bytes)
        self.address = int(self._bytes.ctypes.data)
        """Host address of the arena."""
        self.record: npt.NDArray[np.uint64] = self._bytes[:RECORD_BYTES].view(np.uint64)
        """The fields of ``runtime.sim.record``, in order."""
        self._region(MemoryId.INP)[:] = geometry.unit.offset
        self._capacity = 0
        self.reserve(_FIRST_CAPACITY)

    def reserve(self, count: int) -> None:
        """Make room for a launch of ``count`` instructions."""
        if count <= self._capacity:
            return
        self._capacity = max(count, 2 * self._capacity)
        # One more word than there is room for, all zeros: what the head of an empty module queue reads.
        self.words: npt.NDArray[np.uint64] = np.zeros((self._capacity + 1, 2), np.uint64)
        self._links = np.zeros(self._capacity, np.uint32)
        self.order: npt.NDArray[np.uint32] = np.zeros(self._capacity, np.uint32)
        self.put("words", int(self.words.ctypes.data))
        self.put("next", int(self._links.ctypes.data))
        self.put("order", int(self.order.ctypes.data))

    def put(self, name: str, value: int) -> None:
        """Set a field of the record."""
        self.record[RECORD_OFFSETS[name] // 8] = value

    def get(self, name: str) -> int:
        """Return a field of the record."""
        return int(self.record[RECORD_OFFSETS[name] // 8])

    def fields(self) -> Mapping[str, int]:
        """Return a copy of the record by name."""
        return dict(zip(FIELD_NAMES, self.record.tolist(), strict=True))

    def word(self, index: int) -> int:
        """Return the 128-bit word of an instruction of the launch that was fetched last."""
        low, high = self.words[index].tolist()
        return int(low) | int(high) << 64

    def scratchpad(self, memory: MemoryId) -> npt.NDArray[np.int32] | npt.NDArray[np.uint32]:
        """Return a copy of a scratchpad as numbers, shaped as in ``isa.reference.Reference``."""
        config, geometry = self.geometry.config, self.geometry
        region = self._region(memory)
        item = np.dtype(np.uint8 if geometry.unit.group == 4 else np.int16)
        match memory:
            case MemoryId.UOP:
                return region.view(np.uint32).copy()
            case MemoryId.INP:
                rows = region.view(item).reshape(config.inp_depth, config.batch, -1)
                return rows[:, :, : config.block_in].astype(np.int32) - geometry.unit.offset
            case MemoryId.WGT:
                item = np.dtype(np.int8) if geometry.unit.group == 4 else item
                groups = region.view(item).reshape(config.wgt_depth, geometry.groups, config.block_out, -1)
                rows = groups.transpose(0, 2, 1, 3).reshape(config.wgt_depth, config.block_out, -1)
                return rows[:, :, : config.block_in].astype(np.int32)
            case MemoryId.ACC | MemoryId.ACC_8BIT | MemoryId.OUT:
                numbers = region.view(np.int32)
                return numbers.reshape(config.acc_depth, config.batch, config.block_out).copy()
            case _:
                assert_never(memory)

    def _region(self, memory: MemoryId) -> Bytes:
        begin, size = self.geometry.place(memory)
        return self._bytes[begin : begin + size * self.geometry.config.depth(memory)]


def _aligned(nbytes: int) -> Bytes:
    """Return zeroed bytes that begin at a page."""
    block = np.zeros(nbytes + _PAGE, np.uint8)
    skipped = -int(block.ctypes.data) % _PAGE
    return block[skipped : skipped + nbytes]
