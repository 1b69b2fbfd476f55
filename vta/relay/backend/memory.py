"""Where tensors lie in the arena, in whole pages. Tests: tests/vta/relay/backend/test_memory.py."""

from collections.abc import Sequence

from vta.relay.transform.placement import Lifetime, placed

__all__ = ["ALIGNMENT", "Lifetime", "planned"]

ALIGNMENT = 4096
"""Tensors begin at multiples of this many bytes: elements of every memory do, and a page is one of the device's."""


def planned(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Return the offset of every tensor, and the bytes of the arena."""
    pages = [Lifetime(_rounded(each.nbytes), each.begin, each.end) for each in lifetimes]
    offsets = placed(pages, ALIGNMENT)
    return offsets, max((at + each.nbytes for at, each in zip(offsets, pages, strict=True)), default=0)


def _rounded(nbytes: int) -> int:
    return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
