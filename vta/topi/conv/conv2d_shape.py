"""A convolution as the search for its tiles sees it: the sizes of its loops, in blocks.

Tests: tests/vta/topi/conv/test_conv2d_tiling.py, tests/vta/topi/conv/test_conv2d_footprint.py.
"""

from dataclasses import dataclass, field
from functools import cached_property

from isa.config import VTAConfig
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.core.channel_blocks import ChannelBlocks
from vta.topi.core.layout import blocks
from vta.topi.core.resident import Resident
from vta.topi.core.window import Window
from vta.topi.tiling import Bus, Footprint, even_parts

__all__ = ["ConvShape"]


@dataclass(frozen=True)
class ConvShape:
    """A convolution as its loops see it: sizes in blocks, on one configuration.

    The epilogue does ``stages`` operations on every accumulator; it loads ``residuals`` tensors of the output's size
    and ``by_channel`` ones of a value a channel, and holds ``held`` numbers beside each. ``gathers`` says that rows and
    columns that nobody reads are left out, and ``even`` that tiles must divide the output. ``bus`` is what the search
    prices loads with. A step of the products takes ``taps`` places of a row of the window,
    which divide it.
    """

    config: VTAConfig
    images: int
    height: int
    width: int
    channels: ChannelBlocks
    window: Window
    stages: int
    residuals: int
    by_channel: int
    held: int = 0
    gathers: bool = True
    even: bool = False
    bus: Bus = field(default_factory=Bus)
    taps: int = 1

    @cached_property
    def output(self) -> tuple[int, int]:
        """Rows and columns of the result."""
        return self.window.output(self.height, self.width)

    @property
    def row_steps(self) -> int:
        """Steps of the products that a row of the window takes, each of which has a weight element of its own."""
        return self.window.kernel[1] // self.taps

    @property
    def blocks_out(self) -> int:
        """Blocks of output channels."""
        return len(self.channels.starts)

    @cached_property
    def capacity(self) -> Footprint:
        """What the scratchpads hold."""
        return Footprint.capacity(self.config)

    @cached_property
    def element_bytes(self) -> tuple[int, int, int, int]:
        """Bytes of an input, a weight, an output and an accumulator."""
        config = self.config
        return config.inp_elem_bytes, config.wgt_elem_bytes, config.out_elem_bytes, config.acc_elem_bytes

    @cached_property
    def gaps(self) -> tuple[int, int]:
        """How far apart the rows and columns are that are loaded."""
        return self.window.gaps if self.gathers else (1, 1)

    def parts(self, extent: int) -> list[int]:
        """Return the sizes of parts into which ``extent`` may be cut, the largest first."""
        return [part for part in even_parts(extent) if not self.even or extent % part == 0]

    def fetched(self, tiles: ConvTiles) -> tuple[int, int, int]:
        """Return blocks, rows and columns of data that a step loads, those in between left out."""
        rows_of_kernel = (0 if tiles.rotate_rows else tiles.tile_kh) or self.window.kernel[0]
        reach = (rows_of_kernel - 1) * self.window.dilation[0]
        gap = self.gaps
        rows = ((tiles.tile_h - 1) * self.window.strides[0] + reach) // gap[0] + 1
        columns = (self.window.span(1, tiles.tile_w)[1] - 1) // gap[1] + 1
        if tiles.resident is Resident.DATA:
            rows = (self.window.span(tiles.tile_h, 1)[0] - 1) // gap[0] + 1
            return self.channels.count + self._spreads[self.blocks_out], rows, columns
        return tiles.tile_ci + self._spreads[tiles.tile_co], rows, columns

    @cached_property
    def _spreads(self) -> dict[int, int]:
        """How far apart the channels that a tile reads begin, by how many blocks of output channels it has."""
        return {number: self.channels.read(number, 1) - 1 for number in range(1, self.blocks_out + 1)}

    def counts(self, tiles: ConvTiles) -> tuple[int, int, int, int]:
        """Return how many tiles there are along batch, output channels, rows and columns."""
        rows, columns = self.output
        return (
            self.images,
            self.blocks_out // tiles.tile_co,
            blocks(rows, tiles.tile_h),
            blocks(columns, tiles.tile_w),
        )
