"""The search for tiles of a convolution: a quick model for all, and the better one for the best of these.

Tests: tests/vta/topi/conv/test_conv2d_finalists.py.
"""

import functools
import math
from dataclasses import dataclass, replace

from isa.progress import counted
from vta.topi.conv.conv2d_footprint import ConvMemory
from vta.topi.conv.conv2d_shape import ConvShape
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.conv.conv2d_tiling import conv_candidates, copies_of, inner_tiles, with_residents
from vta.topi.conv.conv2d_work import conv_least, conv_work
from vta.topi.tiling import Work, cheapest, followed_cycles
from vta.topi.tiling.cost import Turns

__all__ = ["best_tiles", "finalists", "searched"]

_FINALISTS = 8
"""Choices whose instructions are followed."""


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
    found = _remembered(shape)
    return cheapest(conv_candidates(shape), shape.config, what, shape.bus) if found is None else found


@functools.lru_cache(maxsize=512)
def _remembered(shape: ConvShape) -> ConvTiles | None:
    return best_tiles(shape)


def best_tiles(shape: ConvShape) -> ConvTiles | None:
    """Return the cheapest tiles, None if none fits."""
    chosen = finalists(shape, thorough=False) or finalists(shape, thorough=True)
    if not chosen:
        return None
    return min(chosen, key=lambda one: (followed_cycles(one.work, shape.bus), one.cost)).tiles


def finalists(shape: ConvShape, *, thorough: bool) -> list[_Finalist]:
    """Return the few choices that the quick model likes best, each with its best copies; the best first."""
    best: list[_Finalist] = []
    limit = math.inf
    plains = inner_tiles(shape, thorough=thorough)
    for plain in counted(plains, "searching tiles for a convolution", unit="candidates"):
        if conv_least(shape, plain) >= limit:
            continue
        turns = None
        for tiles, turning in with_residents(shape, plain):
            if turns is not None and turns.loads_are_hidden:
                break  # what stays on the chip saves loads alone
            work = conv_work(shape, tiles, shape.bus)
            turns = Turns(work, shape.bus)
            if turns.least < limit:
                _consider(shape, tiles, turning, work, turns, best)
                limit = best[-1].cost if len(best) == _FINALISTS else math.inf
    return best


def _consider(
    shape: ConvShape, tiles: ConvTiles, turning: tuple[int, ...], work: Work, turns: Turns, best: list[_Finalist]
) -> None:
    """Put tiles with their best copies among the ``best``, if they cost less than the last of these."""
    capacity, memory = shape.capacity, ConvMemory.of(shape, tiles)
    costs = [
        (turns.cycles(*pair), number, pair)
        for number, pair in enumerate(copies_of(shape, tiles, turning))
        if memory.fits(capacity, *pair)
    ]
    if not costs:
        return
    cost, _, pair = min(costs)
    turned = replace(tiles, rotate_tiles=pair[0], rotate_steps=pair[1])
    best.append(_Finalist(cost, turned, work.turned(*pair)))
    best.sort(key=lambda one: one.cost)  # the first of those that cost the same stays the first
    del best[_FINALISTS:]
