"""Sizes, strides and places that the kernels work with: plain numbers, derived once from configuration and dot unit.

The arena is one block of host memory: the record, then the scratchpads as the kernels keep them (numbers unpacked
to the stored form of the dot unit). Tests: ``tests/runtime/sim/test_geometry.py``,
``tests/runtime/sim/test_transfers.py``.
"""

from dataclasses import dataclass
from typing import assert_never

from isa.config import VTAConfig
from isa.instructions import MemoryId
from runtime.sim.dot_unit import GROUP_BYTES, DotUnit
from runtime.sim.record import RECORD_BYTES

__all__ = ["Geometry"]

_ALIGN = 4096


@dataclass(frozen=True, slots=True)
class Geometry:
    """What one simulator's memory looks like; all sizes in bytes."""

    config: VTAConfig
    unit: DotUnit

    @property
    def lanes(self) -> int:
        """Accumulator lanes of a vector."""
        return min(self.unit.max_lanes, self.config.block_out)

    @property
    def groups(self) -> int:
        """Groups of an input row (the last one is filled up with zeros)."""
        return max(1, self.config.block_in // self.unit.group)

    @property
    def whole_groups(self) -> bool:
        """Whether an input row is a whole number of groups."""
        return self.config.block_in >= self.unit.group

    @property
    def inp_row(self) -> int:
        """A stored input row."""
        return self.groups * GROUP_BYTES

    @property
    def inp_elem(self) -> int:
        """A stored input element."""
        return self.config.batch * self.inp_row

    @property
    def wgt_elem(self) -> int:
        """A stored weight element."""
        return self.groups * self.config.block_out * GROUP_BYTES

    @property
    def acc_row(self) -> int:
        """An accumulator row; the excess of a weight element has this size too."""
        return self.config.block_out * 4

    @property
    def acc_elem(self) -> int:
        """An accumulator element."""
        return self.config.acc_elem_bytes

    @property
    def uop_at(self) -> int:
        """Where the micro-op buffer begins."""
        return _aligned(RECORD_BYTES)

    @property
    def inp_at(self) -> int:
        """Where the input buffer begins."""
        return self.uop_at + _aligned(self.config.uop_depth * 4)

    @property
    def acc_at(self) -> int:
        """Where the accumulator begins."""
        return self.inp_at + _aligned(self.config.inp_depth * self.inp_elem)

    @property
    def wgt_at(self) -> int:
        """Where the weight buffer begins."""
        return self.acc_at + _aligned(self.config.acc_depth * self.acc_elem)

    @property
    def excess_at(self) -> int:
        """Where, for each weight element, ``offset`` times the sums of its rows lie (nothing if there is no offset)."""
        return self.wgt_at + _aligned(self.config.wgt_depth * self.wgt_elem)

    @property
    def arena_bytes(self) -> int:
        """The whole arena."""
        excess = self.config.wgt_depth * self.acc_row if self.unit.offset else 0
        return self.excess_at + _aligned(excess)

    def place(self, memory: MemoryId) -> tuple[int, int]:
        """Return where the scratchpad of ``memory`` begins and the bytes of a stored element."""
        match memory:
            case MemoryId.UOP:
                return self.uop_at, 4
            case MemoryId.INP:
                return self.inp_at, self.inp_elem
            case MemoryId.WGT:
                return self.wgt_at, self.wgt_elem
            case MemoryId.ACC | MemoryId.ACC_8BIT | MemoryId.OUT:
                return self.acc_at, self.acc_elem
            case _:
                assert_never(memory)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGN) * _ALIGN
