"""Regions of buffers, under TVM's names: ``tir.BufferRegion``, ``tir.MatchBufferRegion``.

What blocks read and write follows from their bodies (``vta.tir.blocks.block_reads``); a block says it itself where its
body does not show it. Tests: tests/vta/tir/test_regions.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vta.tir.buffer import Buffer
from vta.tir.expr import ExprError, Range

__all__ = ["BufferRegion", "MatchBufferRegion"]


@dataclass(frozen=True, slots=True)
class BufferRegion:
    """A range of each dimension of a buffer."""

    buffer: Buffer
    region: tuple[Range, ...]

    def __post_init__(self) -> None:
        ranges: Sequence[Range] = self.region
        if len(ranges) != len(self.buffer.shape):
            raise ExprError(
                f"a region of buffer {self.buffer.name!r} has {len(self.buffer.shape)} ranges, not {len(ranges)}"
            )
        object.__setattr__(self, "region", tuple(ranges))


@dataclass(frozen=True, slots=True)
class MatchBufferRegion:
    """``buffer`` stands for the elements of ``source``."""

    buffer: Buffer
    source: BufferRegion
