"""Regions of buffers, under TVM's names: ``tir.BufferRegion``, ``tir.MatchBufferRegion``.

What blocks read and write follows from their bodies (``vta.tir.blocks.block_reads``); a block says it itself where its
body does not show it. Tests: tests/vta/tir/test_regions.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vta.tir.buffer import Buffer
from vta.tir.expr import ExprError, ExprLike, Range, Sub, binary, const, convert, match_types

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


def region_at(buffer: Buffer, indices: Sequence[ExprLike | slice]) -> BufferRegion:
    """Return the region that numbers and slices name, ``buffer[i, 2:6]``; steps other than one are refused."""
    if len(indices) != len(buffer.shape):
        raise ExprError(f"buffer {buffer.name!r} has {len(buffer.shape)} dimensions, not {len(indices)}")
    ranges = []
    for index, size in zip(indices, buffer.shape, strict=True):
        if not isinstance(index, slice):
            low = convert(index)
            ranges.append(Range(low, const(1, low.dtype)))
            continue
        if index.step not in (None, 1):
            raise ExprError(f"a region of buffer {buffer.name!r} has no steps: expected begin:end, got {index}")
        low, high = match_types(0 if index.start is None else index.start, size if index.stop is None else index.stop)
        ranges.append(Range(low, binary(Sub, high, low)))
    return BufferRegion(buffer, tuple(ranges))


@dataclass(frozen=True, slots=True)
class MatchBufferRegion:
    """``buffer`` stands for the elements of ``source``."""

    buffer: Buffer
    source: BufferRegion
