"""What tiles of a convolution take of the scratchpads."""

import vta
from vta.topi.conv.conv2d_footprint import conv_footprint
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.conv.conv2d_tiles import ConvTiles
from vta.topi.core.epilogue import Bias, Residual
from vta.topi.core.resident import Resident
from vta.topi.tiling import Footprint


def test_a_footprint_counts_copies_residents_and_what_the_epilogue_reads() -> None:
    env = vta.get_env()
    operator = Conv2d(1, 64, 28, 28, 64, (3, 3), padding=(1, 1, 1, 1), epilogue=(Bias(), Residual()))
    shape = operator.shape_on(env)
    plain = ConvTiles(tile_h=4, tile_w=14, tile_ci=2, tile_co=4, run=7)
    accumulators = 2 * 4 * 14 * 4 + 4
    kernel = 7 * 9 * 2 * 2  # the loops over blocks and rows, of four each, are the instruction's
    assert conv_footprint(shape, plain) == Footprint(inp=2 * 6 * 16, wgt=4 * 2 * 9, acc=accumulators + 4, uops=kernel)
    turning = ConvTiles(tile_h=4, tile_w=14, tile_ci=2, tile_co=4, run=7, rotate_tiles=2, rotate_steps=3)
    assert conv_footprint(shape, turning) == Footprint(
        inp=3 * 2 * 6 * 16, wgt=3 * 4 * 2 * 9, acc=2 * accumulators + 4, uops=kernel
    )
    resident = ConvTiles(
        tile_h=4, tile_w=14, tile_ci=2, tile_co=4, run=7, rotate_tiles=2, rotate_steps=2, resident=Resident.KERNEL
    )
    assert conv_footprint(shape, resident).wgt == 4 * 4 * 9
    assert conv_footprint(shape, resident).inp == 2 * 2 * 6 * 16
    rows = ConvTiles(tile_h=4, tile_w=14, tile_co=4, tile_kh=1, run=14, rotate_steps=2, rotate_rows=3)
    assert conv_footprint(shape, rows).inp == 2 * 6 * 16
    assert conv_footprint(shape, rows).wgt == 3 * 4 * 3
