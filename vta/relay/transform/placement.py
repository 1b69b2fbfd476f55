"""Offsets for what needs memory for some time: what is needed at the same time does not overlap.

Largest first, each at the lowest place that is free all its life. Tests: tests/vta/relay/transform/test_placement.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Lifetime", "peak", "placed", "planned"]


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A tensor of ``nbytes`` that is written in step ``begin`` and last read in step ``end``."""

    nbytes: int
    begin: int
    end: int

    def meets(self, other: "Lifetime") -> bool:
        """Whether both are needed in one step."""
        return self.begin <= other.end and other.begin <= self.end


def placed(lifetimes: Sequence[Lifetime], alignment: int) -> list[int]:
    """Return the offset of every tensor, a multiple of ``alignment``."""
    order = sorted(range(len(lifetimes)), key=lambda number: (-lifetimes[number].nbytes, number))
    offsets = [0] * len(lifetimes)
    done: list[int] = []
    for number in order:
        mine = lifetimes[number]
        beside = sorted(
            (offsets[other], offsets[other] + lifetimes[other].nbytes)
            for other in done
            if lifetimes[other].meets(mine) and lifetimes[other].nbytes
        )
        for begin, end in beside:
            if offsets[number] + mine.nbytes <= begin:
                break
            offsets[number] = max(offsets[number], -(-end // alignment) * alignment)
        done.append(number)
    return offsets


def planned(lifetimes: Sequence[Lifetime], alignment: int) -> tuple[list[int], int]:
    """Return the offset of every tensor, and the bytes of the block that they lie in."""
    offsets = placed(lifetimes, alignment)
    return offsets, max((at + each.nbytes for at, each in zip(offsets, lifetimes, strict=True)), default=0)


def peak(lifetimes: Sequence[Lifetime]) -> int:
    """Return the bytes that are needed in one step at most."""
    changes: dict[int, int] = {}
    for each in lifetimes:
        changes[each.begin] = changes.get(each.begin, 0) + each.nbytes
        changes[each.end + 1] = changes.get(each.end + 1, 0) - each.nbytes
    now = most = 0
    for step in sorted(changes):
        now += changes[step]
        most = max(most, now)
    return most
