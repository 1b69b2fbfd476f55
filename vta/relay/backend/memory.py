"""Where tensors lie in the arena: first fit by lifetime, so that what is never alive together shares memory.

Tests: tests/vta/relay/backend/test_memory.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ALIGNMENT", "Lifetime", "planned"]

ALIGNMENT = 4096
"""Tensors begin at multiples of this many bytes: elements of every memory do, and a page is one of the device's."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A tensor of ``nbytes`` that is written in step ``begin`` and last read in step ``end``."""

    nbytes: int
    begin: int
    end: int


def planned(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Return the offset of every tensor, and the bytes of the arena.

    Large tensors are placed first, each at the lowest offset where nothing is that is alive in one of its steps.
    """
    order = sorted(range(len(lifetimes)), key=lambda number: (-lifetimes[number].nbytes, number))
    offsets = [0] * len(lifetimes)
    placed: list[int] = []
    for number in order:
        mine = lifetimes[number]
        beside = sorted(
            (offsets[other], offsets[other] + _rounded(lifetimes[other].nbytes))
            for other in placed
            if lifetimes[other].begin <= mine.end and mine.begin <= lifetimes[other].end
        )
        at = 0
        for begin, end in beside:
            if at + _rounded(mine.nbytes) <= begin:
                break
            at = max(at, end)
        offsets[number] = at
        placed.append(number)
    total = max((at + _rounded(each.nbytes) for at, each in zip(offsets, lifetimes, strict=True)), default=0)
    return offsets, total


def _rounded(nbytes: int) -> int:
    return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
