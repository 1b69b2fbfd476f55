"""What tiles of a convolution take of the scratchpads.

Tests: tests/vta/topi/conv/test_conv2d_footprint.py.
"""

from dataclasses import dataclass
from math import prod

from vta.topi.conv.conv2d_shape import ConvShape
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.core.resident import Resident
from vta.topi.tiling import Footprint

__all__ = ["ConvMemory", "conv_footprint", "kernel_uops"]

_SLACK = 4
"""Accumulators for temporaries of the ALU's stages."""


def conv_footprint(shape: ConvShape, tiles: ConvTiles) -> Footprint:
    """Return what ``tiles`` take."""
    return ConvMemory.of(shape, tiles).footprint(tiles.rotate_tiles, tiles.rotate_steps)


@dataclass(frozen=True, slots=True)
class ConvMemory:
    """What tiles take of the scratchpads without copies, and what of it every copy takes again."""

    inp: int
    wgt: int
    acc: int
    uops: int
    resident: Resident
    row_copies: int = 0
    """Of weights alone; 0: as many as of the data."""

    @staticmethod
    def of(shape: ConvShape, tiles: ConvTiles) -> "ConvMemory":
        """Return what one copy for each thread takes."""
        threads = tiles.oc_nthread * tiles.h_nthread
        rows, columns = shape.window.kernel[0], shape.row_steps
        weights = tiles.tile_co * tiles.tile_ci * (tiles.tile_kh or rows) * columns
        if tiles.resident is Resident.KERNEL:
            weights = tiles.tile_co * shape.channels.count * rows * columns
        places = tiles.tile_h * tiles.tile_w * tiles.tile_co
        accumulators = places * (1 + shape.residuals + shape.held) + shape.by_channel * tiles.tile_co
        return ConvMemory(
            prod(shape.fetched(tiles)) * threads,
            weights * threads,
            accumulators * threads,
            kernel_uops(shape, tiles),
            tiles.resident,
            tiles.rotate_rows,
        )

    def footprint(self, tile_copies: int, step_copies: int) -> Footprint:
        """Return what it takes with copies."""
        inp, wgt, acc = self._turned(tile_copies, step_copies)
        return Footprint(inp=inp, wgt=wgt, acc=acc, uops=self.uops)

    def fits(self, capacity: Footprint, tile_copies: int, step_copies: int) -> bool:
        """Return whether the footprint is within ``capacity``."""
        inp, wgt, acc = self._turned(tile_copies, step_copies)
        return acc <= capacity.acc and inp <= capacity.inp and wgt <= capacity.wgt and self.uops <= capacity.uops

    def _turned(self, tile_copies: int, step_copies: int) -> tuple[int, int, int]:
        operands = step_copies if step_copies > 1 else tile_copies
        return (
            self.inp * (1 if self.resident is Resident.DATA else operands),
            self.wgt * (1 if self.resident is Resident.KERNEL else self.row_copies or operands),
            self.acc * tile_copies + _SLACK,
        )


def kernel_uops(shape: ConvShape, tiles: ConvTiles) -> int:
    """Return the micro-ops of a step's products: what the two longest loops do not take."""
    rows = tiles.tile_kh or shape.window.kernel[0]
    if not tiles.run:
        return 1
    loops = sorted((tiles.tile_co, tiles.tile_h, tiles.tile_w // tiles.run, tiles.tile_ci))
    return loops[0] * loops[1] * rows * shape.row_steps * tiles.run
