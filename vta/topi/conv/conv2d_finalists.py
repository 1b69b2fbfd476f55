"""The search for tiles of a convolution: a quick model for all, and the better one for the best of these.

Tests: tests/vta/topi/conv/test_conv2d_finalists.py.
"""

import functools
import math
from dataclasses import dataclass, replace

from isa.progress import counted
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.conv.conv2d_tiling import (
    ConvMemory,
    ConvShape,
    conv_candidates,
    conv_work,
    copies_of,
    inner_tiles,
    with_residents,
)
from vta.topi.tiling import Bus, Work, cheapest, followed_cycles
from vta.topi.tiling.cost import least_cycles, loading, turned_cycles

__all__ = ["finalists", "searched"]

_FINALISTS = 5
"""Choices whose instructions are followed."""


_HIDDEN = 1.15
"""By how much loads must be shorter than work to be hidden."""


@dataclass(frozen=True, slots=True)
class _Finalist:
    """The best copies of one choice of tiles, by the quick model."""

    cost: int
    tiles: ConvTiles
    work: Work


def searched(shape: ConvShape, what: str) -> ConvTiles:
    """Return the cheapest tiles; ``TilingError`` about ``what`` if none fits.

    Layers of a network that differ in their numbers alone have one shape: it is searched once.
    """
    found = _searched(shape)
    return cheapest(conv_candidates(shape), shape.config, what, shape.bus) if found is None else found


@functools.lru_cache(maxsize=512)
def _searched(shape: ConvShape) -> ConvTiles | None:
    """Return the cheapest tiles, None if none fits."""
    chosen = finalists(shape, thorough=False) or finalists(shape, thorough=True)
    if not chosen:
        return None
    return min(chosen, key=lambda one: (followed_cycles(one.work, shape.bus), one.cost)).tiles


def finalists(shape: ConvShape, *, thorough: bool) -> list[_Finalist]:
    """Return the few choices that the quick model likes best, each with its best copies; the best first."""
    best: list[_Finalist] = []
    plains = inner_tiles(shape, thorough=thorough)
    for plain in counted(plains, "searching tiles for a convolution", unit="candidates"):
        work = None
        for tiles, turning in with_residents(shape, plain):
            if work is not None and _loads_are_hidden(work, shape.bus):
                break  # what stays on the chip saves loads alone
            work = conv_work(shape, tiles, shape.bus)
            limit = best[-1].cost if len(best) == _FINALISTS else math.inf
            if least_cycles(work, shape.bus) < limit:
                _consider(shape, tiles, turning, work, best, limit)
    return best


def _loads_are_hidden(work: Work, bus: Bus) -> bool:
    """Whether loads take clearly less than what they run beside."""
    read = work.steps * loading(work, bus) + work.epilogue_load
    return read * _HIDDEN < max(work.steps * work.gemm, work.alu, work.store)


def _consider(
    shape: ConvShape, tiles: ConvTiles, turning: tuple[int, ...], work: Work, best: list[_Finalist], limit: float
) -> None:
    """Put tiles with their best copies among the ``best``, if they cost less than ``limit``."""
    capacity, memory = shape.capacity, ConvMemory.of(shape, tiles)
    costs = [
        (turned_cycles(work, shape.bus, *pair), number, pair)
        for number, pair in enumerate(copies_of(shape, tiles, turning))
        if memory.fits(capacity, *pair)
    ]
    if not costs:
        return
    cost, _, pair = min(costs)
    if cost < limit:
        turned = replace(tiles, rotate_tiles=pair[0], rotate_steps=pair[1])
        best.append(_Finalist(cost, turned, work.turned(*pair)))
        best.sort(key=lambda one: one.cost)  # the first of those that cost the same stays the first
        del best[_FINALISTS:]
