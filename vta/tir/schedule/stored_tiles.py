"""What one step of a block stores of a buffer: an element, or a tile where the block holds others (``blockize``).

Tests: tests/vta/tir/schedule/test_stored_tiles.py, test_moving.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vta.arith.block_regions import Touch, region_of, touches
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.tir.buffer import Buffer
from vta.tir.expr import Expr, IntImm, IterKind, IterVar, Range, const
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.stmt import Block, seq
from vta.tir.traverse import uses_var

__all__ = ["Tile", "stored_tiles"]


@dataclass(frozen=True, slots=True)
class Tile:
    """Value ``t`` of ``axis`` stores at places ``t*size + first`` to ``t*size + last`` of a dimension, at most."""

    axis: IterVar
    size: int
    first: int
    last: int

    def joined(self, other: Tile | None) -> Tile | None:
        """Return what has both; None for tiles of another axis or size."""
        if other is None or other.axis is not self.axis or other.size != self.size:
            return None
        return Tile(self.axis, self.size, min(self.first, other.first), max(self.last, other.last))

    def steps(self, part: Range, analyzer: Analyzer) -> Range:
        """Return the values of the axis, a constant number of them, whose tiles have something of ``part``."""
        if self.size == 1 and self.first == self.last:
            return Range(analyzer.simplify(part.min - self.first), part.extent)
        begin = analyzer.simplify((part.min + (self.size - 1 - self.last)) // self.size)
        end = analyzer.simplify((part.min + part.extent - 1 - self.first) // self.size)
        count = analyzer.simplify(end - begin + 1)
        if isinstance(count, IntImm):
            return Range(begin, count)
        most = analyzer.const_bounds(count).hi
        assert self.axis.dom is not None
        return self.axis.dom if most is None else Range(begin, const(most, count.dtype))


def stored_tiles(block: Block, buffer: Buffer, primitive: str) -> list[Tile | None]:
    """Return the tile of each dimension of what ``block`` stores; None where each step may store anywhere.

    Raises ``BlockScheduleError`` where a place follows from several axes, or an axis from several places.
    """
    body = block.body if block.init is None else seq([block.init, block.body])
    stores = [touch for touch in touches(body, buffer) if touch.writes] or _declared(block, buffer)
    found = [_tiles_of(block, touch, primitive) for touch in stores]
    tiles = list(found[0])
    for other in found[1:]:
        for dim, tile in enumerate(tiles):
            joined = None if tile is None else tile.joined(other[dim])
            if joined is None and not (tile is None and other[dim] is None):
                raise _error(block, primitive)
            tiles[dim] = joined
    axes = [tile.axis for tile in tiles if tile is not None]
    if len({id(axis) for axis in axes}) != len(axes):
        raise _error(block, primitive)
    if any(axis.kind is not IterKind.DATA_PAR for axis in axes):
        raise BlockScheduleError(f"{primitive}: block {block.name!r} stores at an axis that it reduces over")
    return tiles


def _declared(block: Block, buffer: Buffer) -> list[Touch]:
    """Return the parts of ``buffer`` that a block says it writes, whose body does not show it."""
    inside = Block(block.name, (), (), block.body, reads=block.reads, writes=block.writes)
    return [touch for touch in touches(inside, buffer) if touch.writes]


def _tiles_of(block: Block, touch: Touch, primitive: str) -> list[Tile | None]:
    analyzer = Analyzer()
    return [_tile(block, interval.min, interval.max, analyzer, primitive) for interval in region_of(touch, analyzer)]


def _tile(block: Block, low: Expr | None, high: Expr | None, analyzer: Analyzer, primitive: str) -> Tile | None:
    if low is None or high is None:
        raise _error(block, primitive)
    first, last = _part(block.iter_vars, low, analyzer), _part(block.iter_vars, high, analyzer)
    if first is None or last is None or first[:2] != last[:2]:
        raise _error(block, primitive)
    axis, size, begin = first
    return None if axis is None else Tile(axis, size, begin, last[2])


def _part(axes: Sequence[IterVar], place: Expr, analyzer: Analyzer) -> tuple[IterVar | None, int, int] | None:
    """Return ``place`` as axis, factor and a constant; None if it is no such sum."""
    used = [axis for axis in axes if uses_var(place, axis.var)]
    if not used:
        return None, 0, 0
    form = detect_linear_equation(analyzer.simplify(place), [axis.var for axis in used], analyzer)
    match form:
        case [IntImm(value=size), IntImm(value=begin)] if size > 0:
            return used[0], size, begin
        case _:
            return None


def _error(block: Block, primitive: str) -> BlockScheduleError:
    return BlockScheduleError(f"{primitive}: block {block.name!r} must store at one axis for each dimension, each once")
