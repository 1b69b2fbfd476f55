"""Which blocks of input channels a block of output channels reads, for groups of any size.

Tests: tests/vta/topi/conv/test_conv2d_grouped.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from vta.topi.core.layout import blocks

__all__ = ["ChannelBlocks", "channel_blocks"]


@dataclass(frozen=True, slots=True)
class ChannelBlocks:
    """Block ``co`` of output channels reads the ``count`` blocks of input channels from ``starts[co]`` on."""

    starts: tuple[int, ...]
    count: int

    @property
    def step(self) -> int | None:
        """How far apart the starts of neighbours are, None if that varies."""
        steps = {b - a for a, b in zip(self.starts, self.starts[1:], strict=False)}
        if len(steps) > 1:
            return None
        return steps.pop() if steps else 0

    def allows(self, tile_co: int) -> bool:
        """Return whether ``tile_co`` blocks of output channels can be computed at once: their starts form a pattern."""
        if self.step is not None:
            return True
        return all(len(set(tile)) == 1 for tile in self._tiles(tile_co))

    def read(self, tile_co: int, tile_ci: int | None = None) -> int:
        """Return how many blocks of input channels lie from the first to the last that a tile reads.

        Each of its ``tile_co`` blocks of output channels reads ``tile_ci`` in a row, all of its own if left out.
        """
        return (tile_ci or self.count) + max(max(tile) - min(tile) for tile in self._tiles(tile_co))

    def _tiles(self, tile_co: int) -> Iterator[tuple[int, ...]]:
        return (self.starts[i : i + tile_co] for i in range(0, len(self.starts), tile_co))


def channel_blocks(*, groups: int, in_channels: int, out_channels: int, block_in: int, block_out: int) -> ChannelBlocks:
    """Return which input blocks each output block reads, the same number for all of them."""
    taken, made = in_channels // groups, out_channels // groups
    total = blocks(in_channels, block_in)
    runs = []
    for co in range(blocks(out_channels, block_out)):
        first = co * block_out // made
        last = (min((co + 1) * block_out, out_channels) - 1) // made
        runs.append((first * taken // block_in, ((last + 1) * taken - 1) // block_in))
    count = max(end - begin + 1 for begin, end in runs)
    return ChannelBlocks(tuple(min(begin, total - count) for begin, _ in runs), count)
